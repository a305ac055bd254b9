package client

import (
	"context"
	"net/http"
	"strings"
	"time"
)

// User is the signed-in user.
type User struct {
	ID    string `json:"id"`
	Email string `json:"email"`
	Admin bool   `json:"admin"`
}

// SignIn starts a session, kept in the client's cookies.
func (c *Client) SignIn(ctx context.Context, email, password string) error {
	body := map[string]string{"email": email, "password": password}
	return c.call(ctx, http.MethodPost, "/api/auth/login", nil, body, nil)
}

// SignInWithCode is SignIn for an account with a second factor: code is one of its authenticator app, or a
// recovery code. SignIn of such an account fails with the code second_factor.
func (c *Client) SignInWithCode(ctx context.Context, email, password, code string) error {
	body := map[string]string{"email": email, "password": password, "code": code}
	return c.call(ctx, http.MethodPost, "/api/auth/login", nil, body, nil)
}

// SignInByLink starts a session with a one-time link: the complete URL or only its fragment.
func (c *Client) SignInByLink(ctx context.Context, link string) error {
	if _, fragment, ok := strings.Cut(link, "#"); ok {
		link = strings.TrimPrefix(fragment, "link=")
	}
	return c.call(ctx, http.MethodPost, "/api/auth/login", nil, map[string]string{"link": link}, nil)
}

// SignOut ends the session.
func (c *Client) SignOut(ctx context.Context) error {
	return c.call(ctx, http.MethodPost, "/api/auth/logout", nil, struct{}{}, nil)
}

// Me returns the signed-in user.
func (c *Client) Me(ctx context.Context) (*User, error) {
	got, err := get[struct {
		User User `json:"user"`
	}](ctx, c, "/api/auth/me", nil)
	if err != nil {
		return nil, err
	}
	return &got.User, nil
}

// NewToken is an API token to create. ExpiresAt may be required, and limited, by the broker.
type NewToken struct {
	Name            string     `json:"name"`
	Kind            string     `json:"kind,omitempty"` // user or agent; "" is user
	AgentIdentifier string     `json:"agentIdentifier,omitempty"`
	Scopes          []string   `json:"scopes,omitempty"` // of kind user, such as tasks:read
	ExpiresAt       *time.Time `json:"expiresAt,omitempty"`
}

// CreateToken creates an API token. The broker never shows it again. It needs a session (SignIn): an API
// token cannot create another one.
func (c *Client) CreateToken(ctx context.Context, req *NewToken) (string, error) {
	var made struct {
		Token string `json:"token"`
	}
	err := c.call(ctx, http.MethodPost, "/api/tokens", nil, req, &made)
	return made.Token, err
}
