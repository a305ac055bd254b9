package hosts_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bellhop/broker"
	"bellhop/broker/hosts"
	"bellhop/crypto/seal"
	"bellhop/internal/requestid"
	"bellhop/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	password = "host-password-canary"
	token    = "webhook-token-canary"
)

var openRequest = &protocol.OpenSessionRequest{
	SessionID:  "s1",
	WebhookURL: "http://broker.example/api/agent/webhook?token=" + token,
}

func newClient(t *testing.T, opts hosts.Options) *hosts.Client {
	t.Helper()
	c := hosts.New(opts)
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func target(url string, passwords ...string) broker.Target {
	t := broker.Target{URL: url}
	for _, p := range passwords {
		t.Passwords = append(t.Passwords, seal.NewSecret(p))
	}
	return t
}

// answering returns a handler that gives every request the same answer.
func answering(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	ts := httptest.NewServer(h)
	t.Cleanup(ts.Close)
	return ts.URL
}

// wantError compares the error that a client sees, and looks for secrets in the
// error for the log.
func wantError(t *testing.T, err error, want protocol.Error) {
	t.Helper()
	var got *protocol.Error
	if !errors.As(err, &got) {
		t.Fatalf("got %v, want a protocol.Error", err)
	}
	all := fmt.Sprintf("%v %+v", err, got)
	for _, secret := range []string{password, token, "http://127.0.0.1"} {
		if strings.Contains(all, secret) {
			t.Errorf("%q stands in the error %q", secret, all)
		}
	}
	bare := *got
	bare.Err = nil
	if !reflect.DeepEqual(bare, want) {
		t.Errorf("got %+v, want %+v", bare, want)
	}
}

func TestOpenRefused(t *testing.T) {
	const (
		session = "Failed to create agent session"
		connect = "Failed to connect to agent server"
		noToken = "No stream token returned from agent"
	)
	unreachable := protocol.Error{
		Code: protocol.CodeBadGateway, Message: connect,
		Hint: "Check that the agent host runs and that the broker reaches its URL",
	}
	notHost := protocol.Error{
		Code: protocol.CodeBadGateway, Message: connect,
		Hint: "Check the agent URL: nothing there answers as an agent host",
	}
	tokenless := protocol.Error{
		Code: protocol.CodeBadGateway, Message: noToken, Hint: "The agent URL must be that of an agent host",
	}
	refused := func(hint, code string) protocol.Error {
		e := protocol.Error{Code: protocol.CodeBadGateway, Message: session, Hint: hint}
		if code != "" {
			e.Relayed = protocol.Code(code)
		}
		return e
	}
	echo := func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(protocol.ErrorBody{
			Error: "x", Code: "odd", Hint: r.Header.Get("Authorization") + " " + string(body),
		})
	}
	for _, tt := range []struct {
		name string
		host http.HandlerFunc
		want protocol.Error
	}{
		{
			"an error in the one shape keeps its code and hint",
			answering(409, `{"error":"no","code":"foreign_broker","hint":"Unbind it"}`),
			refused("Unbind it", "foreign_broker"),
		},
		{
			"a host's 401 is no 401 of the broker", answering(401, `{"error":"no","code":"unauthorized"}`),
			refused("The agent host refused the password: set the one it was started with", "unauthorized"),
		},
		{
			"an error in another shape", answering(500, `oops`),
			refused("The agent host answered with status 500: its log says more", ""),
		},
		{
			"not an agent host", answering(404, `<html>`),
			refused("Check the agent URL: nothing there answers as an agent host", ""),
		},
		{"a redirect is not followed", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}, refused("The agent URL redirects, which is not followed: use the address it redirects to", "")},
		{
			"a host's hint that repeats secrets is redacted", echo,
			refused(`Bearer [redacted] {"sessionId":"s1","webhookUrl":"http://broker.example/api/agent/webhook?token=[redacted]","cursor":null}`, "odd"),
		},
		{
			"a long hint is cut", answering(400, `{"code":"odd","hint":"`+strings.Repeat("é", 400)+`"}`),
			refused(strings.Repeat("é", 250)+"…", "odd"),
		},
		{"2xx, not JSON", answering(200, `<html>`), notHost},
		{"2xx, empty", answering(200, ``), notHost},
		{"2xx, JSON cut short", answering(200, `{"token":"x"`), notHost},
		{"2xx, no token", answering(200, `{"ok":true}`), tokenless},
		{"2xx, empty token", answering(200, `{"token":""}`), tokenless},
		{"2xx, token is no string", answering(200, `{"token":7}`), tokenless},
		{"2xx, no object", answering(200, `[]`), tokenless},
		{"2xx, over 8 MiB", answering(200, `{"token":"`+strings.Repeat("x", 8<<20)+`"}`), unreachable},
		{"the connection breaks", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, unreachable},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := tt.want
			if strings.Contains(want.Hint, "sessionId") {
				body, err := json.Marshal(openRequest)
				if err != nil {
					t.Fatal(err)
				}
				want.Hint = "Bearer [redacted] " + strings.ReplaceAll(string(body), token, "[redacted]")
			}
			_, err := newClient(t, hosts.Options{}).Open(t.Context(), target(serve(t, tt.host), password), openRequest)
			wantError(t, err, want)
		})
	}
}

