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
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"bellhop/broker"
	"bellhop/broker/hosts"
	"bellhop/crypto/seal"
	"bellhop/internal/testenv"
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
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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
			`{"sessionId":"s1","token":"t","streamUrl":"https://h.example/stream/s1","cursor":{"epoch":3,"seq":9},"streamCursor":"3-7","status":"busy","openTurn":"u","capabilities":["events"]}`,
			protocol.OpenSessionResponse{
				SessionID: "s1", Token: "t", StreamURL: "https://h.example/stream/s1", Cursor: &protocol.Cursor{Epoch: 3, Seq: 9},
				StreamCursor: &cursor, Status: "busy", OpenTurn: "u", Capabilities: []string{"events"},
			},
		},
		{
			"a basic host's id of its own, and its URL of something else, do not hurt",
			`{"token":"t","sessionId":"ses_7","streamUrl":"https://h.example/stream?session=s1"}`,
			protocol.OpenSessionResponse{SessionID: "ses_7", Token: "t"},
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

// A response that something in between has mixed up with another would give the stream of one user's session to another
// user. None of it is passed on.
func TestAResponseAboutAnotherSessionIsRefused(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"named by its id":    `{"sessionId":"s2","token":"t","streamUrl":"https://h.example/stream/s1","capabilities":["events"]}`,
		"named by its URL":   `{"sessionId":"s1","token":"t","streamUrl":"https://h.example/stream/s2","capabilities":["events"]}`,
		"without a name":     `{"token":"t","streamUrl":"https://h.example/stream/s1","capabilities":["events","named-answers"]}`,
		"without an address": `{"sessionId":"s2","token":"t","capabilities":["events"]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := newClient(t, hosts.Options{}).Open(t.Context(),
				target(serve(t, answering(200, answer)), password), openRequest)
			if got != nil || protocol.CodeOf(err) != protocol.CodeBadGateway || !errors.Is(err, broker.ErrDoubtful) {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

func TestPasswordsAreTriedInOrder(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
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

// A limit of the broker's is no sign that a host cannot be reached, and the host may go on.
func TestATimeLimitNamesWhatTheHostHasNotDone(t *testing.T) {
	t.Parallel()
	url := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	c := newClient(t, hosts.Options{Timeout: 30 * time.Millisecond})
	err := c.Interrupt(t.Context(), target(url), "s1", "t1")
	wantError(t, err, protocol.Error{
		Code: protocol.CodeBadGateway, Message: "The agent host has not stopped the agent within 0.03 s",
		Hint: "It may still do so: wait a moment, look at the task, and try again if nothing happened",
	})
	_, err = c.Session(t.Context(), target(url), "s1")
	wantError(t, err, protocol.Error{
		Code: protocol.CodeBadGateway, Message: "The agent host did not answer within 0.03 s",
		Hint: "It is busy, or the network between it and the broker holds the answer up: try again",
	})
}

// What a user asked for wrongly is no failure of the host, and does not page its operator.
func TestARequestThatAHostCallsInvalidIsInvalid(t *testing.T) {
	t.Parallel()
	for _, named := range []bool{true, false} {
		url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if named {
				w.Header().Set(protocol.HeaderRequest, r.Header.Get(protocol.HeaderRequest))
			}
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":"This host has no such agent","code":"invalid","hint":"It has: demo"}`)
		}))
		_, err := newClient(t, hosts.Options{}).Open(t.Context(), target(url, password), openRequest)
		want := protocol.Error{Code: protocol.CodeInvalid, Message: "This host has no such agent", Hint: "It has: demo"}
		if !named {
			want = protocol.Error{
				Code: protocol.CodeBadGateway, Message: "Failed to create agent session", Hint: "It has: demo", Relayed: "invalid",
			}
		}
		wantError(t, err, want)
	}
}

func TestALaterCheckInIsTheHostsWordOnly(t *testing.T) {
	t.Parallel()
	for _, named := range []bool{true, false} {
		url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if named {
				w.Header().Set(protocol.HeaderRequest, r.Header.Get(protocol.HeaderRequest))
			}
			w.WriteHeader(http.StatusConflict)
			_, _ = io.WriteString(w, `{"error":"A later message","code":"conflict","rev":7}`)
		}))
		_, err := newClient(t, hosts.Options{}).Open(t.Context(), target(url, password), openRequest)
		var later broker.LaterCheckInError
		if found := errors.As(err, &later); found != named || named && later.Rev != 7 {
			t.Errorf("named %t: %v", named, err)
		}
	}
}

// The guarded client has limits of its own, which must not come before those of the calls.
func TestARestartAtAUsersURLHasItsWholeTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		listener := testenv.NewPipes()
		server := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		})}
		ended := make(chan error, 1)
		go func() { ended <- server.Serve(listener) }()
		limits := hosts.Timeouts()
		c := hosts.New(hosts.Options{Guarded: &http.Client{Timeout: limits.Total, Transport: &http.Transport{
			DialContext: listener.Dial, ResponseHeaderTimeout: limits.Header,
		}}})
		guarded := target("http://host.example", password)
		guarded.Guarded = true
		_, err := c.Restart(t.Context(), guarded, "s1")
		wantError(t, err, protocol.Error{
			Code: protocol.CodeBadGateway, Message: "The agent host has not restarted the agent within 40 s",
			Hint: "It may still do so: wait a moment, look at the task, and try again if nothing happened",
		})
		c.CloseIdleConnections()
		_ = server.Close()
		<-ended
	})
}

func TestAHostThatAnsweredAMomentAgoMayBeRestarting(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(answering(200, `{"success":true}`))
	c := newClient(t, hosts.Options{})
	if _, _, err := c.Ready(t.Context(), target(server.URL)); err != nil {
		t.Fatal(err)
	}
	server.Close()
	for name, c := range map[string]*hosts.Client{"it answered": c, "another broker": newClient(t, hosts.Options{})} {
		_, err := c.Restart(t.Context(), target(server.URL, password), "s1")
		want := protocol.Error{
			Code: protocol.CodeBadGateway, Message: "Failed to connect to agent server",
			Hint: "It answered a moment ago, so it may be restarting: try again. If that fails, check that it runs",
		}
		if name == "another broker" {
			want.Hint = "Check that the agent host runs and that the broker reaches its URL"
		}
		wantError(t, err, want)
	}
}

func TestAHostThatStopsSaysSo(t *testing.T) {
	t.Parallel()
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(protocol.HeaderRequest, r.Header.Get(protocol.HeaderRequest))
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, `{"error":"The agent host is stopping","code":"unavailable"}`)
	}))
	c := newClient(t, hosts.Options{})
	_, err := c.Restart(t.Context(), target(url, password), "s1")
	wantError(t, err, protocol.Error{
		Code: protocol.CodeBadGateway, Message: "The agent host failed", Hint: "The agent host is stopping: try again in a moment",
	})
}
