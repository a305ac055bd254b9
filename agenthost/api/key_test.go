package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"bellhop/agenthost"
	"bellhop/agenthost/api"
	"bellhop/crypto/seal"
	"bellhop/internal/httpapi"
	"bellhop/protocol"
)

// class says what a route needs.
type class string

const (
	public     class = "nothing"
	byPassword class = "the password; it shows nothing of a bound session but its id, agent, status and positions"
	byKey      class = "the password and the session's key"
	byKeyOrTok class = "the password and the session's key, or a stream token"
	byToken    class = "a stream token"
	byTicket   class = "a ticket of a terminal, which TestAPagesOwnConnectionNeedsATicketOfItsBroker tests"
	byOperator class = "the password and the operator's key"
)

// routeClasses has every route of the host.
var routeClasses = map[string]class{
	"GET /healthz":                        public,
	"GET /readyz":                         public,
	"GET /openapi.yaml":                   public,
	"GET /openapi.json":                   public,
	"GET /openapi":                        public,
	"POST /session":                       byKey,
	"GET /session":                        byPassword,
	"GET /session/:id":                    byKey,
	"DELETE /session/:id":                 byKey,
	"POST /session/:id/interrupt":         byKeyOrTok,
	"POST /session/:id/interactions/:iid": byKeyOrTok,
	"GET /session/:id/events":             byKey,
	"GET /session/:id/diff":               byKey,
	"POST /session/:id/revoke":            byKey,
	"POST /session/:id/restart":           byKey,
	"POST /session/:id/terminal":          byKey,
	"DELETE /session/:id/key":             byOperator,
	"POST /reconcile":                     byPassword,
	"POST /stream/:id":                    byToken,
	"GET /stream/:id":                     byToken,
	"POST /sessions":                      byPassword,
	"GET /sessions":                       byPassword,
	"GET /sessions/:id/history":           byKeyOrTok,
	"DELETE /sessions/:id":                byKey,
	"GET /ws/:id":                         byKeyOrTok,
	"POST /revoke":                        byPassword,
	"GET /offer":                          byPassword,
	"PUT /announcements":                  byPassword,
	"GET /installations":                  byPassword,
	"POST /installations":                 byPassword,
	"DELETE /installations/:program":      byPassword,
	"POST /projects/:project/stop":        byOperator,
	"GET /metrics":                        byPassword,
	"GET /session/:id/only-copies":        byKey,
	"GET /session/:id/workspace":          byKey,
	"POST /session/:id/commit":            byKey,
	"GET /session/:id/shell":              byKey,
	"GET /session/:id/shell/direct":       byTicket,
	"POST /session/:id/push":              byKey,
	"POST /session/:id/pull-request":      byKey,
	"POST /session/:id/fetch":             byKey,
	"POST /session/:id/discard":           byKey,
	"GET /session/:id/paths":              byKeyOrTok,
	"GET /session/:id/commands":           byKeyOrTok,
	"GET /session/:id/files":              byKeyOrTok,
	"GET /session/:id/file":               byKeyOrTok,
	"GET /session/:id/search":             byKeyOrTok,
	"GET /projects/:project/paths":        byPassword,
	"GET /workspaces":                     byPassword,
	"GET /status":                         byPassword,
	"GET /status/events":                  byPassword,
}

const (
	ownKey      = "bhk_canary-key-of-the-session-s1-0123456789"
	otherKey    = "bhk_canary-key-of-another-session-0123456789"
	operatorKey = "bho_canary-key-of-the-operator-0123456789"
)

func keyHeader(key string) string { return protocol.HeaderSessionKey + ": " + key }