func TestUnreachableHosts(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	unused := "http://" + listener.Addr().String()
	_ = listener.Close()
	want := protocol.Error{
		Code: protocol.CodeBadGateway, Message: "Failed to connect to agent server",
		Hint: "Check that the agent host runs and that the broker reaches its URL",
	}
	for name, url := range map[string]string{
		"nothing listens":   unused,
		"no URL":            "",
		"another scheme":    "ftp://127.0.0.1/",
		"with a user":       "http://me:" + password + "@127.0.0.1/",
		"no HTTP, a secret": serveRaw(t),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := newClient(t, hosts.Options{}).Open(t.Context(), target(url, password), openRequest)
			wantError(t, err, want)
		})
	}
}

// serveRaw accepts one connection and answers with the password instead of HTTP.
func serveRaw(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		_, _ = io.WriteString(conn, "Bearer "+password+"\r\n\r\n")
		_, _ = io.Copy(io.Discard, conn)
	}()
	return "http://" + listener.Addr().String()
}

func TestASlowHostTimesOut(t *testing.T) {
	release := make(chan struct{})
	url := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	t.Cleanup(func() { close(release) })
	_, err := newClient(t, hosts.Options{Timeout: 20 * time.Millisecond}).Open(t.Context(),
		target(url, password), openRequest)
	wantError(t, err, protocol.Error{
		Code: protocol.CodeBadGateway, Message: "Failed to connect to agent server",
		Hint: "POST /session of the agent server must answer within 10 s: let it start slow work at POST /stream",
	})
}

func TestOpen(t *testing.T) {
	cursor := "3-7"
	for _, tt := range []struct {
		name, answer string
		want         protocol.OpenSessionResponse
	}{
		{"a basic host answers a token alone", `{"token":"t"}`, protocol.OpenSessionResponse{Token: "t"}},
		{
			"members of a basic host's own do not hurt", `{"token":"t","status":200,"expiresAt":17}`,
			protocol.OpenSessionResponse{Token: "t"},
		},
		{
			"all members",
			`{"token":"t","streamUrl":"https://h.example/stream/s1","cursor":{"epoch":3,"seq":9},"streamCursor":"3-7","status":"busy","openTurn":"u","capabilities":["events"]}`,
			protocol.OpenSessionResponse{
				Token: "t", StreamURL: "https://h.example/stream/s1", Cursor: &protocol.Cursor{Epoch: 3, Seq: 9},
				StreamCursor: &cursor, Status: "busy", OpenTurn: "u", Capabilities: []string{"events"},
			},
		},
		{
			"a stream URL with another scheme than HTTP is dropped", `{"token":"t","streamUrl":"javascript:alert(1)"}`,
			protocol.OpenSessionResponse{Token: "t"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := newClient(t, hosts.Options{}).Open(t.Context(),
				target(serve(t, answering(200, tt.answer))+"/", password), openRequest)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(*got, tt.want) {
				t.Errorf("got %+v, want %+v", *got, tt.want)
			}
		})
	}
}

func TestPasswordsAreTriedInOrder(t *testing.T) {
	var seen []string
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header.Get("Authorization"))
		if r.Header.Get("Authorization") != "Bearer old" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, `{"token":"t"}`)
	}))
	c := newClient(t, hosts.Options{})
	if _, err := c.Open(t.Context(), target(url, "new", "old", "older"), openRequest); err != nil {
		t.Fatal(err)
	}
	if want := []string{"Bearer new", "Bearer old"}; !reflect.DeepEqual(seen, want) {
		t.Errorf("tried %q, want %q", seen, want)
	}
	seen = nil
	_, err := c.Open(t.Context(), target(url), openRequest)
	if err == nil || !reflect.DeepEqual(seen, []string{""}) {
		t.Errorf("a host without password was asked with %q, error %v", seen, err)
	}
}

