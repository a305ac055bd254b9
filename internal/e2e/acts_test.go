//go:build full

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"bellhop/client"
	"bellhop/protocol"
)

// repeater is a gateway in front of a host that keeps every request which changes something, to deliver it again.
type repeater struct {
	url string

	mu   sync.Mutex
	kept []*http.Request
}

func newRepeater(t *testing.T, host string) *repeater {
	t.Helper()
	r := &repeater{}
	r.url = gateway(t, host, func(_ http.ResponseWriter, req *http.Request) bool {
		if req.Method == http.MethodGet || strings.HasPrefix(req.URL.Path, "/stream/") {
			return false
		}
		body, err := io.ReadAll(req.Body)
		if err != nil {
			t.Error(err)
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
		again := req.Clone(context.Background())
		again.RequestURI, again.Body = "", nil
		again.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		again.URL.Scheme, again.URL.Host = "http", strings.TrimPrefix(host, "http://")
		r.mu.Lock()
		defer r.mu.Unlock()
		r.kept = append(r.kept, again)
		return false
	}, nil)
	return r
}

// again delivers all that was kept once more, and returns how often each kind was answered with which status.
func (r *repeater) again(t *testing.T) map[string]int {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	answers := map[string]int{}
	for _, req := range r.kept {
		body, err := req.GetBody()
		if err != nil {
			t.Fatal(err)
		}
		req.Body = body
		resp, err := transport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode >= http.StatusInternalServerError {
			t.Errorf("%s %s again: %d", req.Method, req.URL.Path, resp.StatusCode)
		}
		answers[req.Method+" "+req.URL.Path[strings.LastIndexByte(req.URL.Path, '/'):]]++
	}
	return answers
}

// A gateway delivers everything that a broker asked a host for again, after newer work and after a restart of the host.
func TestLateCopiesOfRequestsHaveNoEffect(t *testing.T) {
	t.Parallel()
	s := newStack(t, sqlite)
	gate := newRepeater(t, s.host.url)
	host := strings.TrimSpace(s.administer("hosts", "add", "--name", "gated", "--url", gate.url))
	c := s.user()
	task, err := c.CreateTask(t.Context(), &protocol.CreateTaskRequest{
		Title: "acts", HostID: host, Agent: "demo", PermissionMode: protocol.ModeAcceptEdits,
	})
	if err != nil {
		t.Fatal(err)
	}
	work := actsOfOne{t: t, s: s, c: c, task: task.ID, dir: filepath.Join(s.hostData(), "workspaces", task.ID)}
	work.turn("write a.txt: one")
	work.post("commit", map[string]any{"message": "One"})
	work.turn("write b.txt: two")
	work.post("discard", map[string]any{"paths": []string{"b.txt"}})
	if _, err := c.Restart(t.Context(), task.ID); err != nil {
		t.Fatal(err)
	}
	toEnd(t, send(t, c, task.ID, "slow 3000"), func(event client.Event, _ *client.Transcript) {
		if isPart(event, protocol.PartTextStart) {
			if _, err := c.Interrupt(t.Context(), task.ID); err != nil {
				t.Error(err)
			}
		}
	})
	settle(t, c, task.ID)

	work.turn("write b.txt: two")
	work.turn("write c.txt: three")
	before := work.state()
	for _, moment := range []string{"after newer work", "after a restart"} {
		running := send(t, c, task.ID, "slow 200")
		asked := map[string]int{}
		transcript := toEnd(t, running, func(event client.Event, _ *client.Transcript) {
			if isPart(event, protocol.PartTextStart) {
				asked = gate.again(t)
			}
		})
		for _, kind := range []string{"POST /session", "POST /commit", "POST /discard", "POST /restart", "POST /interrupt"} {
			if asked[kind] == 0 {
				t.Errorf("%s: no copy of %s among %v", moment, kind, asked)
			}
		}
		if transcript.End == nil || transcript.End.FinishReason != protocol.FinishStop {
			t.Errorf("%s: the turn beside the copies ended with %+v", moment, transcript.End)
		}
		settle(t, c, task.ID)
		if now := work.state(); now != before {
			t.Errorf("%s:\n%s\nwas\n%s", moment, now, before)
		}
		s.host.stop()
		s.host.start()
	}
}

// actsOfOne is a task and its workspace.
type actsOfOne struct {
	t    *testing.T
	s    *stack
	c    *client.Client
	task string
	dir  string
}

func (w *actsOfOne) turn(message string) {
	w.t.Helper()
	if transcript := turnOf(w.t, w.c, w.task, message); transcript.End == nil || transcript.End.FinishReason != protocol.FinishStop {
		w.t.Fatalf("%q ended with %+v", message, transcript.End)
	}
	settle(w.t, w.c, w.task)
}

// post does something to the changes as they are now.
func (w *actsOfOne) post(act string, body map[string]any) {
	w.t.Helper()
	shown, err := w.c.Diff(w.t.Context(), w.task)
	if err != nil {
		w.t.Fatal(err)
	}
	body["snapshot"] = shown.Snapshot
	if act == "commit" {
		body["head"] = shown.Head
	}
	content, err := json.Marshal(body)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.s.api+"/api/tasks/"+w.task+"/"+act, bytes.NewReader(content))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+w.s.token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := transport.RoundTrip(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if answer, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK {
		w.t.Fatalf("%s: %d %s", act, resp.StatusCode, answer)
	}
}

// state is the files of the workspace and its commits.
func (w *actsOfOne) state() string {
	w.t.Helper()
	var all []string
	for _, name := range []string{"a.txt", "b.txt", "c.txt"} {
		content, err := os.ReadFile(filepath.Join(w.dir, name))
		if err != nil {
			content = []byte(err.Error())
		}
		all = append(all, name+": "+strings.TrimSpace(string(content)))
	}
	log, err := exec.Command("git", "-c", "safe.directory=*", "-C", w.dir, "log", "--format=%H %s").CombinedOutput()
	if err != nil {
		w.t.Fatalf("git log: %v, %s", err, log)
	}
	return strings.Join(all, "\n") + "\n" + string(log)
}