// attempt is a request to a route about the session s1 of the broker b1.
func attempt(route, token string, header ...string) request {
	method, path, _ := strings.Cut(route, " ")
	path = strings.NewReplacer(":id", "s1", ":iid", "i1", ":project", "p1").Replace(path)
	bodies := map[string]string{
		"POST /session":                       `{"sessionId":"s1","webhookUrl":"http://127.0.0.1:1/","brokerId":"b1"}`,
		"POST /reconcile":                     `{"brokerId":"b1","incarnation":"i"}`,
		"POST /sessions":                      `{"session_id":"s1"}`,
		"POST /session/:id/interactions/:iid": `{"approved":true}`,
		"POST /stream/:id":                    `{"prompt":"text hi"}`,
	}
	switch path {
	case "/session":
		if method == http.MethodGet {
			path += "?brokerId=b1"
		}
	case "/ws/s1":
		header = append(header, "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
			"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==")
	}
	if token != "" {
		path += "?token=" + token
	}
	return request{method, path, bodies[route], append([]string{bearerPassword}, header...)}
}

// boundHost has the session s1, which is bound to ownKey and whose turn is over.
func boundHost(t *testing.T) *host {
	t.Helper()
	h := newHost(t, func(a *api.API, _ *http.Server) { a.OperatorKey = seal.NewSecret(operatorKey) })
	h.bind("s1", ownKey)
	token := h.announceKeyed("t1")
	h.prompt("s1", token, "text canary-words").readAll()
	return h
}

// bind opens a session with a key.
func (h *host) bind(session, key string) {
	h.t.Helper()
	body := fmt.Sprintf(`{"sessionId":%q,"webhookUrl":"http://127.0.0.1:1/hook","brokerId":"b1","bindKey":true,"title":"canary-title","owner":"canary-owner"}`, session)
	bind := request{"POST", "/session", body, []string{bearerPassword, keyHeader(key)}}
	if status, _, answer := h.call(bind); status != http.StatusOK {
		h.t.Fatalf("bind: %d %s", status, answer)
	}
}

// announceKeyed opens the session s1 with its key and returns a token for a turn.
func (h *host) announceKeyed(turn string) string {
	h.t.Helper()
	body := fmt.Sprintf(`{"sessionId":"s1","webhookUrl":"http://127.0.0.1:1/hook","brokerId":"b1","turn":{"id":%q}}`, turn)
	_, _, answer := h.call(request{"POST", "/session", body, []string{bearerPassword, keyHeader(ownKey)}})
	var opened protocol.OpenSessionResponse
	if err := json.Unmarshal([]byte(answer), &opened); err != nil || opened.Token == "" {
		h.t.Fatalf("open: %s", answer)
	}
	return opened.Token
}

// A route that is not in the table fails the test until it has a class.
func TestEveryRouteHasAClass(t *testing.T) {
	t.Parallel()
	e := httpapi.New(httpapi.Options{})
	(&api.API{}).Routes(e)
	found := map[string]bool{}
	for _, r := range e.Routes() {
		route := r.Method + " " + r.Path
		found[route] = true
		if routeClasses[route] == "" {
			t.Errorf("%s is in no class", route)
		}
	}
	for route := range routeClasses {
		if !found[route] {
			t.Errorf("%s does not exist", route)
		}
	}
}