func TestGuardedTargetsNeedTheGuard(t *testing.T) {
	url := serve(t, answering(200, `{"token":"t"}`))
	guarded := target(url, password)
	guarded.Guarded = true
	_, err := newClient(t, hosts.Options{}).Open(t.Context(), guarded, openRequest)
	wantError(t, err, protocol.Error{
		Code: protocol.CodeBadGateway, Message: "Failed to connect to agent server",
		Hint: "Check that the agent host runs and that the broker reaches its URL",
	})

	dialed := false
	guard := &http.Client{
		Transport: &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			dialed = true
			return (&net.Dialer{}).DialContext(ctx, network, addr)
		}},
	}
	if _, err := newClient(t, hosts.Options{Guarded: guard}).Open(t.Context(), guarded, openRequest); err != nil ||
		!dialed {
		t.Errorf("error %v, dialed through the guard: %t", err, dialed)
	}
}

func TestSessionCalls(t *testing.T) {
	var got string
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = fmt.Sprintf("%s %s %q %s", r.Method, r.URL, r.Header.Get("Authorization"), body)
		if r.URL.Path == "/session" {
			_, _ = io.WriteString(w, `{"sessions":[],"nextAfter":""}`)
			return
		}
		if r.URL.Path == "/reconcile" {
			_, _ = io.WriteString(w, `{"sessions":0,"pending":0,"acknowledged":[]}`)
			return
		}
		_, _ = io.WriteString(w, `{"epoch":3,"events":[{"type":"text"}],"nextAfter":10,"status":"idle"}`)
	}))
	c, to, yes := newClient(t, hosts.Options{}), target(url, "pw"), true
	for _, tt := range []struct {
		name, want string
		call       func() error
	}{
		{"events", `GET /session/s%2F1/events?after=9&epoch=3&last=e9&limit=500&prompts=true "Bearer pw" `, func() error {
			events, err := c.Events(t.Context(), to, "s/1",
				broker.EventsAfter{Cursor: protocol.Cursor{Epoch: 3, Seq: 9}, EventID: "e9"}, 500)
			if err == nil && (events.NextAfter != 10 || len(events.Events) != 1) {
				t.Errorf("got %+v", events)
			}
			return err
		}},
		{"interrupt", `POST /session/s/interrupt "Bearer pw" {}`, func() error { return c.Interrupt(t.Context(), to, "s") }},
		{"restart", `POST /session/s/restart "Bearer pw" {}`, func() error {
			_, err := c.Restart(t.Context(), to, "s")
			return err
		}},
		{"answer", `POST /session/s/interactions/i "Bearer pw" {"approved":true}`, func() error {
			return c.Answer(t.Context(), to, "s", "i", &protocol.AnswerRequest{Approved: &yes})
		}},
		{"delete", `DELETE /session/s "Bearer pw" `, func() error { return c.Delete(t.Context(), to, "s") }},
		{"sessions", `GET /session?after=a&brokerId=b&limit=9 "Bearer pw" `, func() error {
			_, err := c.Sessions(t.Context(), to, "b", "a", 9)
			return err
		}},
		{"reconcile", `POST /reconcile "Bearer pw" {"brokerId":"b","incarnation":"i","force":true}`, func() error {
			_, err := c.Reconcile(t.Context(), to, &protocol.ReconcileRequest{BrokerID: "b", Incarnation: "i", Force: true})
			return err
		}},
		{"announcements", `PUT /announcements "Bearer pw" {"brokerId":"b","announcements":[]}`, func() error {
			err := c.Announce(t.Context(), to, &protocol.HostAnnouncements{
				BrokerID: "b", Announcements: []protocol.Announcement{},
			})
			if protocol.CodeOf(err) == protocol.CodeBadGateway { // the answer of this server names no broker
				return nil
			}
			return errors.Join(errors.New("taken"), err)
		}},
		{"revoke", `POST /session/s/revoke "Bearer pw" {}`, func() error { return c.Revoke(t.Context(), to, "s") }},
		{"ready sends no password", `GET /readyz "" `, func() error { _, err := c.Ready(t.Context(), to); return err }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.call(); err != nil {
				t.Fatal(err)
			}
			if got != tt.want {
				t.Errorf("\n got %s\nwant %s", got, tt.want)
			}
		})
	}
}

