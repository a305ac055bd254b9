package auth

import (
	"context"

	"bellhop/broker"
	"bellhop/protocol"
)

// Users returns a page of the users by e-mail address: those after the address after, "" for the first page.
// Only administrators may list, change and delete users; others get CodeForbidden.
func (s *Service) Users(ctx context.Context, caller broker.Caller, after string, limit int) ([]broker.User, error) {
	if err := adminOnly(caller); err != nil {
		return nil, err
	}
	return s.store.Users(ctx, after, limit)
}

// SetDisabled disables or enables a user. Disabling ends the user's sessions, sign-in links and API
// tokens for good, and the streams of their tasks; running turns continue. It returns CodeConflict
// instead of disabling the last administrator who can sign in.
func (s *Service) SetDisabled(
	ctx context.Context, caller broker.Caller, id string, disabled bool,
) (*broker.User, error) {
	if err := adminOnly(caller); err != nil {
		return nil, err
	}
	var user *broker.User
	err := s.record(ctx, func(ctx context.Context) (_ *broker.Act, err error) {
		changed := false
		user, err = s.store.UpdateUser(ctx, id, func(u *broker.User) error {
			if u.DeletedAt != nil {
				return errNoUser()
			}
			if changed = disabled == u.Active(); !changed {
				return nil
			}
			u.DisabledAt = nil
			if disabled {
				at := s.now().UTC()
				u.DisabledAt, u.SessionsAfter = &at, &at
			}
			return nil
		})
		switch {
		case err != nil || !changed:
			return nil, err
		case !disabled:
			return userAct(protocol.AuditUserEnabled, id), nil
		}
		return userAct(protocol.AuditUserDisabled, id), s.store.RevokeUser(ctx, id, s.now())
	})
	if err != nil {
		return nil, err
	}
	return user, nil
}

// DeleteUser disables a user for good and makes their e-mail address free for another user. Maintenance deletes their
// tasks, ends the sessions of those tasks, and erases everything else of the user. Entries of the audit log
// keep the user's id. It returns CodeConflict instead of deleting the last administrator who can sign in.
func (s *Service) DeleteUser(ctx context.Context, caller broker.Caller, id string) error {
	if err := adminOnly(caller); err != nil {
		return err
	}
	return s.record(ctx, func(ctx context.Context) (*broker.Act, error) {
		_, err := s.store.UpdateUser(ctx, id, func(u *broker.User) error {
			if u.DeletedAt != nil {
				return errNoUser()
			}
			at := s.now().UTC()
			u.DeletedAt, u.SessionsAfter = &at, &at
			u.Email, u.PasswordHash = u.ID, ""
			return nil
		})
		if err != nil {
			return nil, err
		}
		if _, err := s.store.DeleteSecondFactor(ctx, id); err != nil {
			return nil, err
		}
		return userAct(protocol.AuditUserDeleted, id), s.store.RevokeUser(ctx, id, s.now())
	})
}

func adminOnly(caller broker.Caller) error {
	if caller.Admin {
		return nil
	}
	return protocol.Errorf(protocol.CodeForbidden, "Only administrators manage users")
}

func errNoUser() error { return protocol.Errorf(protocol.CodeNotFound, "User not found") }

// errDisabled answers a sign-in with the right password or link of a disabled user.
func errDisabled() error {
	return &protocol.Error{
		Code: protocol.CodeForbidden, Message: "This account is disabled", Hint: "Ask an administrator to enable it",
	}
}
