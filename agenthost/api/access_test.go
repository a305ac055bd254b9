package api_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"bellhop/agenthost/api"
	"bellhop/crypto/seal"
	"bellhop/internal/httpapi"
	"bellhop/protocol"
)

var (
	unauthorized = errorBody("Unauthorized", protocol.CodeUnauthorized,
		"Send the agent password of this host as Authorization: Bearer")
	missingToken = errorBody("Missing token", protocol.CodeUnauthorized,
		"Send the stream token of a check-in as ?token= or as Authorization: Bearer")
)

// passwordRoutes accept only the agent password.
var passwordRoutes = []request{
	{"POST", "/session", `{"sessionId":"s2","webhookUrl":"http://127.0.0.1:1/"}`, nil},
	{"DELETE", "/session/s1", "", nil},
	{"GET", "/session/s1/events", "", nil},
	{"GET", "/session/s1/diff", "", nil},
	{"POST", "/session/s1/revoke", "", nil},
	{"GET", "/status", "", nil},
	{"GET", "/status/events", "", nil},
}

func TestPasswordRoutesRefuseStreamTokens(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	token := h.open("s1")
	for name, header := range map[string][]string{
		"nothing":               nil,
		"a wrong password":      {"Authorization: Bearer " + password + "x"},
		"a beginning of it":     {"Authorization: Bearer " + password[:8]},
		"an empty one":          {"Authorization: Bearer "},
		"another scheme":        {"Authorization: Basic " + password},
		"no scheme":             {"Authorization: " + password},
		"two headers":           {bearerPassword, bearerPassword},
		"a session's own token": {"Authorization: Bearer " + token},
		"another header":        {"X-Password: " + password},
	} {
		t.Run(name, func(t *testing.T) {
			for _, q := range passwordRoutes {
				q.header = header
				status, got, body := h.call(q)
				if status != http.StatusUnauthorized || got.Get("WWW-Authenticate") != "Bearer" {
					t.Errorf("%s %s: %d", q.method, q.path, status)
				}
				expectEqual(t, q.path, body, unauthorized)
			}
		})
	}
	t.Run("the scheme is case-insensitive", func(t *testing.T) {
		if status, _, body := h.call(request{
			"GET", "/status", "", []string{"Authorization: bearer " + password},
		}); status != http.StatusOK {
			t.Errorf("%d %s", status, body)
		}
	})
}

func TestStreamTokensOpenTheirSession(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	own, foreign, reading := h.announce("s1", "t1"), h.open("s2"), h.open("s1", `"attach":true`)
	prompt := `{"prompt":"text hello"}`
	const confirmed = `{"success":true,"sessionId":"s1"}`
	for name, c := range map[string]struct {
		q      request
		status int
		body   string
	}{
		"none":                   {request{"GET", "/stream/s1", "", nil}, 401, missingToken},
		"an empty one":           {request{"GET", "/stream/s1?token=", "", nil}, 401, ""},
		"a wrong one":            {request{"GET", "/stream/s1?token=abc", "", nil}, 401, ""},
		"a wrong one as bearer":  {request{"GET", "/stream/s1", "", []string{"Authorization: Bearer abc"}}, 401, ""},
		"another session's":      {request{"GET", "/stream/s1?token=" + foreign, "", nil}, 401, ""},
		"one on another session": {request{"GET", "/stream/s2?token=" + own, "", nil}, 401, ""},
		"a long one":             {request{"GET", "/stream/s1?token=" + strings.Repeat("a", 10_000), "", nil}, 401, ""},
		"the agent password":     {request{"GET", "/stream/s1", "", []string{bearerPassword}}, 401, ""},
		"two": {
			request{"GET", "/stream/s1?token=" + own + "&token=" + own, "", nil},
			400,
			errorBody("token is given more than once", protocol.CodeInvalid, ""),
		},
		"two different": {
			request{"GET", "/stream/s1?token=" + own, "", []string{"Authorization: Bearer " + reading}},
			401,
			errorBody("Two different tokens", protocol.CodeUnauthorized, ""),
		},
		"a broken query": {
			request{"GET", "/stream/s1?token=%zz", "", nil},
			400,
			errorBody("The query string is malformed", protocol.CodeInvalid, ""),
		},
		"the same twice": {
			request{"GET", "/stream/s1?token=" + own, "", []string{"Authorization: Bearer " + own}}, 204, "",
		},
		"as bearer":                  {request{"GET", "/stream/s1", "", []string{"Authorization: Bearer " + own}}, 204, ""},
		"an attach token reads":      {request{"GET", "/stream/s1?token=" + reading, "", nil}, 204, ""},
		"an attach token interrupts": {request{"POST", "/session/s1/interrupt?token=" + reading, "", nil}, 200, confirmed},
		"the password interrupts": {
			request{"POST", "/session/s1/interrupt", "", []string{bearerPassword}}, 200, confirmed,
		},
		"a foreign one interrupts":     {request{"POST", "/session/s1/interrupt?token=" + foreign, "", nil}, 401, ""},
		"an interrupt without a token": {request{"POST", "/session/s1/interrupt", "", nil}, 401, missingToken},
		"a foreign one answers": {
			request{"POST", "/session/s1/interactions/i?token=" + foreign, `{"approved":true}`, nil}, 401, "",
		},
		"a foreign one prompts":   {request{"POST", "/stream/s1?token=" + foreign, prompt, nil}, 401, ""},
		"an attach token prompts": {request{"POST", "/stream/s1?token=" + reading, prompt, nil}, 409, ""},
	} {
		t.Run(name, func(t *testing.T) {
			status, _, body := h.call(c.q)
			if status != c.status {
				t.Errorf("got %d %s, want %d", status, body, c.status)
			}
			if c.body != "" {
				expectEqual(t, "body", body, c.body)
			}
		})
	}
	if len(h.fake.Prompts()) != 0 {
		t.Errorf("a turn began: %+v", h.fake.Prompts())
	}
}

