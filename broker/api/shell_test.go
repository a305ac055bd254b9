package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"bellhop/broker"
	"bellhop/broker/hosts"
	"bellhop/protocol"
)

// shellHost is a host of terminals that repeats its input. Its terminals end when a client asks for it.
type shellHost struct {
	*httptest.Server

	named string // the URL of the page's own connection

	mu      sync.Mutex
	origins []string
	conns   []*websocket.Conn
	ended   chan string // requests to end a terminal
}

func newShellHost(t *testing.T) *shellHost {
	t.Helper()
	h := &shellHost{ended: make(chan string, 8)}
	h.Server = httptest.NewServer(http.HandlerFunc(h.serve))
	t.Cleanup(h.leave)
	return h
}

// leave stops the host at once.
func (h *shellHost) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, conn := range h.conns {
		_ = conn.CloseNow()
	}
	h.Close()
}

func (h *shellHost) serve(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	h.origins = append(h.origins, r.Header.Get(protocol.HeaderTerminalOrigin))
	w.Header().Set(protocol.HeaderTerminalURL, h.named)
	h.mu.Unlock()
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{protocol.TerminalProtocol}})
	if err != nil {
		return
	}
	h.mu.Lock()
	h.conns = append(h.conns, conn)
	h.mu.Unlock()
	defer func() { _ = conn.CloseNow() }()
	for {
		kind, message, err := conn.Read(r.Context())
		if err != nil {
			return
		}
		if kind == websocket.MessageText && strings.Contains(string(message), `"end"`) {
			h.ended <- string(message)
		}
		if conn.Write(r.Context(), kind, message) != nil {
			return
		}
	}
}

// shellSite is a broker with a host of terminals, and a task of ada that the agent has worked on.
type shellSite struct {
	*site

	far    *shellHost
	url    string
	task   string
	ada    []string      // the header of ada's sign-in
	served chan struct{} // gets an element when a request was served
}

func newShellSite(t *testing.T, rights broker.ShellRights) *shellSite {
	t.Helper()
	far := newShellHost(t)
	s := &shellSite{site: newSite(t, customAgentURL(far.URL)), far: far}
	s.api.Shells.Rights, s.api.ShellCheck = rights, 10*time.Millisecond
	s.api.Shells.Link = hosts.New(hosts.Options{HTTP: http.DefaultClient, GuardedStreams: http.DefaultClient})
	s.task, s.ada = s.endedTask(), s.signedIn(s.site.ada)
	s.served = make(chan struct{}, 64)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.echo.ServeHTTP(w, r)
		s.served <- struct{}{}
	}))
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// dial connects a page. status is 101 for an accepted connection.
func (s *shellSite) dial(task string, header ...string) (page *websocket.Conn, status int) {
	s.t.Helper()
	fields := http.Header{"Origin": {s.url}}
	for i := 0; i+1 < len(header); i += 2 {
		fields.Set(header[i], header[i+1])
	}
	page, resp, err := websocket.Dial(s.t.Context(), s.url+"/api/tasks/"+task+"/shell", &websocket.DialOptions{
		HTTPHeader: fields, Subprotocols: []string{protocol.TerminalProtocol},
	})
	if resp == nil {
		s.t.Fatal(err)
	}
	if err != nil {
		_ = resp.Body.Close()
		return nil, resp.StatusCode
	}
	s.t.Cleanup(func() { _ = page.CloseNow() })
	return page, resp.StatusCode
}

// open opens a terminal of ada.
func (s *shellSite) open() *websocket.Conn {
	s.t.Helper()
	page, status := s.dial(s.task, s.ada...)
	if page == nil {
		s.t.Fatalf("open: %d", status)
	}
	return page
}

func (s *shellSite) repeats(page *websocket.Conn, kind websocket.MessageType, text string) {
	s.t.Helper()
	must(s.t, page.Write(s.t.Context(), kind, []byte(text)))
	if gotKind, got, err := page.Read(s.t.Context()); err != nil || gotKind != kind || string(got) != text {
		s.t.Fatalf("%v %q %v", gotKind, got, err)
	}
}

