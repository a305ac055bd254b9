package api

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"

	"bellhop/protocol"
)

// name connects to an id that the test chose, with the query or the header of a token.
func (s *stand) name(id, query string, header http.Header) (*client, int) {
	s.t.Helper()
	conn, answer, err := websocket.Dial(s.t.Context(), s.url+"/ws/"+id+query,
		&websocket.DialOptions{HTTPClient: s.web, HTTPHeader: header})
	if err != nil {
		if answer == nil {
			s.t.Fatal(err)
		}
		return nil, answer.StatusCode
	}
	conn.SetReadLimit(-1)
	s.t.Cleanup(func() { _ = conn.CloseNow() })
	c := &client{t: s.t, conn: conn}
	if line, err := c.next(); err != nil || line.Type != protocol.LineHello || line.SessionID != id {
		s.t.Fatalf("the first line is %+v, %v", line, err)
	}
	c.seen = nil
	return c, http.StatusSwitchingProtocols
}

func TestAClientOpensASessionByConnectingToANewID(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config    Config
		id, query string
	}{
		"with the server's token": {Config{Token: "owner"}, "mine", "?token=owner"},
		"without any":             {Config{}, "nobody-guesses-it", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, c.config)
			first, _ := s.name(c.id, c.query, nil)
			first.input("help")
			if line := first.until(protocol.LineState); line.Reason != protocol.WaitingDone {
				t.Errorf("%+v", line)
			}
			again, _ := s.name(c.id, c.query+map[bool]string{true: "?", false: "&"}[c.query == ""]+"replay=all", nil)
			if line := again.until(protocol.LineInput); line.Text == nil || *line.Text != "help" {
				t.Errorf("a second connection shows %+v", line)
			}
			if status, body := s.call("GET", "/sessions", s.owner(), ""); status != 200 ||
				strings.Count(body, `"session_id":"`+c.id+`"`) != 1 {
				t.Errorf("%d %s", status, body)
			}
			s.call("DELETE", "/sessions/"+c.id, s.owner(), "")
			if _, status := s.name(c.id, c.query, nil); status != http.StatusSwitchingProtocols {
				t.Errorf("after its end the id is refused: %d", status)
			}
		})
	}
}

func TestAnIDOpensNothingForOthers(t *testing.T) {
	t.Parallel()
	bearer := func(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }
	closed, free := start(t, Config{Token: "owner"}), start(t, Config{})
	member, other := closed.open("owner", ""), free.open("", "")
	closed.name("mine", "?token=owner", nil)
	free.name("nobody-guesses-it", "", nil)
	for name, c := range map[string]struct {
		stand     *stand
		id, query string
		header    http.Header
		want      int
	}{
		"a new id without the token":                {closed, "new-session-of-mine", "", nil, 401},
		"a new id with a session's token":           {closed, "new-session-of-mine", "?token=" + member.Token, nil, 401},
		"one of the owner's without the token":      {closed, "mine", "", nil, 401},
		"one of the owner's with another's token":   {closed, "mine", "?token=" + member.Token, nil, 401},
		"an id with a point":                        {closed, "a.b", "?token=owner", nil, 400},
		"a longer id than 64 characters":            {closed, strings.Repeat("x", 65), "?token=owner", nil, 400},
		"a short id without a token":                {free, "short", "", nil, 400},
		"one that has a token, without it":          {free, other.SessionID, "", nil, 401},
		"a new id with a wrong token":               {free, "new-session-of-mine", "", bearer("wrong"), 401},
		"one without a token, with the printed one": {free, "nobody-guesses-it", "", bearer(free.owner()), 401},
		"a page of elsewhere": {
			free, "new-session-of-mine", "", http.Header{"Origin": {"https://evil.example"}}, 403,
		},
	} {
		if _, status := c.stand.name(c.id, c.query, c.header); status != c.want {
			t.Errorf("%s: %d, want %d", name, status, c.want)
		}
	}
	if status, _ := free.call("GET", "/ws/new-session-of-mine", "", ""); status != 401 {
		t.Errorf("a request that is no WebSocket: %d", status)
	}
	if n := len(free.server.all()) + len(closed.server.all()); n != 4 {
		t.Errorf("%d sessions", n)
	}
}

func TestClientsThatConnectToANewIDTogetherShareASession(t *testing.T) {
	t.Parallel()
	s := start(t, Config{Token: "owner", MaxSessions: 1})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			conn, _, err := websocket.Dial(t.Context(), s.url+"/ws/ours?token=owner", &websocket.DialOptions{HTTPClient: s.web})
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(func() { _ = conn.CloseNow() })
		})
	}
	all.Wait()
	if n := len(s.server.all()); n != 1 {
		t.Errorf("%d sessions", n)
	}
}

// A directory that the server did not make is no session's.
func TestANewIDDoesNotTakeADirectoryThatExists(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "src", "main"), 0o700); err != nil {
		t.Fatal(err)
	}
	s := start(t, Config{Token: "owner", Workspaces: dir})
	if _, status := s.name("src", "?token=owner", nil); status != http.StatusConflict {
		t.Errorf("%d", status)
	}
	if _, err := os.Stat(filepath.Join(dir, "src", "main")); err != nil {
		t.Error(err)
	}
}
