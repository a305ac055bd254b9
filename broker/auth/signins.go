package auth

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"bellhop/broker"
	"bellhop/protocol"
)

// session is the session of a request's cookie. Without one, userID is "".
type session struct {
	userID string
	began  time.Time
	used   *time.Time // nil: nothing but the cookie is stored yet
	signIn string     // id
	stored string     // the hash of the cookie, by which the store finds it
}

// foundLogin holds the values of a loaded login that the session library (scs) does not return.
type foundLogin struct {
	stored string
	used   *time.Time
}

type foundKey struct{}

// signInID derives the public id of a session from its cookie. It reveals nothing about the cookie,
// nor about the hash by which the session is stored.
func signInID(cookie string) string {
	sum := sha256.Sum256([]byte("bellhop sign-in\x00" + cookie))
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

// maxUserAgent limits the text that a browser sends about itself, in bytes.
const maxUserAgent = 300

// userAgent is the text of a request's User-Agent that can be stored.
func userAgent(r *http.Request) string {
	text := strings.ReplaceAll(strings.ToValidUTF8(r.UserAgent(), ""), "\x00", "")
	if len(text) <= maxUserAgent {
		return text
	}
	end := maxUserAgent
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// touch stores what a user sees of a session, if the last use that is stored is a minute old. A
// failure is only logged: the request is authenticated.
func (s *Service) touch(r *http.Request, address string, current *session) {
	now := s.now().UTC()
	if current.userID == "" || current.used != nil && now.Sub(*current.used) < touchInterval {
		return
	}
	ctx := r.Context()
	err := s.store.TouchLogin(ctx, current.stored, &broker.SignIn{
		ID: current.signIn, UserID: current.userID, UserAgent: userAgent(r), Address: address,
		BeganAt: current.began, LastUsedAt: now,
	})
	if err != nil {
		s.log.WarnContext(ctx, "use of a sign-in not recorded", "err", err)
	}
}

// SignIns lists a user's sessions, the one used last first. A caller who is neither that user nor an
// administrator gets CodeForbidden.
func (s *Service) SignIns(ctx context.Context, caller broker.Caller, userID string) ([]broker.SignIn, error) {
	user, err := s.ownOrAdmin(ctx, caller, userID)
	if err != nil {
		return nil, err
	}
	all, err := s.store.SignIns(ctx, userID, s.now())
	if err != nil {
		return nil, err
	}
	live := []broker.SignIn{}
	for i := range all {
		if user.SessionsAfter == nil || !all[i].BeganAt.Before(*user.SessionsAfter) {
			live = append(live, all[i])
		}
	}
	return live, nil
}

// SignedIn reports whether a sign-in of a user is alive.
func (s *Service) SignedIn(ctx context.Context, userID, id string) (bool, error) {
	user, err := s.store.User(ctx, userID)
	if protocol.CodeOf(err) == protocol.CodeNotFound {
		return false, nil
	}
	if err != nil || !user.Active() {
		return false, err
	}
	all, err := s.store.SignIns(ctx, userID, s.now())
	return slices.ContainsFunc(all, func(in broker.SignIn) bool {
		return in.ID == id && (user.SessionsAfter == nil || !in.BeganAt.Before(*user.SessionsAfter))
	}), err
}

// EndSignIn ends a session of a user at once, and its stream tokens and streams on the hosts. An unknown
// session is CodeNotFound. A caller who is neither that user nor an administrator gets CodeForbidden.
func (s *Service) EndSignIn(ctx context.Context, caller broker.Caller, userID, id string) error {
	if _, err := s.ownOrAdmin(ctx, caller, userID); err != nil {
		return err
	}
	return s.record(ctx, func(ctx context.Context) (*broker.Act, error) {
		return userAct(protocol.AuditSignInEnded, userID), s.store.EndSignIn(ctx, userID, id, s.now())
	})
}

func (s *Service) ownOrAdmin(ctx context.Context, caller broker.Caller, userID string) (*broker.User, error) {
	if caller.UserID != userID || userID == "" {
		if err := adminOnly(caller); err != nil {
			return nil, err
		}
	}
	user, err := s.store.User(ctx, userID)
	if err == nil && user.DeletedAt != nil {
		return nil, errNoUser()
	}
	return user, err
}
