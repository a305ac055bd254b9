package api

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bellhop/agent/api/history"
	"bellhop/internal/testenv"
	"bellhop/protocol"
)

func keeping(t *testing.T, config history.Config) *history.Store {
	t.Helper()
	config.Now = func() time.Time { return time.Unix(1_700_000_100, 0) }
	if config.Dir == "" {
		config.Dir = t.TempDir()
	}
	store, err := history.Open(context.Background(), config)
	testenv.Must(t, err)
	t.Cleanup(func() { _ = store.Close() })
	return store
}

func (s *stand) linesOf(session createResponse, bearer string) []protocol.Line {
	s.t.Helper()
	status, raw := s.call("GET", "/sessions/"+session.SessionID+"/history", bearer, "")
	var h struct{ Lines []protocol.Line }
	if err := json.Unmarshal([]byte(raw), &h); err != nil || status != http.StatusOK {
		s.t.Fatalf("%d %s", status, raw)
	}
	return h.Lines
}

func (s *stand) turn(session createResponse, text string) {
	s.t.Helper()
	c := s.dial(session, "")
	c.input(text)
	c.until(protocol.LineState)
	c.leave()
	s.awaitClients(session.SessionID, 0)
}

func TestAHistoryOutlivesItsSession(t *testing.T) {
	t.Parallel()
	s := start(t, Config{IdleTimeout: time.Minute, History: keeping(t, history.Config{Retention: time.Hour})})
	one, other := s.open("", ""), s.open("", "")
	c := s.dial(one, "")
	image := base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\n0123456789"))
	c.send(`{"type":"input","text":"ask Which?","attachments":[{"type":"image","mediaType":"image/png","data":"` + image +
		`"}]}`)
	c.answer(c.until(protocol.LineAsk).RequestID, "this")
	c.until(protocol.LineState)
	_, before := s.call("GET", "/sessions/"+one.SessionID+"/history", one.Token, "")
	c.leave()
	s.awaitClients(one.SessionID, 0)
	s.clock.Add(int64(2 * time.Minute))
	s.server.endIdle()
	for what, bearer := range map[string]string{"its token": one.Token, "the server's token": s.owner()} {
		if _, got := s.call("GET", "/sessions/"+one.SessionID+"/history", bearer, ""); got != before {
			t.Errorf("%s reads %s\nwant %s", what, got, before)
		}
	}
	if first := s.linesOf(one, one.Token)[0]; first.Type != protocol.LineInput || len(first.Attachments) != 1 ||
		first.Attachments[0].Data != "" || first.Attachments[0].MediaType != "image/png" {
		t.Errorf("the image is named, not repeated: %+v", first)
	}
	_, list := s.call("GET", "/sessions", s.owner(), "")
	want := fmt.Sprintf(`{"sessions":[{"session_id":%q,"model":"demo","state":"ended","clients":0,"created_at":"2023-11-14T22:13:20Z",`+
		`"expires_at":"2023-11-14T23:15:00Z","ended_at":"2023-11-14T22:15:00Z","end_reason":"idle"}]}`, one.SessionID)
	if list != want { // the other one was never used
		t.Errorf("got  %s\nwant %s", list, want)
	}
	for name, c := range map[string]struct {
		method, path, bearer string
		want                 int
	}{
		"another session's token":   {"GET", "/sessions/" + one.SessionID + "/history", other.Token, 401},
		"no token":                  {"GET", "/sessions/" + one.SessionID + "/history", "", 401},
		"a session without lines":   {"GET", "/sessions/" + other.SessionID + "/history", s.owner(), 404},
		"its WebSocket":             {"GET", "/ws/" + one.SessionID + "?token=" + one.Token, "", 410},
		"with a wrong token":        {"GET", "/ws/" + one.SessionID + "?token=x", "", 401},
		"deletion with its token":   {"DELETE", "/sessions/" + one.SessionID, one.Token, 401},
		"a negative limit":          {"GET", "/sessions?limit=-1", s.owner(), 400},
		"a limit over the maximum":  {"GET", "/sessions?limit=1001", s.owner(), 400},
		"a limit that is no number": {"GET", "/sessions?limit=x", s.owner(), 400},
		"an unknown history":        {"DELETE", "/sessions/" + one.SessionID + "?history=drop", s.owner(), 400},
	} {
		if status, body := s.call(c.method, c.path, c.bearer, ""); status != c.want {
			t.Errorf("%s: %d %s, want %d", name, status, body, c.want)
		}
	}
	if status, _ := s.call("DELETE", "/sessions/"+one.SessionID, s.owner(), ""); status != http.StatusNoContent {
		t.Errorf("DELETE answers %d", status)
	}
	if status, _ := s.call("GET", "/sessions/"+one.SessionID+"/history", s.owner(), ""); status != http.StatusNotFound {
		t.Errorf("a deleted history answers %d", status)
	}
}

