package conformance

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"bellhop/protocol"
)

func checkHealth(s *scope, h *host) {
	for _, path := range []string{"/healthz", "/readyz"} {
		s.expect("GET "+path, h.call(s, call{method: http.MethodGet, path: path}), http.StatusOK, "")
	}
}

func checkErrors(s *scope, h *host) {
	post := fmt.Sprintf(`{"sessionId":"conformance-none","webhookUrl":%q}`, h.receiver.webhook("conformance-none", ""))
	s.expect("POST /session without the password", h.call(s, call{http.MethodPost, "/session", post, nil}), 401,
		protocol.CodeUnauthorized)
	s.expect("POST /session with another password", h.call(s, call{
		http.MethodPost, "/session", post, []string{"Authorization: Bearer wrong"},
	}), 401, protocol.CodeUnauthorized)
	s.expect("POST /session without webhookUrl",
		h.owner(s, http.MethodPost, "/session", `{"sessionId":"conformance-none"}`), 400, protocol.CodeInvalid)
	s.expect("POST /session without sessionId",
		h.owner(s, http.MethodPost, "/session", `{"webhookUrl":"http://127.0.0.1:1/"}`), 400, protocol.CodeInvalid)
	s.expect("POST /session with no JSON", h.owner(s, http.MethodPost, "/session", `{"sessionId":`),
		400, protocol.CodeInvalid)
	s.expect("an unknown route", h.owner(s, http.MethodGet, "/conformance", ""), 404, protocol.CodeNotFound)
	s.expect("an unknown session's events", h.owner(s, http.MethodGet, "/session/conformance-none/events", ""), 404,
		protocol.CodeNotFound)
	s.expect("an unknown session's stream", h.call(s, call{
		method: http.MethodGet, path: "/stream/conformance-none?token=x",
	}), 404, protocol.CodeNotFound)
	wrong := h.owner(s, http.MethodPut, "/session", "{}")
	s.expect("PUT /session", wrong, 405, protocol.CodeMethodNotAllowed)
	if wrong.status == http.StatusMethodNotAllowed && wrong.header.Get("Allow") == "" {
		s.failf("405 without Allow")
	}
}

func checkSessions(s *scope, h *host) {
	one := h.open(s)
	first := one.OpenSessionResponse
	switch {
	case first.ExpiresAt == nil || !first.ExpiresAt.After(time.Now()):
		s.failf("expiresAt is %v", first.ExpiresAt)
	case first.Cursor == nil || first.Cursor.Epoch < 1 || first.Cursor.Seq != 0:
		s.failf("the cursor of a new session is %+v, not {1..,0}", first.Cursor)
	case first.Status != protocol.StatusNone && first.Status != protocol.StatusIdle:
		s.failf("the status of a new session is %q", first.Status)
	case first.OpenTurn != "" || first.StreamCursor != nil:
		s.failf("a new session has an open turn %q", first.OpenTurn)
	case len(first.Capabilities) == 0:
		s.failf("no capabilities are named")
	}
	h.refresh(s, one, func(r *protocol.OpenSessionRequest) { r.Turn.ID = one.turn })
	if one.Token == first.Token {
		s.failf("a refresh gives the same token again")
	}
	for _, token := range []string{first.Token, one.Token} {
		a := h.call(s, call{method: http.MethodGet, path: "/stream/" + one.id + "?token=" + url.QueryEscape(token)})
		s.expect("GET /stream of an idle session with either token", a, http.StatusNoContent, "")
	}
}

func checkNames(s *scope, h *host) {
	one := h.open(s)
	if !slices.Contains(one.Capabilities, protocol.CapabilityNamedAnswers) {
		s.skip("the host does not have the capability " + protocol.CapabilityNamedAnswers)
	}
	name := protocol.NewID()
	named, owner := protocol.HeaderRequest+": "+name, "Authorization: Bearer "+h.options.Password
	events, stream := "/session/"+one.id+"/events", "/stream/"+one.id+"?token="
	repeated := func(c call, a *answer) {
		if a.header.Get(protocol.HeaderRequest) != name {
			s.failf("%s %s answers %d without the request's name", c.method, route(c.path), a.status)
		}
	}
	for _, c := range []call{
		{http.MethodGet, events, "", []string{named, owner}},
		{http.MethodGet, events, "", []string{named}},
		{http.MethodPost, "/session", "{", []string{named, owner}},
		{http.MethodGet, "/conformance", "", []string{named, owner}},
		{http.MethodGet, stream + "x", "", []string{named}},
	} {
		repeated(c, h.call(s, c))
	}
	turn := call{http.MethodPost, stream + url.QueryEscape(one.Token), `{"prompt":""}`, []string{named}}
	_, a := h.read(s, turn)
	repeated(turn, a)
}

