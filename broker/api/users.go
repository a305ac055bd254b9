package api

import (
	"context"
	"time"

	"bellhop/broker"
	"bellhop/protocol"
)

// account is a user as administrators see them.
type account struct {
	user
	DisabledAt   *time.Time `json:"disabledAt"`
	SecondFactor bool       `json:"secondFactor"`
}

type usersResponse struct {
	Users      []account `json:"users"`
	NextCursor string    `json:"nextCursor,omitempty"`
}

type listUsersRequest struct {
	Cursor string `query:"cursor" json:"-"`
	Limit  int    `query:"limit" json:"-"`
}

type userRequest struct {
	ID string `param:"id" json:"-"`
}

type updateUserRequest struct {
	ID       string `param:"id" json:"-"`
	Disabled *bool  `json:"disabled"`
}

const (
	defaultUsers = 100
	maxUsers     = 500
)

// listUsers returns users by e-mail address, which is also the cursor.
func (a *API) listUsers(ctx context.Context, req *listUsersRequest) (*usersResponse, error) {
	limit := defaultUsers
	if req.Limit > 0 {
		limit = min(req.Limit, maxUsers)
	}
	found, err := a.Auth.Users(ctx, a.Auth.Caller(ctx), req.Cursor, limit+1)
	if err != nil {
		return nil, err
	}
	list := &usersResponse{Users: []account{}}
	for i := range found[:min(limit, len(found))] {
		list.Users = append(list.Users, showAccount(&found[i]))
	}
	if len(found) > limit {
		list.NextCursor = found[limit-1].Email
	}
	return list, nil
}

func (a *API) updateUser(ctx context.Context, req *updateUserRequest) (*account, error) {
	if req.Disabled == nil {
		return nil, protocol.Errorf(protocol.CodeInvalid, "disabled is required")
	}
	changed, err := a.Auth.SetDisabled(ctx, a.Auth.Caller(ctx), req.ID, *req.Disabled)
	if err != nil {
		return nil, err
	}
	shown := showAccount(changed)
	return &shown, nil
}

func (a *API) deleteUser(ctx context.Context, req *userRequest) (*protocol.SuccessResponse, error) {
	return success(a.Auth.DeleteUser(ctx, a.Auth.Caller(ctx), req.ID))
}

func showAccount(u *broker.User) account {
	return account{user: showUser(u).User, DisabledAt: utc(u.DisabledAt), SecondFactor: u.SecondFactor}
}

// signIn is a session of a browser.
type signIn struct {
	ID         string    `json:"id"`
	UserAgent  string    `json:"userAgent"`
	Address    string    `json:"address"`
	BeganAt    time.Time `json:"beganAt"`
	LastUsedAt time.Time `json:"lastUsedAt"`
	ExpiresAt  time.Time `json:"expiresAt"`
	Current    bool      `json:"current"` // the caller's own
}

type signInsResponse struct {
	SignIns []signIn `json:"signIns"`
}

type ownSignInRequest struct {
	SignIn string `param:"signInId" json:"-"`
}

type signInRequest struct {
	ID     string `param:"id" json:"-"`
	SignIn string `param:"signInId" json:"-"`
}

func (a *API) listOwnSignIns(ctx context.Context, _ *struct{}) (*signInsResponse, error) {
	return a.signIns(ctx, a.Auth.Caller(ctx).UserID)
}

func (a *API) listSignIns(ctx context.Context, req *userRequest) (*signInsResponse, error) {
	return a.signIns(ctx, req.ID)
}

func (a *API) signIns(ctx context.Context, userID string) (*signInsResponse, error) {
	found, err := a.Auth.SignIns(ctx, a.Auth.Caller(ctx), userID)
	if err != nil {
		return nil, err
	}
	list := &signInsResponse{SignIns: make([]signIn, len(found))}
	current := a.Auth.SignInOf(ctx)
	for i, s := range found {
		list.SignIns[i] = signIn{
			ID: s.ID, UserAgent: s.UserAgent, Address: s.Address, BeganAt: s.BeganAt.UTC(),
			LastUsedAt: s.LastUsedAt.UTC(), ExpiresAt: s.ExpiresAt.UTC(), Current: s.ID == current,
		}
	}
	return list, nil
}

func (a *API) endOwnSignIn(ctx context.Context, req *ownSignInRequest) (*protocol.SuccessResponse, error) {
	return success(a.Auth.EndSignIn(ctx, a.Auth.Caller(ctx), a.Auth.Caller(ctx).UserID, req.SignIn))
}

func (a *API) endSignIn(ctx context.Context, req *signInRequest) (*protocol.SuccessResponse, error) {
	return success(a.Auth.EndSignIn(ctx, a.Auth.Caller(ctx), req.ID, req.SignIn))
}