func TestDeletingASessionKeepsItsHistoryOnRequest(t *testing.T) {
	t.Parallel()
	s := start(t, Config{History: keeping(t, history.Config{})})
	kept, gone := s.open("", ""), s.open("", "")
	s.turn(kept, "help")
	s.turn(gone, "help")
	for range 2 {
		if status, body := s.call("DELETE", "/sessions/"+kept.SessionID+"?history=keep", s.owner(),
			""); status != http.StatusNoContent {
			t.Errorf("%d %s", status, body)
		}
	}
	s.call("DELETE", "/sessions/"+gone.SessionID, s.owner(), "")
	_, list := s.call("GET", "/sessions", s.owner(), "")
	if !strings.Contains(list, `"end_reason":"deleted"`) || strings.Contains(list, gone.SessionID) {
		t.Errorf("listed %s", list)
	}
	none := start(t, Config{})
	one := none.open("", "")
	if status, body := none.call("DELETE", "/sessions/"+one.SessionID+"?history=keep", none.owner(),
		""); status != http.StatusBadRequest ||
		!strings.Contains(body, "--data") {
		t.Errorf("without a history: %d %s", status, body)
	}
}

func TestEndedSessionsAreListedInPages(t *testing.T) {
	t.Parallel()
	s := start(t, Config{Token: "owner", History: keeping(t, history.Config{})})
	var want []string
	for range 3 {
		one := s.open("owner", "")
		s.turn(one, "help")
		s.call("DELETE", "/sessions/"+one.SessionID+"?history=keep", one.Token, "")
		want = append([]string{one.SessionID}, want...)
	}
	open := s.open("owner", "")
	var got []string
	path := "/sessions?limit=2"
	for range 2 {
		_, raw := s.call("GET", path, "owner", "")
		var page listResponse
		testenv.Must(t, json.Unmarshal([]byte(raw), &page))
		for _, one := range page.Sessions {
			got = append(got, one.SessionID)
		}
		path = "/sessions?limit=2&before=" + page.Next
	}
	if fmt.Sprint(got) != fmt.Sprint(append([]string{open.SessionID}, want...)) || !strings.HasSuffix(path, "=") {
		t.Errorf("pages have %v, then %s\nwant %v", got, path, want)
	}
}

// While the history cannot be written, sessions continue with their turn and accept no further one.
func TestAHistoryThatCannotBeWrittenRefusesInput(t *testing.T) {
	t.Parallel()
	store := keeping(t, history.Config{})
	s := start(t, Config{History: store})
	one := s.open("", "")
	c := s.dial(one, "")
	c.input("ask Go on?")
	id := c.until(protocol.LineAsk).RequestID
	testenv.Must(t, store.Close())
	c.answer(id, "yes")
	if line := c.until(protocol.LineState); line.Reason != protocol.WaitingDone {
		t.Errorf("the turn ended with %+v", line)
	}
	c.input("help")
	if line := c.until(protocol.LineStatus); line.Level != "error" || line.Code != protocol.CodeUnavailable ||
		line.Command != protocol.LineInput {
		t.Errorf("got %+v", line)
	}
	if status, _ := s.call("POST", "/sessions", "", ""); status != http.StatusServiceUnavailable {
		t.Errorf("a new session: %d", status)
	}
}

func TestAFullHistoryDeletesTheOldestAndThenRefuses(t *testing.T) {
	t.Parallel()
	s := start(t, Config{History: keeping(t, history.Config{MaxBytes: 4000})})
	old := s.open("", "")
	s.turn(old, "help")
	s.call("DELETE", "/sessions/"+old.SessionID+"?history=keep", s.owner(), "")
	one := s.open("", "")
	c := s.dial(one, "")
	for range 10 {
		c.input("help")
		for {
			line, err := c.next()
			testenv.Must(t, err)
			if line.EndsTurn() {
				break
			}
			if line.Level != "error" {
				continue
			}
			if line.Code != protocol.CodeStorageFull {
				t.Errorf("got %+v", line)
			}
			if _, list := s.call("GET", "/sessions", s.owner(), ""); strings.Contains(list, old.SessionID) {
				t.Errorf("the ended session was not deleted first: %s", list)
			}
			return
		}
	}
	t.Error("every turn was accepted")
}

func TestAStoppedServersSessionsAreListedAsEnded(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	store := keeping(t, history.Config{Dir: dir})
	var one createResponse
	t.Run("first server", func(t *testing.T) {
		s := start(t, Config{History: store})
		one = s.open("", "")
		c := s.dial(one, "")
		c.input("slow 36000")
		c.until(protocol.LineChunk)
	})
	testenv.Must(t, store.Close())
	next := start(t, Config{History: keeping(t, history.Config{Dir: dir})})
	lines := next.linesOf(one, one.Token)
	last := lines[len(lines)-1]
	if last.Reason != protocol.WaitingInterrupted {
		t.Errorf("the history ends with %+v", last)
	}
	if _, list := next.call("GET", "/sessions", next.owner(), ""); !strings.Contains(list, `"end_reason":"stopped"`) {
		t.Errorf("listed %s", list)
	}
}