// The password is no master key. Alone, or with the key of another session, it reads and changes
// nothing of a bound session.
func TestThePasswordAloneOpensNoBoundSession(t *testing.T) {
	t.Parallel()
	h := boundHost(t)
	h.bind("s2", otherKey)
	for route, class := range routeClasses {
		for name, header := range map[string][]string{
			"the password alone":    nil,
			"an empty key":          {keyHeader("")},
			"another session's key": {keyHeader(otherKey)},
			"the hash of the key": {
				keyHeader("d2c1a1f1e0b9a8c7d6e5f4a3b2c1d0e9f8a7b6c5d4e3f2a1b0c9d8e7f6a5b4c3"),
			},
			"the key twice":                             {keyHeader(ownKey), keyHeader(ownKey)},
			"the key and another one":                   {keyHeader(otherKey), keyHeader(ownKey)},
			"a beginning of the key":                    {keyHeader(ownKey[:33])},
			"an operator's key that is not this host's": {keyHeader(operatorKey + "x")},
		} {
			t.Run(route+" with "+name, func(t *testing.T) {
				if route == "GET /status/events" {
					return // a stream of the same content as GET /status, see TestStatusHidesDeadLettersOfBoundSessions
				}
				status, _, body := h.call(attempt(route, "", header...))
				if strings.Contains(body, "canary-title") || strings.Contains(body, "canary-owner") ||
					strings.Contains(body, "canary-words") {
					t.Errorf("it shows %s", body)
				}
				switch class {
				case byKey, byKeyOrTok, byOperator:
					if status != http.StatusForbidden || !strings.Contains(body, `"code":"session_key"`) {
						t.Errorf("got %d %s", status, body)
					}
				case byToken:
					if status != http.StatusUnauthorized {
						t.Errorf("got %d %s", status, body)
					}
				}
			})
		}
	}
	if status, _, body := h.call(attempt("GET /session/:id/events", "", keyHeader(ownKey))); status != http.StatusOK ||
		!strings.Contains(body, "canary-words") {
		t.Errorf("the session has changed: %d %s", status, body)
	}
}

func TestTheKeyAndTheOperatorsKeyOpenASession(t *testing.T) {
	t.Parallel()
	for _, key := range []string{ownKey, operatorKey} {
		h := boundHost(t)
		// The last ones end the session.
		for _, route := range []string{
			"GET /session/:id", "GET /session/:id/events", "GET /session/:id/diff", "POST /session/:id/interrupt",
			"GET /sessions/:id/history", "GET /ws/:id", "POST /session/:id/revoke", "DELETE /session/:id",
		} {
			want := http.StatusOK
			if route == "GET /ws/:id" {
				want = http.StatusSwitchingProtocols
			}
			q := attempt(route, "", keyHeader(key))
			ctx, cancel := context.WithTimeout(t.Context(), guard)
			if resp := h.do(ctx, q); resp.StatusCode != want {
				t.Errorf("%s with %s: %d", route, key, resp.StatusCode)
			}
			cancel()
		}
	}
	h := boundHost(t)
	if status, _, body := h.call(attempt("POST /session", "", keyHeader(operatorKey))); status != http.StatusForbidden {
		t.Errorf("the operator's key is no broker's, and opens no session in its name: %d %s", status, body)
	}
	status, _, body := h.call(attempt("GET /session/:id", "", keyHeader(ownKey)))
	if status != http.StatusOK || !strings.Contains(body, `"title":"canary-title","owner":"canary-owner"`) {
		t.Errorf("%d %s", status, body)
	}
}

