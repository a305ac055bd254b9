//go:build full

package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"bellhop/client"
	"bellhop/protocol"
)

// gateway is a proxy of a test before a server. handle returns true if it has answered.
func gateway(
	t *testing.T, target string, handle func(w http.ResponseWriter, r *http.Request) bool, change func(*http.Response),
) string {
	t.Helper()
	to, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	forward := httputil.NewSingleHostReverseProxy(to)
	forward.Transport = transport
	if change != nil {
		forward.ModifyResponse = func(resp *http.Response) error { change(resp); return nil }
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if handle != nil && handle(w, r) {
			return
		}
		r.Host = to.Host
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// liar is a gateway in front of a host. While it lies, it answers changes of a session with a
// success of its own.
type liar struct {
	url  string
	lies atomic.Int32 // so many requests
	lied atomic.Int32
}

func newLiar(t *testing.T, host string) *liar {
	t.Helper()
	l := &liar{}
	l.url = gateway(t, host, func(w http.ResponseWriter, r *http.Request) bool {
		changes := r.Method != http.MethodGet && strings.HasPrefix(r.URL.Path, "/session/")
		if !changes || l.lies.Add(-1) < 0 {
			return false
		}
		l.lied.Add(1)
		_, _ = io.WriteString(w, `{"success":true}`)
		return true
	}, nil)
	return l
}

// A gateway's 200 stops no agent, answers no question and ends no session: the user gets an
// error, and the session's deletion is repeated.
func TestAGatewaysSuccessIsNoHosts(t *testing.T) {
	t.Parallel()
	s := newStack(t, sqlite)
	liar := newLiar(t, s.host.url)
	host := strings.TrimSpace(s.administer("hosts", "add", "--name", "gated", "--url", liar.url))
	c := s.user()
	task, err := c.CreateTask(t.Context(), &protocol.CreateTaskRequest{Title: "gated", HostID: host})
	if err != nil {
		t.Fatal(err)
	}
	toEnd(t, send(t, c, task.ID, "slow 3000"), func(event client.Event, _ *client.Transcript) {
		if !isPart(event, protocol.PartTextStart) {
			return
		}
		liar.lies.Store(1)
		_, err := c.Interrupt(t.Context(), task.ID)
		if protocol.CodeOf(err) != protocol.CodeBadGateway || !strings.Contains(err.Error(), "Something other than the agent host answered") {
			t.Errorf("an interrupt that a gateway answered: %v", err)
		}
		if _, err := c.Interrupt(t.Context(), task.ID); err != nil {
			t.Errorf("the interrupt after it: %v", err)
		}
	})
	settle(t, c, task.ID)
	liar.lies.Store(1)
	if _, err := c.DeleteTask(t.Context(), task.ID, ""); err != nil {
		t.Error(err)
	}
	if n := liar.lied.Load(); n != 2 {
		t.Errorf("the gateway lied %d times, want 2", n)
	}
	if status := statusOf(t, s.host.url+"/session/"+task.ID+"/events"); status != http.StatusUnauthorized {
		t.Errorf("without a password: %d", status)
	}
	eventually(t, "the host ends the session of the deleted task", func() bool {
		return !strings.Contains(s.sessionsOfHost(), task.ID)
	})
}

// sessionsOfHost is the host's GET /status.
func (s *stack) sessionsOfHost() string {
	s.t.Helper()
	var body json.RawMessage
	if code := s.askHost(http.MethodGet, "/status", &body); code != http.StatusOK {
		s.t.Fatalf("GET /status: %d", code)
	}
	return string(body)
}
