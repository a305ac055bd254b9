package auth

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/alexedwards/scs/v2"
)

// sessionLife is how long a sign-in lasts. Use does not extend it, so that an
// ordinary request of the console writes nothing.
const sessionLife = 30 * 24 * time.Hour

const userKey = "user"

// LoginStore stores cookie sessions by the hash of their token.
type LoginStore interface {
	FindLogin(ctx context.Context, token string) (data []byte, found bool, err error)
	CommitLogin(ctx context.Context, token string, data []byte, expiry time.Time) error
	DeleteLogin(ctx context.Context, token string) error
}

// newLogins builds the manager by hand: scs.New starts a goroutine that cannot
// be stopped safely.
func newLogins(store LoginStore, publicURL string) *scs.SessionManager {
	secure := strings.HasPrefix(strings.ToLower(publicURL), "https://")
	name := "bellhop_session"
	if secure {
		name = "__Host-" + name
	}
	return &scs.SessionManager{
		Lifetime:         sessionLife,
		Store:            loginStore{store},
		Codec:            scs.GobCodec{},
		HashTokenInStore: true,
		Cookie: scs.SessionCookie{
			Name: name, Path: "/", Persist: true, HttpOnly: true,
			SameSite: http.SameSiteLaxMode, Secure: secure,
		},
	}
}

// startSession starts a new session and ends the session of the request's cookie,
// which an attacker may have planted (session fixation).
func (s *Service) startSession(ctx context.Context, w http.ResponseWriter, r *http.Request, userID string) error {
	ctx, err := s.logins.Load(ctx, s.cookie(r))
	if err != nil {
		return err
	}
	if err := s.logins.RenewToken(ctx); err != nil {
		return err
	}
	if err := s.logins.Clear(ctx); err != nil {
		return err
	}
	s.logins.Put(ctx, userKey, userID)
	s.logins.SetDeadline(ctx, s.now().Add(sessionLife).UTC())
	token, expiry, err := s.logins.Commit(ctx)
	if err != nil {
		return err
	}
	s.logins.WriteSessionCookie(ctx, w, token, expiry)
	return nil
}

// endSession deletes the session of the request, if there is one, and the cookie.
func (s *Service) endSession(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
	if token := s.cookie(r); token != "" {
		ctx, err := s.logins.Load(ctx, token)
		if err != nil {
			return err
		}
		if s.logins.Token(ctx) != "" {
			if err := s.logins.Destroy(ctx); err != nil {
				return err
			}
		}
	}
	s.logins.WriteSessionCookie(ctx, w, "", time.Time{})
	return nil
}

// sessionUser returns the id of the signed-in user, "" for none.
func (s *Service) sessionUser(ctx context.Context, r *http.Request) (string, error) {
	token := s.cookie(r)
	if token == "" {
		return "", nil
	}
	ctx, err := s.logins.Load(ctx, token)
	if err != nil {
		return "", err
	}
	if s.logins.Token(ctx) == "" || !s.now().Before(s.logins.Deadline(ctx)) {
		return "", nil
	}
	return s.logins.GetString(ctx, userKey), nil
}

func (s *Service) cookie(r *http.Request) string {
	c, err := r.Cookie(s.logins.Cookie.Name)
	if err != nil {
		return ""
	}
	return c.Value
}

// loginStore adapts a LoginStore to scs. The methods without a context complete its
// interface and are never called.
type loginStore struct{ store LoginStore }

var errContext = errors.New("auth: session store called without a context")

func (l loginStore) FindCtx(ctx context.Context, token string) ([]byte, bool, error) {
	return l.store.FindLogin(ctx, token)
}

func (l loginStore) CommitCtx(ctx context.Context, token string, data []byte, expiry time.Time) error {
	return l.store.CommitLogin(ctx, token, data, expiry)
}

func (l loginStore) DeleteCtx(ctx context.Context, token string) error {
	return l.store.DeleteLogin(ctx, token)
}

func (l loginStore) Find(string) ([]byte, bool, error)      { return nil, false, errContext }
func (l loginStore) Commit(string, []byte, time.Time) error { return errContext }
func (l loginStore) Delete(string) error                    { return errContext }
