//go:build agents

package providertest

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"bellhop/agenthost"
	"bellhop/internal/testenv/mockllm"
	"bellhop/protocol"
)

// Real opens an agent of a real program with a scripted model, and closes it at the
// end of the test.
type Real struct {
	Provider agenthost.Provider
	Spec     agenthost.AgentSpec
	Records  string // process records of the running programs
}

// Open opens an agent for the spec.
func (r *Real) Open(t *testing.T) agenthost.Agent {
	t.Helper()
	agent, err := r.Provider.Open(t.Context(), r.Spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = agent.Close(context.Background()) })
	return agent
}

// Finish plays a complete turn of a new agent. The turn must succeed.
func (r *Real) Finish(t *testing.T, out *Recorder, prompt string) {
	t.Helper()
	outcome, err := r.Open(t).Run(t.Context(), agenthost.Prompt{TurnID: "turn-1", Text: prompt}, out)
	out.Finish()
	if err != nil || outcome.FinishReason != protocol.FinishStop {
		t.Fatalf("got %+v, %v; the output got %+v", outcome, err, out.Entries())
	}
	if broken := out.Broken(true); len(broken) > 0 {
		t.Errorf("the contract is broken: %q", broken)
	}
}

// WritesAfterTheAnswer checks that the prompt "WRITE hello.txt" writes the file
// only after the permission.
func (r *Real) WritesAfterTheAnswer(t *testing.T) {
	t.Helper()
	path := filepath.Join(r.Spec.Dir, "hello.txt")
	out := &Recorder{Decide: func(context.Context, string, agenthost.Question) (agenthost.Answer, error) {
		if _, err := os.Stat(path); err == nil {
			t.Error("the file is there before the answer")
		}
		return agenthost.Answer{Approved: true}, nil
	}}
	r.Finish(t, out, "WRITE hello.txt")
	if written, err := os.ReadFile(path); err != nil || !strings.Contains(string(written), "hello") {
		t.Errorf("got %q, %v", written, err)
	}
}

// EndsCommandsOnInterrupt checks that an interrupt ends a running command. The
// program's processes must have the same process ids inside and outside their
// sandbox.
func (r *Real) EndsCommandsOnInterrupt(t *testing.T) {
	t.Helper()
	agent, out, done := r.Open(t), Answering(agenthost.Answer{Approved: true}), make(chan agenthost.Outcome)
	go func() {
		outcome, _ := agent.Run(t.Context(), agenthost.Prompt{
			TurnID: "turn-1", Text: "BASH echo $$ > pid; exec sleep 600",
		}, out)
		done <- outcome
	}()
	pid := awaitPID(t, filepath.Join(r.Spec.Dir, "pid"))
	if err := agent.Interrupt(t.Context()); err != nil {
		t.Error(err)
	}
	if outcome := <-done; outcome.Reason != protocol.ReasonAborted {
		t.Errorf("got %+v", outcome)
	}
	if !poll(t, 3*time.Minute, func() bool { return syscall.Kill(pid, 0) != nil }) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
		t.Fatal("the command still runs")
	}
}

// awaitPID waits until a command has written its pid, and returns it.
func awaitPID(t *testing.T, path string) (pid int) {
	t.Helper()
	if !poll(t, time.Hour, func() (written bool) {
		content, _ := os.ReadFile(path)
		var err error
		pid, err = strconv.Atoi(strings.TrimSpace(string(content)))
		return err == nil && pid > 1
	}) {
		t.Fatal("the command does not run")
	}
	return pid
}

// AwaitWritten waits until one of the files contains the text, because agents store
// their sessions with a delay.
func AwaitWritten(t *testing.T, pattern, text string) {
	t.Helper()
	if !poll(t, 3*time.Minute, func() bool {
		files, _ := filepath.Glob(pattern)
		return slices.ContainsFunc(files, func(path string) bool {
			content, err := os.ReadFile(path)
			return err == nil && strings.Contains(string(content), text)
		})
	}) {
		t.Fatalf("%q is not in %s", text, pattern)
	}
}

