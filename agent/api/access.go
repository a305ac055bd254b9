package api

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"bellhop/crypto/token"
	"bellhop/protocol"
)

func bearer(r *http.Request) string {
	scheme, value, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(value)
}

// isOwner reports whether the request has the server's token.
func (s *Server) isOwner(r *http.Request) bool { return s.isToken(bearer(r)) }

// isToken compares with the server's token, as hashes and in constant time.
func (s *Server) isToken(plain string) bool {
	got, want := sha256.Sum256([]byte(plain)), sha256.Sum256([]byte(s.config.Token))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

// requireCreator admits the owner. Without a configured token, a request without
// Authorization may open sessions too: the server then listens on the loopback only.
func (s *Server) requireCreator(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if s.isOpen && len(c.Request().Header.Values("Authorization")) == 0 {
			return next(c)
		}
		return s.requireOwner(next)(c)
	}
}

// opens reports whether a token is the one with the hash.
func opens(plain string, hash []byte) bool {
	return plain != "" && subtle.ConstantTimeCompare(token.Hash(plain), hash) == 1
}

// tokenHash returns the hash of a session's token; the session may have ended.
func (s *Server) tokenHash(ctx context.Context, id string) ([]byte, error) {
	if one, err := s.find(id); err == nil {
		return one.tokenHash, nil
	}
	kept, err := s.stored(ctx, id)
	return kept.TokenHash, err
}

func unauthorized(hint string) error {
	return &protocol.Error{Code: protocol.CodeUnauthorized, Message: "Unauthorized", Hint: hint}
}

func (s *Server) requireOwner(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !s.isOwner(c.Request()) {
			return unauthorized("Send the server's token as Authorization: Bearer. " +
				"Without a token set, \"bellhop agent --api\" prints one when it starts")
		}
		return next(c)
	}
}

// requireMember admits the owner and the holder of the session's token. Other callers cannot
// find out whether the session exists.
func (s *Server) requireMember(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if s.isOwner(c.Request()) {
			return next(c)
		}
		hash, err := s.tokenHash(c.Request().Context(), c.Param("id"))
		if err != nil && protocol.CodeOf(err) != protocol.CodeNotFound {
			return err
		}
		if err != nil || !opens(bearer(c.Request()), hash) {
			return unauthorized("Send the session's or the server's token as Authorization: Bearer")
		}
		return next(c)
	}
}

// member returns the session that the request's token opens, which may be a new one.
func (s *Server) member(c echo.Context) (*session, error) {
	r, id := c.Request(), c.Param("id")
	plain, err := tokenOf(r)
	if err != nil {
		return nil, err
	}
	hash, err := s.tokenHash(r.Context(), id)
	switch {
	case protocol.CodeOf(err) == protocol.CodeNotFound && s.mayName(r, plain):
		return s.named(r.Context(), id, plain)
	case protocol.CodeOf(err) == protocol.CodeNotFound:
		return nil, errNotMember()
	case err != nil:
		return nil, err
	}
	one, err := s.find(id)
	switch {
	case err == nil && one.admits(plain):
		return one, nil
	case err == nil || !opens(plain, hash):
		return nil, errNotMember()
	}
	return nil, &protocol.Error{
		Code: protocol.CodeGone, Message: "The session has ended", Hint: "GET /sessions/ID/history still has its lines",
	}
}

// tokenOf returns the token of a request, "" without one. It may be in the query, because
// browsers cannot set headers on a WebSocket.
func tokenOf(r *http.Request) (string, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil { // the error would quote the token
		return "", protocol.Errorf(protocol.CodeInvalid, "The query string is malformed")
	}
	given, header := query["token"], bearer(r)
	switch {
	case len(given) > 1, len(given) == 1 && header != "" && given[0] != header:
		return "", protocol.Errorf(protocol.CodeInvalid, "token is given more than once")
	case len(given) == 1:
		return given[0], nil
	}
	return header, nil
}

// admits reports whether a token opens the session; "" is none.
func (one *session) admits(plain string) bool {
	return one.isFree && plain == "" || opens(plain, one.tokenHash)
}

func errNotMember() error {
	return unauthorized("Send the token of POST /sessions as ?token= or as Authorization: Bearer")
}
