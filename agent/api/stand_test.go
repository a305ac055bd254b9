package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"bellhop/agent"
	"bellhop/protocol"
)

// stand is a running server.
type stand struct {
	t      *testing.T
	server *Server
	url    string
	web    *http.Client
	clock  atomic.Int64 // the server's time in ns after the epoch
	closed atomic.Int64 // calls of Opened.Close
}

func start(t *testing.T, config Config) *stand {
	t.Helper()
	s := &stand{t: t}
	s.clock.Store(int64(1_700_000_000) * int64(time.Second))
	if config.Open == nil {
		config.Open = func(_ context.Context, o Opening) (Opened, error) {
			if o.Model == "unknown" {
				return Opened{}, protocol.Errorf(protocol.CodeInvalid, "Unknown model")
			}
			return Opened{
				Options: agent.Options{Model: o.Model, PieceDelay: time.Millisecond},
				Close:   func() { s.closed.Add(1) },
			}, nil
		}
	}
	config.Now = func() time.Time { return time.Unix(0, s.clock.Load()).UTC() }
	s.server = New(config)
	web := httptest.NewServer(s.server.Handler())
	transport := &http.Transport{}
	s.url, s.web = web.URL, &http.Client{Transport: transport}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.server.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		transport.CloseIdleConnections()
		web.Close()
	})
	return s
}

// call makes a request and returns status and body.
func (s *stand) call(method, path, bearer, body string) (int, string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if bearer != "" {
		r.Header.Set("Authorization", "Bearer "+bearer)
	}
	answer, err := s.web.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer.StatusCode, string(raw)
}

func (s *stand) open(owner, body string) createResponse {
	s.t.Helper()
	status, raw := s.call("POST", "/sessions", owner, body)
	var r createResponse
	if err := json.Unmarshal([]byte(raw), &r); err != nil || status != http.StatusCreated {
		s.t.Fatalf("%d %s", status, raw)
	}
	return r
}

// client is one WebSocket.
type client struct {
	t    *testing.T
	conn *websocket.Conn
	seen []protocol.Line
}

func (s *stand) dial(session createResponse, query string) *client {
	s.t.Helper()
	conn, _, err := websocket.Dial(s.t.Context(), s.url+"/ws/"+session.SessionID+"?token="+session.Token+query,
		&websocket.DialOptions{HTTPClient: s.web})
	if err != nil {
		s.t.Fatal(err)
	}
	conn.SetReadLimit(-1)
	s.t.Cleanup(func() { _ = conn.CloseNow() })
	c := &client{t: s.t, conn: conn}
	if line, err := c.next(); err != nil || line.Type != protocol.LineHello || line.SessionID != session.SessionID ||
		len(line.Tools) == 0 {
		s.t.Fatalf("the first line is %+v, %v", line, err)
	}
	c.seen = nil
	return c
}

// owner returns the server's own token.
func (s *stand) owner() string { return s.server.Token() }

func (c *client) send(line string) {
	c.t.Helper()
	if err := c.conn.Write(c.t.Context(), websocket.MessageText, []byte(line)); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) input(text string) {
	c.t.Helper()
	raw, _ := json.Marshal(map[string]string{"type": "input", "text": text})
	c.send(string(raw))
}

// next returns the next line, or the error.
func (c *client) next() (protocol.Line, error) {
	kind, raw, err := c.conn.Read(c.t.Context())
	if err != nil {
		return protocol.Line{}, err
	}
	var line protocol.Line
	if err := json.Unmarshal(raw, &line); err != nil || kind != websocket.MessageText {
		c.t.Fatalf("not a line: %s", raw)
	}
	if len(line.Timestamp) == 0 && line.Type != protocol.LineChunk { // chunks that were joined have none
		c.t.Errorf("no timestamp: %s", raw)
	}
	c.seen = append(c.seen, line)
	return line, nil
}

// until reads up to a line of the type; for a state line, waiting_for_input.
func (c *client) until(kind string) protocol.Line {
	c.t.Helper()
	for {
		line, err := c.next()
		if err != nil {
			c.t.Fatalf("ended without %s: %v", kind, err)
		}
		if line.Type == kind && (kind != protocol.LineState || line.State == protocol.StateWaitingForInput) {
			return line
		}
	}
}

// ending reads to the end and returns its close code.
func (c *client) ending() websocket.StatusCode {
	c.t.Helper()
	for {
		if _, err := c.next(); err != nil {
			return websocket.CloseStatus(err)
		}
	}
}

func (c *client) leave() { _ = c.conn.Close(websocket.StatusNormalClosure, "") }

// answers the question with a confirmation.
func (c *client) answer(id, text string) {
	c.t.Helper()
	c.send(fmt.Sprintf(`{"type":"answer","request_id":%q,"text":%q}`, id, text))
}

func (c *client) confirm(id string, value bool) {
	c.t.Helper()
	c.send(fmt.Sprintf(`{"type":"confirmation","request_id":%q,"value":%v}`, id, value))
}

// awaitClients blocks until a session has that many clients.
func (s *stand) awaitClients(id string, want int) {
	s.t.Helper()
	for s.t.Context().Err() == nil {
		list, err := s.server.list(s.t.Context(), &listRequest{})
		if err != nil {
			s.t.Fatal(err)
		}
		for _, l := range list.Sessions {
			if l.SessionID == id && l.Clients == want {
				return
			}
		}
		runtime.Gosched()
	}
}
