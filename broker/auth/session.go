package auth

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/alexedwards/scs/v2"

	"bellhop/broker"
	"bellhop/internal/httpapi"
	"bellhop/protocol"
)

// sessionLife is how long a sign-in lasts. Use does not extend it, so that an
// ordinary request of the console writes nothing.
const sessionLife = 30 * 24 * time.Hour

const userKey = "user"

// LoginStore stores cookie sessions by the hash of their token.
type LoginStore interface {
	// FindLogin also returns when the login was used last, nil if that is not stored.
	FindLogin(ctx context.Context, token string) (data []byte, used *time.Time, found bool, err error)
	CommitLogin(ctx context.Context, token string, data []byte, expiry time.Time) error
	// DeleteLogin deletes a login, and owes its hosts the end of its streams. An unknown one is no error.
	DeleteLogin(ctx context.Context, token string, now time.Time) error
	// TouchLogin stores what users see of a login.
	TouchLogin(ctx context.Context, token string, in *broker.SignIn) error
	// SignIns returns the logins of a user that have not expired, the one used last first.
	SignIns(ctx context.Context, userID string, now time.Time) ([]broker.SignIn, error)
	// EndSignIn is DeleteLogin by the id of a sign-in. It returns CodeNotFound for an unknown login, and
	// for one of another user.
	EndSignIn(ctx context.Context, userID, id string, now time.Time) error
}

// newLogins builds the manager by hand: scs.New starts a goroutine that cannot
// be stopped safely.
func newLogins(store LoginStore, secure bool, now func() time.Time) *scs.SessionManager {
	name := "bellhop_session"
	if secure {
		name = "__Host-" + name
	}
	return &scs.SessionManager{
		Lifetime:         sessionLife,
		Store:            loginStore{store, now},
		Codec:            scs.GobCodec{},
		HashTokenInStore: true,
		Cookie: scs.SessionCookie{
			Name: name, Path: "/", Persist: true, HttpOnly: true,
			SameSite: http.SameSiteLaxMode, Secure: secure,
		},
	}
}

// loginsAt returns the manager that writes the cookie for the name to which a request was sent.
func (s *Service) loginsAt(r *http.Request) *scs.SessionManager {
	if httpapi.AtConsoleName(r) {
		return s.consoleLogins
	}
	return s.logins
}

// act does something in a transaction and names it for the audit log.
type act func(ctx context.Context) (*broker.Act, error)

// startSession starts a new session in the transaction of an act, and ends the session of the
// request's cookie, which an attacker may have planted (session fixation).
func (s *Service) startSession(
	ctx context.Context, w http.ResponseWriter, r *http.Request, address string, user *broker.User, by act,
) error {
	var token string
	var expiry time.Time
	ctx = broker.WithActor(ctx, protocol.AuditActor{Kind: protocol.AuditByUser, ID: user.ID, Address: address})
	err := s.record(ctx, func(ctx context.Context) (_ *broker.Act, err error) {
		if token, expiry, err = s.newSession(ctx, s.cookie(r), user); err != nil {
			return nil, err
		}
		of, err := s.sessionOf(ctx, token)
		if err != nil {
			return nil, err
		}
		s.touch(r.WithContext(ctx), address, &of)
		return by(ctx)
	})
	if err != nil {
		return err
	}
	s.loginsAt(r).WriteSessionCookie(ctx, w, token, expiry)
	return nil
}

// newSession stores a session instead of the one of cookie.
func (s *Service) newSession(
	ctx context.Context, cookie string, user *broker.User,
) (token string, expiry time.Time, err error) {
	if ctx, err = s.logins.Load(ctx, cookie); err != nil {
		return "", time.Time{}, err
	}
	if err := s.logins.RenewToken(ctx); err != nil {
		return "", time.Time{}, err
	}
	if err := s.logins.Clear(ctx); err != nil {
		return "", time.Time{}, err
	}
	began := s.now()
	if after := user.SessionsAfter; after != nil && began.Before(*after) { // by the clock of another replica
		began = *after
	}
	s.logins.Put(ctx, userKey, user.ID)
	s.logins.SetDeadline(ctx, began.Add(sessionLife).UTC())
	return s.logins.Commit(ctx)
}

// endSession deletes the session of the request, if there is one, and the cookie.
func (s *Service) endSession(ctx context.Context, w http.ResponseWriter, r *http.Request, address string) error {
	of, err := s.session(ctx, r)
	if err != nil {
		return err
	}
	if of.userID != "" {
		ctx = broker.WithActor(ctx, protocol.AuditActor{Kind: protocol.AuditByUser, ID: of.userID, Address: address})
		err := s.record(ctx, func(ctx context.Context) (*broker.Act, error) {
			ctx, err := s.logins.Load(ctx, s.cookie(r))
			if err != nil {
				return nil, err
			}
			return userAct(protocol.AuditSignOut, of.userID), s.logins.Destroy(ctx)
		})
		if err != nil {
			return err
		}
	}
	s.loginsAt(r).WriteSessionCookie(ctx, w, "", time.Time{})
	return nil
}

// session returns the session of a request.
func (s *Service) session(ctx context.Context, r *http.Request) (of session, err error) {
	if token := s.cookie(r); token != "" {
		return s.sessionOf(ctx, token)
	}
	return of, nil
}

func (s *Service) sessionOf(ctx context.Context, token string) (of session, err error) {
	found := foundLogin{}
	if ctx, err = s.logins.Load(context.WithValue(ctx, foundKey{}, &found), token); err != nil {
		return of, err
	}
	if s.logins.Token(ctx) == "" || !s.now().Before(s.logins.Deadline(ctx)) {
		return of, nil
	}
	return session{
		userID: s.logins.GetString(ctx, userKey), began: s.logins.Deadline(ctx).Add(-sessionLife),
		used: found.used, signIn: signInID(token), stored: found.stored,
	}, nil
}

func (s *Service) cookie(r *http.Request) string {
	c, err := r.Cookie(s.loginsAt(r).Cookie.Name)
	if err != nil {
		return ""
	}
	return c.Value
}

// loginStore adapts a LoginStore to scs. The methods without a context complete its
// interface and are never called.
type loginStore struct {
	store LoginStore
	now   func() time.Time
}

var errContext = errors.New("auth: session store called without a context")

func (l loginStore) FindCtx(ctx context.Context, token string) ([]byte, bool, error) {
	data, used, found, err := l.store.FindLogin(ctx, token)
	if holder, ok := ctx.Value(foundKey{}).(*foundLogin); ok && found {
		*holder = foundLogin{stored: token, used: used}
	}
	return data, found, err
}

func (l loginStore) CommitCtx(ctx context.Context, token string, data []byte, expiry time.Time) error {
	return l.store.CommitLogin(ctx, token, data, expiry)
}

func (l loginStore) DeleteCtx(ctx context.Context, token string) error {
	return l.store.DeleteLogin(ctx, token, l.now())
}

func (l loginStore) Find(string) ([]byte, bool, error)      { return nil, false, errContext }
func (l loginStore) Commit(string, []byte, time.Time) error { return errContext }
func (l loginStore) Delete(string) error                    { return errContext }