// The logs of a broker and its hosts are joined by this id.
func TestAHostGetsTheIDOfTheRequestThatItsBrokerServes(t *testing.T) {
	var got []string
	c, to := newClient(t, hosts.Options{}), target(serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("X-Request-Id"))
		_, _ = io.WriteString(w, "{}")
	})), password)
	ctx := requestid.With(t.Context(), "r-1")
	_ = c.Interrupt(ctx, to, "s")
	relayed, err := c.Relay(ctx, to, &broker.RelayRequest{
		SessionID: "s", Method: http.MethodGet, Header: http.Header{"X-Request-Id": {"other"}},
	})
	if err == nil {
		err = relayed.Body.Close()
	}
	_ = c.Interrupt(t.Context(), to, "s")
	if want := []string{"r-1", "r-1", ""}; err != nil || !slices.Equal(got, want) {
		t.Errorf("ids %q, want %q (%v)", got, want, err)
	}
}

func TestSessionCallsRefused(t *testing.T) {
	for _, tt := range []struct {
		name string
		host http.HandlerFunc
		want protocol.Error
	}{
		{
			"the host's own code", answering(409, `{"error":"Answered already","code":"answered","hint":"h"}`),
			protocol.Error{Code: protocol.CodeAnswered, Message: "Answered already", Hint: "h"},
		},
		{
			"no such session", answering(404, `{"error":"No session","code":"not_found"}`),
			protocol.Error{Code: protocol.CodeNotFound, Message: "No session"},
		},
		{
			"the broker's password, not its caller, is refused", answering(401, `{"error":"no","code":"unauthorized"}`),
			protocol.Error{
				Code: protocol.CodeBadGateway, Message: "The agent host failed",
				Hint: "The agent host refused the password: set the one it was started with",
			},
		},
		{
			"the host's own failure", answering(500, `{"error":"Internal error","code":"internal"}`),
			protocol.Error{
				Code: protocol.CodeBadGateway, Message: "The agent host failed",
				Hint: "The agent host answered with status 500: its log says more",
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, to := newClient(t, hosts.Options{}), target(serve(t, tt.host), password)
			wantError(t, c.Interrupt(t.Context(), to, "s"), tt.want)
			_, err := c.Events(t.Context(), to, "s", broker.EventsAfter{Cursor: protocol.Cursor{Epoch: 1}}, 10)
			wantError(t, err, tt.want)
		})
	}
	t.Run("a 404 that no agent host wrote is no missing session", func(t *testing.T) {
		c, to := newClient(t, hosts.Options{}), target(serve(t, answering(404, `not found`)), password)
		wantError(t, c.Interrupt(t.Context(), to, "s"),
			protocol.Error{Code: protocol.CodeMethodNotAllowed, Message: "The agent host cannot interrupt"})
		_, err := c.Events(t.Context(), to, "s", broker.EventsAfter{Cursor: protocol.Cursor{Epoch: 1}}, 10)
		wantError(t, err, protocol.Error{
			Code: protocol.CodeBadGateway, Message: "The agent host failed",
			Hint: "Check the agent URL: nothing there answers as an agent host",
		})
	})
}

// A turn is closed as lost when its host says that it does not work on it. Only the host can say so.
func TestEventsThatNoHostWroteAreNoAnswer(t *testing.T) {
	for _, body := range []string{"no", `{"success":true}`, `{}`, `{"events":null}`} {
		_, err := newClient(t, hosts.Options{}).Events(t.Context(), target(serve(t, answering(200, body))), "s",
			broker.EventsAfter{Cursor: protocol.Cursor{Epoch: 1}}, 10)
		wantError(t, err, protocol.Error{
			Code: protocol.CodeBadGateway, Message: "Failed to connect to agent server",
			Hint: "Check the agent URL: nothing there answers as an agent host",
		})
	}
	_, err := newClient(t, hosts.Options{}).Events(t.Context(),
		target(serve(t, answering(200, `{"epoch":1,"events":[],"nextAfter":0,"status":"none"}`))), "s",
		broker.EventsAfter{}, 10)
	if err != nil {
		t.Error(err)
	}
}

