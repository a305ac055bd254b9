package client_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"bellhop/client"
	"bellhop/protocol"
)

// reply is how the host handles one request for the stream.
type reply func(w http.ResponseWriter, r *http.Request)

// stage is a scripted broker and host.
type stage struct {
	t      *testing.T
	broker *httptest.Server
	host   *httptest.Server
	done   chan struct{} // releases handlers that hang

	mu      sync.Mutex
	script  []reply  // one per request for the stream
	asked   []string // requests to the host: method, credentials, Last-Event-ID, body
	checked []string // requests to the broker: path and messageId
	cursor  *string  // streamCursor in the response to attach
	away    int      // how many times attach answers 503
	basic   bool     // the host announces no capabilities
	ends    []string // reports of the end of a turn
}

func (s *stage) capabilities() []string {
	if s.basic {
		return nil
	}
	return []string{protocol.CapabilityEvents}
}

func newStage(t *testing.T, script ...reply) *stage {
	t.Helper()
	s := &stage{t: t, script: script, done: make(chan struct{})}
	s.host = httptest.NewServer(http.HandlerFunc(s.stream))
	broker := http.NewServeMux()
	broker.HandleFunc("POST /api/agent", s.checkIn)
	broker.HandleFunc("POST /api/agent/attach", s.attach)
	broker.HandleFunc("POST /api/agent/finish", func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.ends = append(s.ends, string(body))
	})
	s.broker = httptest.NewServer(broker)
	t.Cleanup(func() {
		close(s.done)
		s.broker.Close()
		s.host.Close()
	})
	return s
}

func (s *stage) client() *client.Client {
	c := client.New(s.broker.URL, client.Options{
		Token: "bhp_x", MinBackoff: time.Millisecond, MaxBackoff: 2 * time.Millisecond, Attempts: 5,
	})
	s.t.Cleanup(c.CloseIdleConnections)
	return c
}

func (s *stage) checkIn(w http.ResponseWriter, r *http.Request) {
	var req protocol.CheckInRequest
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		s.t.Error(err)
	}
	n := s.note("check-in " + req.MessageID)
	_ = json.NewEncoder(w).Encode(protocol.CheckInResponse{
		Success: true, SessionID: req.TaskID, StreamToken: fmt.Sprint("token-canary-", n),
		StreamURL: s.host.URL + "/stream/" + req.TaskID, MessageID: req.MessageID, TurnID: "turn",
		Capabilities: s.capabilities(),
	})
}

func (s *stage) attach(w http.ResponseWriter, _ *http.Request) {
	n := s.note("attach")
	if n <= s.away+1 && s.away > 0 {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	_ = json.NewEncoder(w).Encode(protocol.AttachResponse{
		Success: true, SessionID: "t", StreamToken: fmt.Sprint("token-canary-", n),
		StreamURL: s.host.URL + "/stream/t", StreamCursor: s.cursor, Capabilities: s.capabilities(),
	})
}

func (s *stage) note(what string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.checked = append(s.checked, what)
	return len(s.checked)
}

func (s *stage) stream(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.t.Error(err)
	}
	if r.Header.Get("Last-Event-ID") != "" && r.Header.Get("Accept") == "text/event-stream" {
		s.t.Error("a host would not answer the end with 204")
	}
	s.mu.Lock()
	n := len(s.asked)
	s.asked = append(s.asked, strings.TrimSpace(fmt.Sprintf("%s %s %s %s %s",
		r.Method, r.URL, r.Header.Get("Authorization"), r.Header.Get("Last-Event-ID"), body)))
	var act reply
	if n < len(s.script) {
		act = s.script[n]
	}
	s.mu.Unlock()
	if act == nil {
		s.t.Errorf("request %d is not in the script", n+1)
		w.WriteHeader(http.StatusTeapot)
		return
	}
	act(w, r)
}

// sending answers with frames ("3-1 {…}", or "{…}" without an id) and then runs end.
func sending(end reply, frames ...string) reply {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		for _, frame := range frames {
			if id, data, ok := strings.Cut(frame, " {"); ok && !strings.HasPrefix(frame, "{") {
				_, _ = fmt.Fprintf(w, "id: %s\nevent: message\ndata: {%s\n\n", id, data)
			} else {
				_, _ = fmt.Fprintf(w, "data: %s\n\n", frame)
			}
		}
		_ = http.NewResponseController(w).Flush()
		end(w, r)
	}
}

func closing(http.ResponseWriter, *http.Request)  {}
func breaking(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

func (s *stage) hanging(_ http.ResponseWriter, r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-s.done:
	}
}

func refusing(status int, body string) reply {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}
