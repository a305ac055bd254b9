package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"bellhop/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func dirs(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(os.TempDir(), "bellhop-agent-*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestASessionIsCreatedUsedAndDeleted(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s := start(t, Config{})
	session := s.open("", `{"instructions":"be brief"}`)
	c := s.dial(session, "")
	c.input("write a.txt: hello then read a.txt")
	question := c.until(protocol.LineConfirm)
	if got := dirs(t); len(got) != 1 {
		t.Fatalf("working directories: %v", got)
	}
	c.confirm(question.RequestID, true)
	if line := c.until(protocol.LineState); line.Reason != protocol.WaitingDone || line.SessionID != session.SessionID {
		t.Errorf("ended with %+v", line)
	}
	if content, err := os.ReadFile(filepath.Join(dirs(t)[0], "a.txt")); string(content) != "hello" {
		t.Errorf("wrote %q, %v", content, err)
	}
	_, list := s.call("GET", "/sessions", s.owner(), "")
	want := fmt.Sprintf(`{"sessions":[{"session_id":%q,"model":"demo","state":"idle","clients":1,"created_at":"2023-11-14T22:13:20Z","expires_at":null}]}`, session.SessionID)
	if list != want {
		t.Errorf("got  %s\nwant %s", list, want)
	}
	status, raw := s.call("GET", "/sessions/"+session.SessionID+"/history", session.Token, "")
	var history historyResponse
	if err := json.Unmarshal([]byte(raw), &history); err != nil || status != http.StatusOK ||
		history.SessionID != session.SessionID {
		t.Fatalf("%d %s", status, raw)
	}
	kinds := []string{}
	for _, l := range history.Lines {
		var line protocol.Line
		if err := json.Unmarshal(l, &line); err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, line.Type)
	}
	if got := strings.Join(kinds,
		" "); got != "input state message tool_start confirm confirmation resolved state tool_message state message "+
		"tool_start state tool_message state message state" {
		t.Errorf("history: %s", got)
	}
	if status, _ := s.call("DELETE", "/sessions/"+session.SessionID, session.Token,
		""); status != http.StatusUnauthorized {
		t.Errorf("DELETE with the session's token answers %d", status)
	}
	if status, _ := s.call("DELETE", "/sessions/"+session.SessionID, s.owner(), ""); status != http.StatusNoContent {
		t.Errorf("DELETE answers %d", status)
	}
	if code := c.ending(); code != websocket.StatusNormalClosure {
		t.Errorf("the client is closed with %d", code)
	}
	if got := dirs(t); len(got) != 0 || s.closed.Load() != 1 {
		t.Errorf("left behind: %v; closed %d times", got, s.closed.Load())
	}
	if status, _ := s.call("DELETE", "/sessions/"+session.SessionID, s.owner(), ""); status != http.StatusNotFound {
		t.Errorf("a second DELETE answers %d", status)
	}
}