// poll reports whether the condition became true within the limit.
func poll(t *testing.T, limit time.Duration, isTrue func() bool) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for !isTrue() {
		select {
		case <-again.C:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// ResumesAfterSIGKILL checks that a session continues after its program was killed,
// and that an unknown session is replaced by one that gets the restored context.
// kill is called after the first turn.
func (r *Real) ResumesAfterSIGKILL(t *testing.T, unknown string, kill func()) {
	t.Helper()
	first := &Recorder{}
	r.Finish(t, first, "hello the first time")
	sessionID := first.Of(KindAgentSession)
	if len(sessionID) != 1 {
		t.Fatalf("got the session ids %+v", sessionID)
	}
	kill()
	r.Spec.AgentSessionID = sessionID[0].Text
	second := &Recorder{Memory: "lost"}
	r.Finish(t, second, "hello the second time")
	if len(second.Of(KindRestored)) > 0 || len(second.Texts()) != 1 {
		t.Errorf("the session was not resumed, or replayed: %+v", second.Entries())
	}
	r.Spec.AgentSessionID = unknown
	lost := &Recorder{Memory: "what was said"}
	r.Finish(t, lost, "hello the third time")
	if n := len(lost.Of(KindRestored)) + len(lost.Of(KindAgentSession)); n != 2 {
		t.Errorf("an unknown session was not replaced: %+v", lost.Entries())
	}
}

// CallsTheHostsTool checks that the prompt calls the tool. The spec must have
// HostTool.
func (r *Real) CallsTheHostsTool(t *testing.T, prompt string) *Recorder {
	t.Helper()
	out := Answering(agenthost.Answer{Approved: true})
	r.Finish(t, out, prompt)
	results := out.Of(KindResult)
	if len(results) != 1 || !strings.Contains(string(results[0].Result.Output), "dirty") {
		for _, e := range out.Entries() {
			t.Logf("%s %q call=%s %s result=%s", e.Kind, e.Text, e.Call.Name, e.Call.Input, e.Result.Output)
			t.Logf("  q=%+v args=%s", e.Question, e.Question.Args)
		}
		t.Errorf("got %+v", results)
	}
	return out
}

// busyHost is how long a host of many agents takes for its first answer, and for a call. Programs
// would begin a turn without its tools, or give a call up, after five seconds.
const busyHost = 7 * time.Second

// HostTool serves the tool workspace_getStatus as the MCP server of a busy host. It refuses
// and counts requests without the secret.
func HostTool(t *testing.T) (local *agenthost.Local, refused *atomic.Int32) {
	t.Helper()
	refused = &atomic.Int32{}
	server := mcp.NewServer(&mcp.Implementation{Name: "bellhop", Version: "1"}, nil)
	type status struct {
		Dirty bool `json:"dirty"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "workspace_getStatus", Description: "status"},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, status, error) {
			time.Sleep(busyHost)
			return nil, status{Dirty: true}, nil
		})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: true})
	var first sync.Once
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer s3cret" {
			refused.Add(1)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		first.Do(func() { time.Sleep(busyHost) })
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	return &agenthost.Local{MCPURL: web.URL, Secret: "s3cret"}, refused
}

// PutFiles writes files into a repository.
func PutFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// AsksOnce plays a prompt and denies its permission request, which must be the only
// one.
func AsksOnce(t *testing.T, agent agenthost.Agent, prompt string) {
	t.Helper()
	out := Answering(agenthost.Answer{})
	if _, err := agent.Run(t.Context(), agenthost.Prompt{Text: prompt}, out); err != nil {
		t.Fatal(err)
	}
	if asked := len(out.Of(KindConfirm)); asked != 1 {
		t.Errorf("%s: asked %d times: %+v", prompt, asked, out.Entries())
	}
}

// WantReadNotTrusted checks that no program of a repository ran, which would leave
// a file whose name begins with EVIL. It also checks that the repository's memory,
// which contains these words, reached the model.
func WantReadNotTrusted(t *testing.T, dir string, llm *mockllm.Server, words ...string) {
	t.Helper()
	if ran, _ := filepath.Glob(filepath.Join(dir, "EVIL*")); len(ran) > 0 {
		t.Errorf("the repository ran %q", ran)
	}
	for _, word := range words {
		if !slices.ContainsFunc(
			llm.Requests(), func(r mockllm.Request) bool { return bytes.Contains(r.Body, []byte(word)) },
		) {
			t.Errorf("its memory is not read: no %q in %d requests", word, len(llm.Requests()))
		}
	}
}

// ModelInput returns a function for Subject.Input, which returns everything that
// was sent to the model.
func ModelInput(llm *mockllm.Server) func() string {
	return func() string {
		var all bytes.Buffer
		for _, request := range llm.Requests() {
			all.Write(request.Body)
		}
		return all.String()
	}
}