// A dead letter is an event that the broker refused, with all its text.
func TestStatusHidesDeadLettersOfBoundSessions(t *testing.T) {
	t.Parallel()
	h := boundHost(t)
	h.open("free")
	for _, session := range []string{"s1", "free"} {
		letter := agenthost.DeadLetter{
			SessionID: session, EventID: session, Body: "canary-letter of " + session, At: h.clock.Now(),
		}
		if err := h.kept.Write(t.Context(),
			&agenthost.Write{SessionID: session, DeadLetters: []agenthost.DeadLetter{letter}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"/status", "/status/events"} {
		for key, shown := range map[string]bool{"": false, ownKey: false, operatorKey: true} {
			ctx, cancel := context.WithTimeout(t.Context(), guard)
			resp := h.do(ctx, request{"GET", path, "", []string{bearerPassword, keyHeader(key)}})
			body, line := bufio.NewReader(resp.Body), ""
			for !strings.Contains(line, `"notices"`) { // the stream of events has no end
				more, err := body.ReadString(':')
				if err != nil {
					t.Fatalf("%s: %v after %s", path, err, line)
				}
				line += more
			}
			cancel()
			if !strings.Contains(line, "canary-letter of free") || strings.Contains(line, "canary-letter of s1") != shown {
				t.Errorf("%s with %q: %s", path, key, line)
			}
		}
	}
}

// A stream needs the stream token only, since browsers have nothing else.
func TestAStreamTokenOfABoundSessionSuffices(t *testing.T) {
	t.Parallel()
	h := boundHost(t)
	token := h.announceKeyed("t2")
	for route, class := range routeClasses {
		if class != byKeyOrTok && class != byToken || route == "GET /ws/:id" {
			continue
		}
		q := attempt(route, token)
		q.header = nil
		if status, _, body := h.call(q); status == http.StatusUnauthorized || status == http.StatusForbidden {
			t.Errorf("%s: %d %s", route, status, body)
		}
	}
}

func TestBindingAKey(t *testing.T) {
	t.Parallel()
	open := func(more string, header ...string) request {
		return request{
			"POST", "/session", `{"sessionId":"s1","webhookUrl":"http://127.0.0.1:1/"` + more + `}`,
			append([]string{bearerPassword}, header...),
		}
	}
	events := func(header ...string) request {
		return request{"GET", "/session/s1/events", "", append([]string{bearerPassword}, header...)}
	}
	const broker, bind = `,"brokerId":"b1"`, `,"brokerId":"b1","bindKey":true`
	for name, steps := range map[string][]struct {
		q    request
		want int
	}{
		"a broker that binds none needs none": {
			{open(broker), 200}, {events(), 200}, {open(broker), 200},
		},
		"a key that is not to be bound is only shown": {
			{open(broker, keyHeader(ownKey)), 200}, {events(), 200}, {open(broker), 200},
		},
		"a session without a key is bound by the next": {
			{open(broker), 200}, {open(bind, keyHeader(ownKey)), 200}, {events(), 403},
		},
		"the first key stays": {
			{open(bind, keyHeader(ownKey)), 200}, {open(bind, keyHeader(otherKey)), 403}, {events(keyHeader(ownKey)), 200},
		},
		"the same key again": {
			{open(bind, keyHeader(ownKey)), 200}, {open(bind, keyHeader(ownKey)), 200}, {open(broker, keyHeader(ownKey)), 200},
		},
		"a basic broker gets no token of a bound session": {{open(bind, keyHeader(ownKey)), 200}, {open(""), 403}},
		"a basic broker creates and streams":              {{open(""), 200}, {open(""), 200}},
		"a basic broker has no key to bind":               {{open(`,"bindKey":true`, keyHeader(ownKey)), 400}},
		"a proxy that removes the header is noticed":      {{open(bind), 400}},
		"a short key": {{open(bind, keyHeader("short")), 400}},
		"a long key":  {{open(bind, keyHeader(strings.Repeat("k", 257))), 400}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, nil)
			for i, step := range steps {
				if status, _, body := h.call(step.q); status != step.want {
					t.Errorf("step %d: got %d %s, want %d", i+1, status, body, step.want)
				}
			}
		})
	}
}

// The operator of the host releases a session whose broker lost the key.
func TestAReleasedSessionIsBoundAgain(t *testing.T) {
	t.Parallel()
	h := boundHost(t)
	status, _, body := h.call(attempt("DELETE /session/:id/key", "", keyHeader(operatorKey)))
	if status != http.StatusOK || body != `{"success":true,"sessionId":"s1"}` {
		t.Fatalf("%d %s", status, body)
	}
	h.bind("s1", otherKey)
	for key, want := range map[string]int{ownKey: 403, otherKey: 200} {
		if status, _, body := h.call(attempt("GET /session/:id/events", "", keyHeader(key))); status != want {
			t.Errorf("%s: %d %s", key, status, body)
		}
	}
}

// A host without the operator's key refuses the route instead of opening it to everyone.
func TestWithoutAnOperatorsKeyNothingIsReleased(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	h.bind("s1", ownKey)
	for _, header := range [][]string{nil, {keyHeader("")}, {keyHeader(ownKey)}} {
		if status, _, body := h.call(attempt("DELETE /session/:id/key", "", header...)); status != http.StatusForbidden {
			t.Errorf("%q: %d %s", header, status, body)
		}
	}
}
