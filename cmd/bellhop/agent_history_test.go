package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"

	"bellhop/internal/testenv"
	"bellhop/protocol"
)

// agentServer is "bellhop agent --api" in a process of its own.
type agentServer struct {
	t   *testing.T
	cmd *exec.Cmd
	url string
}

var listensAt = regexp.MustCompile(`listening on (http://\S+)`)

func startAgentServer(t *testing.T, args ...string) *agentServer {
	t.Helper()
	program, err := os.Executable()
	testenv.Must(t, err)
	s := &agentServer{t: t, cmd: exec.Command(program)}
	s.cmd.Args = append([]string{"bellhop", "agent", "--api", "--port", "0", "--log-level", "error"}, args...)
	s.cmd.Env, s.cmd.Stderr = append(os.Environ(), "BELLHOP_AGENT_TOKEN=owner"), os.Stderr
	out, err := s.cmd.StdoutPipe()
	testenv.Must(t, err)
	testenv.Must(t, s.cmd.Start())
	t.Cleanup(sync.OnceFunc(s.kill))
	var printed bytes.Buffer
	for s.url == "" {
		if _, err := io.CopyN(&printed, out, 1); err != nil {
			t.Fatalf("it printed %q: %v", printed.String(), err)
		}
		if found := listensAt.FindStringSubmatch(printed.String()); found != nil &&
			strings.HasSuffix(printed.String(), "\n") {
			s.url = found[1]
		}
	}
	return s
}

func (s *agentServer) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

func (s *agentServer) call(method, path, bearer string, into any) int {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, http.NoBody)
	testenv.Must(s.t, err)
	r.Header.Set("Authorization", "Bearer "+bearer)
	response, err := http.DefaultClient.Do(r)
	testenv.Must(s.t, err)
	defer func() { _ = response.Body.Close() }()
	if into != nil && response.StatusCode < 300 {
		testenv.Must(s.t, json.NewDecoder(response.Body).Decode(into))
	}
	return response.StatusCode
}

// session has the answers of POST /sessions and of GET /sessions/ID/history.
type agentSession struct {
	ID    string `json:"session_id"`
	Token string
	Lines []protocol.Line
}

// converse sends an input and reads up to a line of the type.
func (s *agentServer) converse(one agentSession, input, until string) {
	s.t.Helper()
	url := s.url + "/ws/" + one.ID + "?token=" + one.Token
	conn, _, err := websocket.Dial(s.t.Context(), url, nil)
	testenv.Must(s.t, err)
	defer func() { _ = conn.CloseNow() }()
	testenv.Must(s.t, conn.Write(s.t.Context(), websocket.MessageText, []byte(input)))
	for {
		_, raw, err := conn.Read(s.t.Context())
		testenv.Must(s.t, err)
		var line protocol.Line
		testenv.Must(s.t, json.Unmarshal(raw, &line))
		if line.Type == until && (until != protocol.LineState || line.EndsTurn()) {
			return
		}
	}
}

// Every line that a client got before kill -9 is in the history after a restart.
func TestTheAgentsHistoryOutlivesItsProcess(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	first := startAgentServer(t, "--data", data)
	var one, idle agentSession
	first.call("POST", "/sessions", "owner", &one)
	first.call("POST", "/sessions", "owner", &idle)
	image := "iVBORw0KGgowMTIzNDU2Nzg5"
	first.converse(one,
		`{"type":"input","text":"help","attachments":[{"type":"image","mediaType":"image/png","data":"`+image+`"}]}`,
		protocol.LineState)
	first.converse(one, `{"type":"input","text":"write a.txt: x"}`, protocol.LineConfirm)
	first.kill()

	second := startAgentServer(t, "--data", data)
	var list struct {
		Sessions []struct {
			ID     string `json:"session_id"`
			State  string
			Reason string `json:"end_reason"`
		}
	}
	second.call("GET", "/sessions", "owner", &list)
	if got := fmt.Sprint(list.Sessions); got != "[{"+one.ID+" ended crashed}]" {
		t.Errorf("listed %s", got)
	}
	for _, bearer := range []string{"owner", one.Token} {
		var after agentSession
		if status := second.call("GET", "/sessions/"+one.ID+"/history", bearer, &after); status != http.StatusOK {
			t.Fatalf("the history answers %d", status)
		}
		var kinds []string
		for i := range after.Lines {
			kinds = append(kinds, after.Lines[i].Type)
		}
		const want = "input state message state input state message tool_start confirm status state"
		if got := strings.Join(kinds, " "); got != want {
			t.Errorf("history: %s", got)
		}
		if named := after.Lines[0].Attachments; len(named) != 1 || named[0].MediaType != "image/png" || named[0].Data != "" {
			t.Errorf("the image: %+v", named)
		}
	}
	if status := second.call("GET", "/sessions/"+one.ID+"/history", idle.Token, nil); status != http.StatusUnauthorized {
		t.Errorf("another session's token: %d", status)
	}
	raw, err := os.ReadFile(filepath.Join(data, "history.db"))
	testenv.Must(t, err)
	wal, err := os.ReadFile(filepath.Join(data, "history.db-wal"))
	testenv.Must(t, err)
	for what, secret := range map[string]string{"the image": image, "a session's token": one.Token} {
		if strings.Contains(string(raw)+string(wal), secret) {
			t.Errorf("%s is in the file", what)
		}
	}
	if status := second.call("DELETE", "/sessions/"+one.ID, one.Token, nil); status != http.StatusNoContent {
		t.Errorf("DELETE answers %d", status)
	}
	second.kill()
	third := startAgentServer(t, "--data", data)
	if status := third.call("GET", "/sessions/"+one.ID+"/history", "owner", nil); status != http.StatusNotFound {
		t.Errorf("a deleted history answers %d", status)
	}
}

func TestTheAgentsHistoryRefusesBadDirectories(t *testing.T) {
	dir := t.TempDir()
	testenv.Must(t, os.WriteFile(filepath.Join(dir, "history.db"), bytes.Repeat([]byte("no database "), 20), 0o600))
	held := t.TempDir()
	startAgentServer(t, "--data", held)
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"a foreign file":        {[]string{"--api", "--data", dir}, "is damaged or no database"},
		"a directory in use":    {[]string{"--api", "--data", held}, "Another process keeps its history"},
		"a file":                {[]string{"--api", "--data", filepath.Join(dir, "history.db")}, "cannot be kept in"},
		"a negative retention":  {[]string{"--api", "--data", dir, "--retention=-1h"}, "--retention must not be negative"},
		"a size without a unit": {[]string{"--api", "--data", dir, "--max-history", "much"}, "--max-history"},
		"stdio":                 {[]string{"--stdio", "--data", dir}, "--data is for --api"},
	} {
		code, _, stderr := runCommand(t, append([]string{"agent", "--port", "0"}, c.args...)...)
		if code == 0 || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: exit code %d: %s", name, code, stderr)
		}
	}
}