func TestWorkspacesStayForTheirRetention(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	if err := os.Mkdir(filepath.Join(parent, "others"), 0o700); err != nil {
		t.Fatal(err)
	}
	config := Config{Workspaces: parent, Retention: 24 * time.Hour}
	s := start(t, config)
	written, empty, crashed := s.open("", "").SessionID, s.open("", "").SessionID, s.open("", "").SessionID
	for _, id := range []string{written, crashed} {
		if err := os.WriteFile(filepath.Join(parent, id, "a.txt"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{written, empty} {
		s.call("DELETE", "/sessions/"+id, s.owner(), "")
	}
	next := start(t, config)
	for _, c := range []struct {
		rule  string
		after time.Duration
		prune *Server
		want  []string
	}{
		{"an empty one goes with its session", 0, s.server, []string{written, crashed, "others"}},
		{"one with files stays", 23 * time.Hour, s.server, []string{written, crashed, "others"}},
		{"an ended one goes, an open one stays", 2 * time.Hour, s.server, []string{crashed, "others"}},
		{"one that no server has open stays", 23 * time.Hour, next.server, []string{crashed, "others"}},
		{"it goes, too", 2 * time.Hour, next.server, []string{"others"}},
	} {
		s.clock.Add(int64(c.after))
		next.clock.Store(s.clock.Load())
		c.prune.pruneWorkspaces()
		entries, err := os.ReadDir(parent)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, entry := range entries {
			if entry.Name() != marksDir {
				got = append(got, entry.Name())
			}
		}
		slices.Sort(c.want)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: there are %q, want %q", c.rule, got, c.want)
		}
	}
}

func TestAClockInTheFutureRemovesNoWorkspace(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	held := now
	s := New(Config{
		Workspaces: t.TempDir(), Retention: 24 * time.Hour,
		Now: func() time.Time { return now }, Held: func() time.Time { return held },
	})
	dir, err := s.makeWorkspace("session")
	if err != nil {
		t.Fatal(err)
	}
	now = now.AddDate(2, 0, 0)
	s.pruneWorkspaces()
	if _, err := os.Stat(dir); err != nil {
		t.Error(err)
	}
	held = now
	s.pruneWorkspaces()
	if _, err := os.Stat(dir); err == nil {
		t.Error("the directory is still there")
	}
}

func TestAQuestionWaitsForTheNextClient(t *testing.T) {
	t.Parallel()
	s := start(t, Config{})
	session := s.open("", "")
	first := s.dial(session, "")
	first.input("write a.txt: hello")
	asked := first.until(protocol.LineConfirm)
	first.leave()
	second := s.dial(session, "")
	again := second.until(protocol.LineConfirm)
	if again.RequestID != asked.RequestID || again.Prompt != asked.Prompt {
		t.Errorf("asked again %+v", again)
	}
	var kinds []string
	for _, line := range second.seen {
		kinds = append(kinds, line.Type)
	}
	if got := strings.Join(kinds, " "); got != "input state message tool_start confirm" {
		t.Errorf("shown: %s", got)
	}
	second.confirm(again.RequestID, true)
	second.until(protocol.LineState)
	third := s.dial(session, "&replay=all")
	if line := third.until(protocol.LineState); line.Reason != protocol.WaitingDone {
		t.Errorf("got %+v", line)
	}
	for _, line := range third.seen {
		if line.Type == protocol.LineConfirm {
			t.Errorf("an answered question is shown: %+v", line)
		}
	}
}

func TestEveryClientSeesTheTurnAndAnyMayAnswer(t *testing.T) {
	t.Parallel()
	s := start(t, Config{})
	session := s.open("", "")
	clients := make([]*client, 8)
	for i := range clients {
		clients[i] = s.dial(session, "")
	}
	clients[0].input("write a.txt: x then slow 5")
	clients[7].confirm(clients[7].until(protocol.LineConfirm).RequestID, true)
	var want string
	for i, c := range clients {
		c.until(protocol.LineState)
		seen := types(c.seen)
		if i > 0 && seen[0] == protocol.LineInput { // the sender does not get its own input
			seen = seen[1:]
		} else if i > 0 {
			t.Errorf("client %d did not see the input", i)
		}
		if got := fmt.Sprintf("%+v", seen); i == 0 {
			want = got
		} else if got != want {
			t.Errorf("client %d saw %s, the first %s", i, got, want)
		}
	}
	clients[1].send(`{"type":"nonsense"}`)
	if line := clients[1].until(protocol.LineStatus); line.Level != "error" || line.SessionID != session.SessionID {
		t.Errorf("got %+v", line)
	}
	s.server.Notice("info", "maintenance at noon")
	for i, c := range clients {
		if line, err := c.next(); err != nil || line.Message != "maintenance at noon" || line.SessionID != "" {
			t.Errorf("client %d: %+v, %v", i, line, err)
		}
	}
}

func types(lines []protocol.Line) []string {
	var list []string
	for _, l := range lines {
		list = append(list, l.Type)
	}
	return list
}

func TestCallersReachOnlyTheirOwn(t *testing.T) {
	t.Parallel()
	s := start(t, Config{Token: "owner"})
	a, b := s.open("owner", ""), s.open("owner", "")
	for name, c := range map[string]struct {
		method, path, bearer string
		want                 int
	}{
		"making needs the server's token":           {"POST", "/sessions", "", 401},
		"a session's token makes none":              {"POST", "/sessions", a.Token, 401},
		"listing needs the server's token":          {"GET", "/sessions", a.Token, 401},
		"the owner lists":                           {"GET", "/sessions", "owner", 200},
		"the owner reads":                           {"GET", "/sessions/" + a.SessionID + "/history", "owner", 200},
		"a session's token reads it":                {"GET", "/sessions/" + a.SessionID + "/history", a.Token, 200},
		"another's token reads nothing":             {"GET", "/sessions/" + a.SessionID + "/history", b.Token, 401},
		"without a token nothing is read":           {"GET", "/sessions/" + a.SessionID + "/history", "", 401},
		"another's token deletes nothing":           {"DELETE", "/sessions/" + a.SessionID, b.Token, 401},
		"an unknown session looks like a known one": {"GET", "/sessions/x/history", b.Token, 401},
		"the owner gets not found":                  {"GET", "/sessions/x/history", "owner", 404},
		"a WebSocket without token":                 {"GET", "/ws/" + a.SessionID, "", 401},
		"with another's token":                      {"GET", "/ws/" + a.SessionID + "?token=" + b.Token, "", 401},
		"with the server's token":                   {"GET", "/ws/" + a.SessionID + "?token=owner", "", 401},
		"with two tokens": {
			"GET", "/ws/" + a.SessionID + "?token=" + a.Token + "&token=x", "", 400,
		},
		"a WebSocket route without upgrade": {"GET", "/ws/" + a.SessionID + "?token=" + a.Token, "", 426},
		"an unknown replay":                 {"GET", "/ws/" + a.SessionID + "?replay=some&token=" + a.Token, "", 400},
		"an unknown route":                  {"GET", "/other", "owner", 404},
		"a wrong method":                    {"PUT", "/sessions", "owner", 405},
	} {
		t.Run(name, func(t *testing.T) {
			if status, body := s.call(c.method, c.path, c.bearer, ""); status != c.want {
				t.Errorf("%d %s, want %d", status, body, c.want)
			}
		})
	}
}

func TestWithoutAServersTokenAWrongOneIsStillRefused(t *testing.T) {
	t.Parallel()
	s := start(t, Config{})
	a, b := s.open("", ""), s.open("", "")
	if status, _ := s.call("GET", "/sessions/"+a.SessionID+"/history", b.Token, ""); status != http.StatusUnauthorized {
		t.Errorf("another session's token: %d", status)
	}
	if status, body := s.call("POST", "/sessions", "", `{"model":"unknown"}`); status != http.StatusBadRequest ||
		body != `{"error":"Unknown model","code":"invalid"}` {
		t.Errorf("%d %s", status, body)
	}
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/sessions", nil)
	r.Header.Set("Origin", "https://evil.example")
	answer, err := s.web.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusForbidden {
		t.Errorf("a page of elsewhere: %d", answer.StatusCode)
	}
}

// Without a token everyone on the machine may open a session, and reaches nothing else.
func TestWithoutATokenOnlyOpeningIsFree(t *testing.T) {
	t.Parallel()
	s := start(t, Config{})
	a, b := s.open("", ""), s.open("", "")
	for name, c := range map[string]struct {
		method, path, bearer string
		want                 int
	}{
		"a listing without a token":                 {"GET", "/sessions", "", 401},
		"a listing with a session's token":          {"GET", "/sessions", a.Token, 401},
		"a listing with the printed token":          {"GET", "/sessions", s.owner(), 200},
		"a history without a token":                 {"GET", "/sessions/" + a.SessionID + "/history", "", 401},
		"a history with another's token":            {"GET", "/sessions/" + a.SessionID + "/history", b.Token, 401},
		"a history with the session's":              {"GET", "/sessions/" + a.SessionID + "/history", a.Token, 200},
		"a WebSocket without a token":               {"GET", "/ws/" + a.SessionID, "", 401},
		"a WebSocket with the printed one":          {"GET", "/ws/" + a.SessionID, s.owner(), 401},
		"an end without a token":                    {"DELETE", "/sessions/" + a.SessionID, "", 401},
		"an end with the session's token":           {"DELETE", "/sessions/" + a.SessionID, a.Token, 401},
		"opening with a wrong token":                {"POST", "/sessions", "wrong", 401},
		"opening with the printed token":            {"POST", "/sessions", s.owner(), 201},
		"an end of an unknown session":              {"DELETE", "/sessions/none", s.owner(), 404},
		"the history of a session that is not open": {"GET", "/sessions/none/history", s.owner(), 404},
	} {
		if status, body := s.call(c.method, c.path, c.bearer, ""); status != c.want {
			t.Errorf("%s: %d %s, want %d", name, status, body, c.want)
		}
	}
}

func TestIdleSessionsEndWithTheirFiles(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s := start(t, Config{IdleTimeout: time.Minute})
	watched, left, never := s.open("", ""), s.open("", ""), s.open("", "")
	keeper, leaver := s.dial(watched, ""), s.dial(left, "")
	leaver.input("ask Is a reader there?")
	leaver.answer(leaver.until(protocol.LineAsk).RequestID, "no")
	leaver.until(protocol.LineState)
	s.clock.Add(int64(50 * time.Second))
	leaver.leave()
	s.awaitClients(left.SessionID, 0)
	s.clock.Add(int64(20 * time.Second))
	if next := s.server.endIdle(); next != 40*time.Second {
		t.Errorf("looks again after %s", next)
	}
	if got := s.ids(); got != watched.SessionID+" "+left.SessionID {
		t.Errorf("there are %s; never watched was %s", got, never.SessionID)
	}
	s.clock.Add(int64(40 * time.Second))
	s.server.endIdle()
	if got := s.ids(); got != watched.SessionID || len(dirs(t)) != 1 || s.closed.Load() != 2 {
		t.Errorf("there are %s, %v; closed %d", got, dirs(t), s.closed.Load())
	}
	keeper.input("help")
	keeper.until(protocol.LineState)
}

func (s *stand) ids() string {
	list, _ := s.server.list(context.Background(), &listRequest{})
	var ids []string
	for _, l := range list.Sessions {
		ids = append(ids, l.SessionID)
	}
	return strings.Join(ids, " ")
}

func TestTheEndOfTheServerNotifiesClientsAndRemovesFiles(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	server := New(Config{Open: func(context.Context, Opening) (Opened, error) { return Opened{}, nil }})
	web := httptest.NewServer(server.Handler())
	defer web.Close()
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx) }()
	s := &stand{t: t, server: server, url: web.URL, web: web.Client()}
	session := s.open("", "")
	c := s.dial(session, "")
	c.input("slow 36000")
	c.until(protocol.LineChunk)
	cancel()
	if line := c.until(protocol.LineStatus); line.Message != "The server stops" || line.SessionID != "" {
		t.Errorf("got %+v", line)
	}
	if line := c.until(protocol.LineState); line.Reason != protocol.WaitingInterrupted {
		t.Errorf("got %+v", line)
	}
	if code := c.ending(); code != websocket.StatusGoingAway {
		t.Errorf("closed with %d", code)
	}
	if err := <-done; err != nil || len(dirs(t)) != 0 {
		t.Errorf("ended with %v, left %v", err, dirs(t))
	}
	if status, _ := s.call("POST", "/sessions", "", ""); status != http.StatusServiceUnavailable {
		t.Errorf("a session after the end: %d", status)
	}
	web.Client().CloseIdleConnections()
}

func TestASessionThatCannotBeOpenedLeavesNothing(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s := start(t, Config{MaxSessions: 1, Open: func(context.Context, Opening) (Opened, error) {
		return Opened{}, errors.New("secret detail")
	}})
	for range 2 {
		if status, body := s.call("POST", "/sessions", "", ""); status != http.StatusInternalServerError ||
			body != `{"error":"Internal error","code":"internal"}` {
			t.Errorf("%d %s", status, body)
		}
	}
	if got := dirs(t); len(got) != 0 {
		t.Errorf("left behind: %v", got)
	}
}
