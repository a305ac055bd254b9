package api

import (
	"context"
	"net/http"
	"strings"

	"bellhop/crypto/token"
	"bellhop/internal/lazyregexp"
	"bellhop/protocol"
)

// A client opens a session by connecting to an id of its own that the server does not know. The
// credential with which it does so opens the session again: the server's token, or nothing at a
// server without one. Then the id is all that protects the session's lines from other users of
// the machine, so it must be long.

var (
	namePattern = lazyregexp.New(`^[A-Za-z0-9_-]{1,64}$`)
	minFreeName = 16
)

// mayName reports whether a request may open a session by its id; plain is its token.
func (s *Server) mayName(r *http.Request, plain string) bool {
	isFree := s.isOpen && plain == "" && len(r.Header.Values("Authorization")) == 0
	return strings.EqualFold(r.Header.Get("Upgrade"), "websocket") && (isFree || s.isToken(plain))
}

// named returns the session with an id, which it opens if it is new. Clients that connect to one
// id at the same time get one session.
func (s *Server) named(ctx context.Context, id, plain string) (*session, error) {
	if !namePattern.MatchString(id) || plain == "" && len(id) < minFreeName {
		return nil, &protocol.Error{
			Code: protocol.CodeInvalid, Message: "The id of a new session is not usable",
			Hint: "Send 1 to 64 of A-Z, a-z, 0-9, _ and -; without the server's token at least 16, which nobody can guess",
		}
	}
	found, err, _ := s.naming.Do(id, func() (any, error) {
		if one, err := s.find(id); err == nil {
			return one, nil
		}
		one, _ := s.newSession(id)
		if one.isFree = plain == ""; !one.isFree {
			one.tokenHash = token.Hash(plain)
		}
		return one, s.open(ctx, one, "", "")
	})
	if err != nil {
		return nil, err
	}
	if one := found.(*session); one.admits(plain) {
		return one, nil
	}
	return nil, errNotMember() // another client has just opened it with another credential
}