// refusal reads why there is no terminal.
func (s *shellSite) refusal(page *websocket.Conn) *protocol.ErrorBody {
	s.t.Helper()
	_, raw, err := page.Read(s.t.Context())
	must(s.t, err)
	var notice protocol.TerminalNotice
	must(s.t, json.Unmarshal(raw, &notice))
	if notice.Error == nil {
		s.t.Fatalf("no error: %s", raw)
	}
	return notice.Error
}

// closedWith reads to the end of a page's connection.
func closedWith(t *testing.T, page *websocket.Conn) websocket.StatusCode {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		if _, _, err := page.Read(ctx); err != nil {
			if ctx.Err() != nil {
				t.Fatal("the connection is open")
			}
			return websocket.CloseStatus(err)
		}
	}
}

// acts are the acts about the task's terminals, oldest first.
func (s *shellSite) acts() []string {
	s.t.Helper()
	var acts []string
	for _, entry := range s.audit("?subject=" + s.task).Entries {
		if strings.HasPrefix(string(entry.Action), "task.terminal-") {
			acts = append(acts, string(entry.Action)+" by "+entry.Actor.ID)
		}
	}
	slices.Reverse(acts)
	return acts
}

func TestUsersOpenTerminalsIfTheyMay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rights                      broker.ShellRights
		ada, admin                  int
		adasWorkspace, adminsOffers bool
	}{
		{"", 403, 403, false, false},
		{broker.ShellsOff, 403, 403, false, false},
		{broker.ShellsForAdmins, 403, 404, false, true}, // 404: the task is ada's
		{broker.ShellsForAll, 101, 404, true, true},
	} {
		t.Run("for "+string(c.rights), func(t *testing.T) {
			s := newShellSite(t, c.rights)
			if _, status := s.dial(s.task, s.ada...); status != c.ada {
				t.Errorf("ada: %d", status)
			}
			if _, status := s.dial(s.task, s.signedIn(s.admin)...); status != c.admin {
				t.Errorf("an administrator: %d", status)
			}
			if offered := s.api.Shells.May(broker.Caller{}); offered != c.adasWorkspace {
				t.Errorf("offered to users: %v", offered)
			}
			if offered := s.api.Shells.May(broker.Caller{Admin: true}); offered != c.adminsOffers {
				t.Errorf("offered to administrators: %v", offered)
			}
		})
	}
}

func TestOnlyPagesOfTheBrokerOpenTerminals(t *testing.T) {
	t.Parallel()
	s := newShellSite(t, broker.ShellsForAll)
	for name, c := range map[string]struct {
		header []string
		status int
	}{
		"a caller without credentials": {nil, 401},
		"a token":                      {[]string{"Authorization", "Bearer " + s.site.ada.token}, 403},
		"another user":                 {s.signedIn(s.bob), 404},
		"a page of another site":       {append([]string{"Origin", "http://evil.example"}, s.ada...), 403},
		"a page without an origin":     {append([]string{"Origin", "null"}, s.ada...), 403},
		"a page of another port":       {append([]string{"Origin", "http://127.0.0.1:1"}, s.ada...), 403},
		"a page at the public name":    {append([]string{"Origin", publicURL}, s.ada...), 101},
	} {
		if _, status := s.dial(s.task, c.header...); status != c.status {
			t.Errorf("%s: %d, want %d", name, status, c.status)
		}
	}
	want(t, s.as(nil, "GET", "/api/tasks/"+s.task+"/shell", "", s.ada...), 400,
		`{"error":"This route speaks WebSocket","code":"invalid"}`)
}

func TestATerminalIsPassedOnAndAudited(t *testing.T) {
	t.Parallel()
	s := newShellSite(t, broker.ShellsForAll)
	page := s.open()
	s.repeats(page, websocket.MessageText, `{"size":{"columns":80,"rows":24}}`)
	s.repeats(page, websocket.MessageBinary, "größe\x00\xff")
	if got := s.acts(); !slices.Equal(got, []string{"task.terminal-opened by " + s.site.ada.id}) {
		t.Errorf("%q", got)
	}
	must(t, page.Close(websocket.StatusNormalClosure, ""))
	<-s.served
	if got := s.acts(); !slices.Equal(got, []string{
		"task.terminal-opened by " + s.site.ada.id, "task.terminal-closed by " + s.site.ada.id,
	}) {
		t.Errorf("%q", got)
	}
	if s.far.origins[0] != s.url {
		t.Errorf("the host got the origin %q", s.far.origins[0])
	}
}