func checkSuperseded(s *scope, h *host) {
	one := h.open(s)
	old, oldTurn := *one, one.turn
	h.refresh(s, one, nil)
	events := h.receiver.until(s, one.id, h.options.Patience, "the finish of the superseded turn", finished(oldTurn))
	for _, e := range events {
		if e.Type == protocol.EventFinish &&
			(e.FinishReason != protocol.FinishOther || e.Reason != protocol.ReasonNotStarted) {
			s.failf("finish is {%s, %s}, not {other, not-started}", e.FinishReason, e.Reason)
		}
	}
	a := h.call(s, call{
		http.MethodPost, "/stream/" + one.id + "?token=" + url.QueryEscape(old.Token), `{"prompt":"x"}`, nil,
	})
	s.expect("POST /stream for the superseded turn", a, http.StatusConflict, protocol.CodeNoTurn)
}

func checkBound(s *scope, h *host) {
	one := h.open(s)
	sum := sha256.Sum256([]byte(h.options.Plain))
	h.refresh(s, one, func(r *protocol.OpenSessionRequest) { r.Turn.PromptSHA256 = hex.EncodeToString(sum[:]) })
	a := h.call(s, call{
		http.MethodPost, "/stream/" + one.id + "?token=" + url.QueryEscape(one.Token), `{"prompt":"another"}`, nil,
	})
	s.expect("POST /stream with another prompt", a, http.StatusConflict, protocol.CodePromptMismatch)
	h.prompt(s, one, h.options.Plain).rest()
}

func checkAttach(s *scope, h *host) {
	one := h.open(s)
	h.refresh(s, one, func(r *protocol.OpenSessionRequest) { r.Turn, r.Attach = nil, true })
	a := h.call(s, call{
		http.MethodPost, "/stream/" + one.id + "?token=" + url.QueryEscape(one.Token), `{"prompt":"x"}`, nil,
	})
	s.expect("POST /stream with an attach token", a, http.StatusConflict, protocol.CodeNoTurn)
	_, read := h.attach(s, one, "")
	s.expect("GET /stream with an attach token", read, http.StatusNoContent, "")
}

func checkForeign(s *scope, h *host) {
	one := h.open(s)
	a := h.refresh(s, one, func(r *protocol.OpenSessionRequest) { r.BrokerID = "another" })
	s.expect("POST /session with another brokerId", a, http.StatusConflict, protocol.CodeForeignBroker)
}

func checkTokens(s *scope, h *host) {
	one, other := h.open(s), h.open(s)
	read := func(token string) *answer {
		return h.call(s, call{method: http.MethodGet, path: "/stream/" + one.id + "?token=" + url.QueryEscape(token)})
	}
	s.expect("no token", h.call(s, call{
		method: http.MethodGet, path: "/stream/" + one.id,
	}), 401, protocol.CodeUnauthorized)
	s.expect("an unknown token", read("unknown"), 401, protocol.CodeUnauthorized)
	s.expect("another session's token", read(other.Token), 401, protocol.CodeUnauthorized)
	s.expect("the token", read(one.Token), 204, "")
	s.confirmed("POST /session/:id/revoke", h.owner(s, http.MethodPost, "/session/"+one.id+"/revoke", ""), one)
	s.expect("a revoked token", read(one.Token), 401, protocol.CodeUnauthorized)
	s.expect("another session's token after that", h.call(s, call{
		method: http.MethodGet, path: "/stream/" + other.id + "?token=" + url.QueryEscape(other.Token),
	}), 204, "")
}

func checkCORS(s *scope, h *host) {
	one := h.open(s)
	path := "/stream/" + one.id + "?token=" + url.QueryEscape(one.Token)
	foreign := h.call(s, call{http.MethodGet, path, "", []string{"Origin: https://conformance.invalid"}})
	if got := foreign.header.Get("Access-Control-Allow-Origin"); got != "" {
		s.failf("a foreign origin is answered with Access-Control-Allow-Origin: %s", got)
	}
	if h.options.Origin == "" {
		if len(s.problems) == 0 {
			s.skip("name an origin that the host allows (--origin); foreign origins are refused")
		}
		return
	}
	for what, c := range map[string]call{
		"a preflight": {http.MethodOptions, path, "", []string{
			"Origin: " + h.options.Origin, "Access-Control-Request-Method: POST",
			"Access-Control-Request-Headers: content-type,last-event-id",
		}},
		"an answer":      {http.MethodGet, path, "", []string{"Origin: " + h.options.Origin}},
		"an error":       {http.MethodGet, "/stream/" + one.id + "?token=wrong", "", []string{"Origin: " + h.options.Origin}},
		"an unknown URL": {http.MethodGet, "/conformance", "", []string{"Origin: " + h.options.Origin}},
	} {
		a := h.call(s, c)
		if got := a.header.Get("Access-Control-Allow-Origin"); got != h.options.Origin {
			s.failf("%s (%d) has Access-Control-Allow-Origin %q for the allowed origin %s", what, a.status,
				got, h.options.Origin)
		}
	}
}

func checkDelete(s *scope, h *host) {
	one := h.open(s)
	s.confirmed("DELETE /session/:id", h.owner(s, http.MethodDelete, "/session/"+one.id, ""), one)
	s.expect("its events", h.owner(s, http.MethodGet, "/session/"+one.id+"/events", ""), 404, protocol.CodeNotFound)
	s.expect("its stream", h.call(s, call{
		method: http.MethodGet, path: "/stream/" + one.id + "?token=" + url.QueryEscape(one.Token),
	}), 404, protocol.CodeNotFound)
}