func TestAnExpiredTokenDoesNotCloseItsStream(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	token := h.announce("s1", "t1")
	s := h.prompt("s1", token, "text before\nwait gate\ntext after")
	s.readUntil(protocol.PartTextDelta)
	h.clock.Advance(11 * time.Minute)
	if status, _, body := h.call(request{"GET", "/stream/s1?token=" + token, "", nil}); status != http.StatusUnauthorized {
		t.Errorf("a new attach: %d %s", status, body)
	}
	h.fake.Release("gate")
	expectEqual(t, "the rest", partTypes(s.readAll()), "text-delta after, text-end, finish")
}

// Reliability SSE-5.
func TestRevokeDropsTokensAndCutsStreams(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	token := h.announce("s1", "t1")
	s := h.prompt("s1", token, "text before\nwait gate\ntext after")
	s.readUntil(protocol.PartTextDelta)
	_, _, body := h.call(request{"POST", "/session/s1/revoke", "", []string{bearerPassword}})
	expectEqual(t, "revoke", body, `{"success":true,"sessionId":"s1"}`)
	for {
		if _, err := s.next(); err != nil {
			break
		}
	}
	if status, _, body := h.call(request{"GET", "/stream/s1?token=" + token, "", nil}); status != http.StatusUnauthorized {
		t.Errorf("a new attach: %d %s", status, body)
	}
	h.fake.Release("gate")
	h.finishedEvents("s1") // the turn itself continues
}

func TestWithoutAPasswordOnlyLoopbackIsAnswered(t *testing.T) {
	t.Parallel()
	h := newHost(t, func(a *api.API, _ *http.Server) { a.Password = seal.Secret{} })
	h.undescribed = true // without a credential
	if status, _, body := h.call(request{"GET", "/status", "", nil}); status != http.StatusOK {
		t.Errorf("on loopback: %d %s", status, body)
	}
	if status, _, body := h.call(request{
		"GET", "/status", "", []string{"Authorization: Bearer x"},
	}); status != http.StatusUnauthorized {
		t.Errorf("with a password that is not configured: %d %s", status, body)
	}
	e := httpapi.New(httpapi.Options{})
	(&api.API{}).Routes(e)
	recorder := httptest.NewRecorder()
	e.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/status", nil)) // not received on a loopback address
	expectEqual(t, "elsewhere", recorder.Body.String(), unauthorized)
}