func TestAPageGetsTheURLOfAHostThatItMayConnectTo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ named, want string }{
		"the host's own":       {"HOST/session/s/shell/direct", "HOST/session/s/shell/direct"},
		"of another machine":   {"http://evil.example/session/s/shell/direct", ""},
		"of no web server":     {"javascript:alert(1)", ""},
		"none, of a host that": {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShellSite(t, broker.ShellsForAll)
			s.far.named = strings.Replace(c.named, "HOST", s.far.URL, 1)
			page := s.open()
			if c.want != "" {
				_, raw, err := page.Read(t.Context())
				must(t, err)
				at := strings.Replace(strings.Replace(c.want, "HOST", s.far.URL, 1), "http", "ws", 1)
				if string(raw) != `{"url":"`+at+`"}` {
					t.Errorf("%s", raw)
				}
				origins, err := s.api.Sessions.StreamOrigins(t.Context(), s.site.ada.id)
				must(t, err)
				if !slices.Contains(origins, s.far.URL) {
					t.Errorf("the page may not connect to the host: %q", origins)
				}
			}
			s.repeats(page, websocket.MessageText, `{}`)
		})
	}
}

func TestATerminalEndsWhenItsUserMayHaveItNoLonger(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(s *shellSite){
		"signed out": func(s *shellSite) { s.as(nil, "POST", "/api/auth/logout", "", s.ada...) },
		"the task is archived": func(s *shellSite) {
			want200(s.t, s.as(s.site.ada, "PATCH", "/api/tasks/"+s.task, `{"archived":true}`))
		},
		"the task is deleted": func(s *shellSite) {
			want200(s.t, s.as(s.site.ada, "DELETE", "/api/tasks/"+s.task, ""))
		},
		"the user is disabled": func(s *shellSite) {
			want200(s.t, s.as(nil, "PATCH", "/api/users/"+s.site.ada.id, `{"disabled":true}`, s.signedIn(s.admin)...))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShellSite(t, broker.ShellsForAll)
			page := s.open()
			s.repeats(page, websocket.MessageBinary, "x")
			end(s)
			if code := closedWith(t, page); code != websocket.StatusPolicyViolation {
				t.Errorf("closed with %d", code)
			}
			if request := <-s.far.ended; request != `{"end":true}` {
				t.Errorf("the host got %s", request)
			}
		})
	}
}

func want200(t *testing.T, rec *httptest.ResponseRecorder) {
	t.Helper()
	if rec.Code/100 != 2 {
		t.Fatalf("%d %s", rec.Code, rec.Body)
	}
}

func TestAPageGetsToKnowWhyThereIsNoTerminal(t *testing.T) {
	t.Parallel()
	s := newShellSite(t, broker.ShellsForAll)
	early := s.newTask("")
	page, _ := s.dial(early, s.ada...)
	if got := s.refusal(page); got.Code != protocol.CodeNoWorkspace {
		t.Errorf("before the first turn: %+v", got)
	}
	for range 8 {
		s.open()
	}
	if got := s.refusal(s.open()); got.Code != protocol.CodeTooManyRequests {
		t.Errorf("the ninth terminal: %+v", got)
	}
	if got := len(s.acts()); got != 8 {
		t.Errorf("%d entries", got)
	}

	gone := newShellSite(t, broker.ShellsForAll)
	open := gone.open()
	gone.repeats(open, websocket.MessageBinary, "x")
	gone.far.leave()
	if code := closedWith(t, open); code != websocket.StatusNormalClosure {
		t.Errorf("when the host leaves: %d", code)
	}
	if got := gone.refusal(gone.open()); got.Code != protocol.CodeBadGateway {
		t.Errorf("a host that is gone: %+v", got)
	}

	archived := newShellSite(t, broker.ShellsForAll)
	want200(t, archived.as(archived.site.ada, "PATCH", "/api/tasks/"+archived.task, `{"archived":true}`))
	if got := archived.refusal(archived.open()); got.Code != protocol.CodeConflict {
		t.Errorf("an archived task: %+v", got)
	}
}