func TestReadinessIsTheHostsHealth(t *testing.T) {
	for _, tt := range []struct {
		name string
		host http.HandlerFunc
		want broker.HostHealth
		code protocol.Code
	}{
		{"ready", answering(200, `{"status":"ready"}`), broker.HostOK, ""},
		{"little room", answering(200, `{"status":"ready","storage":"low"}`), broker.HostLowSpace, ""},
		{
			"a full disk", answering(507, `{"error":"The agent host's disk is full","code":"storage_full"}`),
			broker.HostFull, "",
		},
		{"200 in another shape", answering(200, `fine`), broker.HostOK, ""},
		{"a basic host without the route", answering(404, `Cannot GET /readyz`), broker.HostOK, ""},
		{"a basic host that asks for a credential", answering(401, ``), broker.HostOK, ""},
		{"not ready", answering(503, `{"error":"The host is not ready","code":"unavailable"}`), "", protocol.CodeBadGateway},
	} {
		got, err := newClient(t, hosts.Options{}).Ready(t.Context(), target(serve(t, tt.host)))
		if got != tt.want || protocol.CodeOf(err) != tt.code && tt.code != "" || err != nil && tt.code == "" {
			t.Errorf("%s: %q, %v", tt.name, got, err)
		}
	}
}

// When a gateway answers a call in its host's place, the call is doubtful. A host names the
// session in its answer; for an answer without it the client reads the session's state.
func TestOnlyAHostConfirmsACall(t *testing.T) {
	const lie, named = `{"success":true}`, `{"success":true,"sessionId":"s"}`
	page := func(members string) http.HandlerFunc {
		return answering(200, `{"epoch":1,"events":[],"nextAfter":0,"status":"idle"`+members+`}`)
	}
	for name, tt := range map[string]struct {
		answer string
		state  http.HandlerFunc // of GET /session/s/events
		basic  bool
		delete bool // only DELETE
		sure   bool // the call counts as done
	}{
		"a host": {answer: named, state: answering(500, ""), sure: true},
		"an older host's DELETE": {
			answer: `{"worktreeKept":false}`, state: answering(500, ""), delete: true,
			sure: true,
		},
		"an older host":               {answer: lie, state: page(""), sure: true},
		"a basic host":                {answer: lie, state: answering(404, ""), basic: true, sure: true},
		"a gateway before a host":     {answer: lie, state: page(`,"sessionId":"s"`)},
		"a gateway's page":            {answer: "<html>", state: page(`,"sessionId":"s"`)},
		"a gateway that lies twice":   {answer: lie, state: answering(200, lie)},
		"a gateway, the host is away": {answer: lie, state: answering(503, "")},
		"a session of another name":   {answer: `{"success":true,"sessionId":"t"}`, state: page(`,"sessionId":"s"`)},
		"a gateway, the session is gone": {
			answer: lie, state: answering(404, `{"error":"no","code":"not_found"}`),
			delete: true, sure: true,
		},
		"a gateway, an unknown page":        {answer: lie, state: answering(404, `<html>`), delete: true},
		"the state of another session":      {answer: lie, state: page(`,"sessionId":"t"`)},
		"an empty answer of such a gateway": {answer: ``, state: page(`,"sessionId":"s"`)},
	} {
		url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				tt.state(w, r)
				return
			}
			answering(200, tt.answer)(w, r)
		}))
		to := target(url)
		to.Events = !tt.basic
		c := newClient(t, hosts.Options{})
		calls := map[string]error{"delete": c.Delete(t.Context(), to, "s")}
		if !tt.delete {
			calls["interrupt"] = c.Interrupt(t.Context(), to, "s")
			_, calls["restart"] = c.Restart(t.Context(), to, "s")
			calls["answer"] = c.Answer(t.Context(), to, "s", "q", &protocol.AnswerRequest{})
			calls["revoke"] = c.Revoke(t.Context(), to, "s")
		}
		for call, err := range calls {
			if (err == nil) != tt.sure {
				t.Errorf("%s, %s: %v", name, call, err)
			}
			if err != nil && (!errors.Is(err, broker.ErrDoubtful) || protocol.CodeOf(err) != protocol.CodeBadGateway) {
				t.Errorf("%s, %s: %v is not doubtful", name, call, err)
			}
		}
	}
}
