package e2e

import (
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

// liar is a gateway in front of a host. While it lies, it answers changes of a session with a
// success of its own.
type liar struct {
	url  string
	lies atomic.Int32 // so many requests
	lied atomic.Int32
}

func newLiar(t *testing.T, host string) *liar {
	t.Helper()
	to, err := url.Parse(host)
	if err != nil {
		t.Fatal(err)
	}
	forward := httputil.NewSingleHostReverseProxy(to)
	forward.Transport = transport
	l := &liar{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		changes := r.Method != http.MethodGet && strings.HasPrefix(r.URL.Path, "/session/")
		if changes && l.lies.Add(-1) >= 0 {
			l.lied.Add(1)
			_, _ = io.WriteString(w, `{"success":true}`)
			return
		}
		r.Host = to.Host
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	l.url = server.URL
	return l
}

// A gateway's 200 stops no agent, answers no question and ends no session: the user gets an
// error, and the session's deletion is repeated.
func TestAGatewaysSuccessIsNoHosts(t *testing.T) {
	s := newStack(t, sqlite)
	gateway := newLiar(t, s.host.url)
	host := strings.TrimSpace(s.administer("hosts", "add", "--name", "gated", "--url", gateway.url))
	c := s.user()
	task, err := c.CreateTask(t.Context(), &protocol.CreateTaskRequest{Title: "gated", HostID: host})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := c.Send(t.Context(), &protocol.CheckInRequest{TaskID: task.ID, Message: "slow 3000"})
	if err != nil {
		t.Fatal(err)
	}
	transcript := &client.Transcript{}
	for event, err := range stream.Events(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		transcript.Apply(event)
		if event.Part == nil || event.Part.Type != protocol.PartTextStart {
			continue
		}
		gateway.lies.Store(1)
		err := c.Interrupt(t.Context(), task.ID)
		if protocol.CodeOf(err) != protocol.CodeBadGateway || !strings.Contains(err.Error(), "did not confirm") {
			t.Errorf("an interrupt that a gateway answered: %v", err)
		}
		if err := c.Interrupt(t.Context(), task.ID); err != nil {
			t.Errorf("the interrupt after it: %v", err)
		}
	}
	settle(t, c, task.ID)
	gateway.lies.Store(1)
	if err := c.DeleteTask(t.Context(), task.ID); err != nil {
		t.Error(err)
	}
	if n := gateway.lied.Load(); n != 2 {
		t.Errorf("the gateway lied %d times, want 2", n)
	}
	if status := statusOf(t, s.host.url+"/session/"+task.ID+"/events"); status != http.StatusUnauthorized {
		t.Errorf("without a password: %d", status)
	}
	if left := s.sessionsOfHost(); strings.Contains(left, task.ID) {
		t.Errorf("the host still has the session: %s", left)
	}
}

// sessionsOfHost is the host's GET /status.
func (s *stack) sessionsOfHost() string {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.host.url+"/status", http.NoBody)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+hostPassword)
	resp, err := transport.RoundTrip(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		s.t.Fatalf("GET /status: %d, %v", resp.StatusCode, err)
	}
	return string(body)
}
