//go:build agents

package claude_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/claude"
	"bellhop/agenthost/provider/providertest"
	"bellhop/internal/testenv/agents"
	"bellhop/internal/testenv/mockllm"
	"bellhop/protocol"
)

// unhurried is a grace period that is long enough for a busy machine.
const unhurried = 20 * time.Second

// options run the real program against a scripted model.
func options(t *testing.T, llm *mockllm.Server) claude.Options {
	return claude.Options{
		Find:  found(agents.Find(t, "claude")),
		Grace: unhurried,
		Env: []string{
			"ANTHROPIC_BASE_URL=" + llm.URL, "ANTHROPIC_API_KEY=mock-key-0123456789-0123456789", providertest.Mark(t),
		},
	}
}

// failing makes the model reject every request of the prompt "fail", and no later
// one.
type failing struct {
	agenthost.Provider
	llm *mockllm.Server
}

type failingAgent struct {
	agenthost.Agent
	llm *mockllm.Server
}

func (f failing) Open(ctx context.Context, spec agenthost.AgentSpec) (agenthost.Agent, error) {
	a, err := f.Provider.Open(ctx, spec)
	return failingAgent{a, f.llm}, err
}

func (f failingAgent) Run(
	ctx context.Context, prompt agenthost.Prompt, out agenthost.Output,
) (agenthost.Outcome, error) {
	if prompt.Text != "fail" {
		return f.Agent.Run(ctx, prompt, out)
	}
	f.llm.FailNext(10, http.StatusBadRequest, "")
	outcome, err := f.Agent.Run(ctx, prompt, out)
	for status := http.StatusBadRequest; status == http.StatusBadRequest && err == nil; {
		request, response := httptest.NewRequest(http.MethodPost, "/v1/messages", strings.NewReader("{}")),
			httptest.NewRecorder()
		f.llm.ServeHTTP(response, request)
		status = response.Code
	}
	return outcome, err
}

func TestTheRealProgramKeepsTheContract(t *testing.T) {
	t.Parallel()
	providertest.Run(t, func(t *testing.T) providertest.Subject {
		llm, dir := mockllm.New(t), t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "README.md"), []byte("read me\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return providertest.Subject{
			Provider:     failing{claude.New(options(t, llm)), llm},
			CannotStart:  claude.New(claude.Options{Find: found(filepath.Join(dir, "no-such-program"))}),
			Spec:         agenthost.AgentSpec{Dir: dir},
			AsksAlways:   true,
			StartsSlowly: true,
			Prompts: providertest.Prompts{
				Text: "Say hello", Tool: "READ README.md", Confirm: "WRITE hello.txt", Ask: "ASK me",
				Endless: "SLOW 6000", Fail: "fail",
			},
			Kill: func(t *testing.T) { providertest.Signal(t, syscall.SIGKILL) },
			Forget: func(t *testing.T, spec agenthost.AgentSpec) {
				if err := os.RemoveAll(filepath.Join(spec.StateDir, ".claude", "projects")); err != nil {
					t.Fatal(err)
				}
			},
			Input:   providertest.ModelInput(llm),
			Running: providertest.Running(t),
		}
	})
}

// openReal opens an agent of the real program.
func openReal(t *testing.T, spec agenthost.AgentSpec) (*subject, *mockllm.Server) {
	t.Helper()
	llm := mockllm.New(t)
	spec.SessionID = "s1"
	spec.Dir, spec.StateDir = t.TempDir(), t.TempDir()
	return reopen(t, llm, spec), llm
}

// reopen opens the agent again, as after a restart of the host.
func reopen(t *testing.T, llm *mockllm.Server, spec agenthost.AgentSpec) *subject {
	t.Helper()
	a, err := claude.New(options(t, llm)).Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return &subject{Agent: a, spec: spec}
}

func (s *subject) prompt(t *testing.T, out *providertest.Recorder, prompt string) agenthost.Outcome {
	t.Helper()
	outcome, err := s.Run(t.Context(), agenthost.Prompt{TurnID: "t1", Text: prompt}, out)
	out.Finish()
	if broken := out.Broken(true); err != nil || len(broken) > 0 {
		t.Fatalf("%v, the contract is broken: %q", err, broken)
	}
	return outcome
}

func TestARealFileIsWrittenAfterTheAnswer(t *testing.T) {
	t.Parallel()
	s, _ := openReal(t, agenthost.AgentSpec{})
	path := filepath.Join(s.spec.Dir, "hello.txt")
	out := &providertest.Recorder{Decide: func(context.Context, string, agenthost.Question) (agenthost.Answer, error) {
		if exists(path) {
			t.Error("written before the answer")
		}
		return agenthost.Answer{Approved: true}, nil
	}}
	if outcome := s.prompt(t, out, "WRITE hello.txt"); outcome.FinishReason != protocol.FinishStop ||
		len(outcome.Usage) == 0 {
		t.Errorf("got %+v", outcome)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "hello from the mock LLM\n" {
		t.Errorf("%q, %v", text, err)
	}
	if left, err := os.ReadDir(s.spec.Dir); err != nil || len(left) != 1 {
		t.Errorf("more than the file is in the workspace: %v, %v", left, err)
	}
}

// A permission for a command must neither write .claude/settings.local.json into
// the user's repository nor allow the next command.
func TestTheRealProgramNeverWritesSettingsIntoTheWorkspace(t *testing.T) {
	t.Parallel()
	s, _ := openReal(t, agenthost.AgentSpec{})
	for range 2 {
		out := providertest.Answering(agenthost.Answer{Approved: true})
		s.prompt(t, out, "BASH touch made.txt")
		if asked := out.Of(providertest.KindConfirm); len(asked) != 1 {
			t.Errorf("asked %d times", len(asked))
		}
	}
	out := providertest.Answering(agenthost.Answer{})
	s.prompt(t, out, "WRITE denied.txt")
	if asked := out.Of(providertest.KindConfirm); len(asked) != 1 {
		t.Errorf("an edit was not asked for: %q", shown(out))
	}
	var left []string
	err := filepath.WalkDir(s.spec.Dir, func(path string, _ os.DirEntry, err error) error {
		left = append(left, filepath.Base(path))
		return err
	})
	if err != nil || !slices.Equal(left[1:], []string{"made.txt"}) {
		t.Errorf("in the workspace: %q, %v", left[1:], err)
	}
}

func TestTheRealProgramSchedulesNoLaterTurn(t *testing.T) {
	t.Parallel()
	s, llm := openReal(t, agenthost.AgentSpec{})
	s.prompt(t, &providertest.Recorder{}, "Say hello")
	for _, request := range llm.Requests() {
		if tools := request.Tools(); slices.Contains(tools, "ScheduleWakeup") || slices.Contains(tools, "CronCreate") {
			t.Errorf("it is offered %q", tools)
		}
	}
}

func TestARealSubAgentsTurnBelongsToTheRun(t *testing.T) {
	t.Parallel()
	s, _ := openReal(t, agenthost.AgentSpec{})
	out := providertest.Answering(agenthost.Answer{Approved: true})
	s.prompt(t, out, `CALL Agent {"description":"write it","prompt":"WRITE sub.txt","subagent_type":"general-purpose"}`)
	if !exists(filepath.Join(s.spec.Dir, "sub.txt")) || len(out.Texts()) < 2 {
		t.Errorf("shown %q", shown(out))
	}
	before := len(out.Entries())
	s.prompt(t, &providertest.Recorder{}, "Say hello")
	if after := len(out.Entries()); after != before {
		t.Errorf("it went on: %q", shown(out)[before:])
	}
}

// keeps waits until the program has stored a word of the session, because unstored
// text is lost when the program is killed.
func (s *subject) keeps(t *testing.T, word string) {
	t.Helper()
	providertest.AwaitWritten(t, filepath.Join(s.spec.StateDir, ".claude", "projects", "*", "*.jsonl"), word)
}

// leave closes the terminal and waits until the client has exited.
func leave(t *testing.T) {
	t.Helper()
	providertest.Signal(t, syscall.SIGHUP)
	for len(providertest.Running(t)()) > 0 && t.Context().Err() == nil {
		runtime.Gosched()
	}
}

func TestTheRealProgramRemembersAfterSIGKILL(t *testing.T) {
	t.Parallel()
	s, llm := openReal(t, agenthost.AgentSpec{})
	first := &providertest.Recorder{}
	s.prompt(t, first, "My word is xylophone")
	s.keeps(t, "Hello from the mock LLM")
	providertest.Signal(t, syscall.SIGKILL)
	s.spec.AgentSessionID = first.Of(providertest.KindAgentSession)[0].Text
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	s = reopen(t, llm, s.spec)
	out := &providertest.Recorder{Memory: "not asked for"}
	s.prompt(t, out, "Say it again")
	requests := llm.Requests()
	if body := requests[len(requests)-1].Body; !bytes.Contains(body, []byte("xylophone")) ||
		len(out.Of(providertest.KindRestored)) > 0 {
		t.Errorf("it has forgotten: %q", shown(out))
	}
}

func TestTheRealProgramResumesAfterSIGKILLWithAPermissionPending(t *testing.T) {
	t.Parallel()
	s, _ := openReal(t, agenthost.AgentSpec{})
	out := &providertest.Recorder{
		Decide: func(ctx context.Context, _ string, _ agenthost.Question) (agenthost.Answer, error) {
			s.keeps(t, "WRITE k.txt")
			providertest.Signal(t, syscall.SIGKILL)
			<-ctx.Done()
			return agenthost.Answer{Approved: true}, nil
		},
	}
	if outcome := s.prompt(t, out, "WRITE k.txt"); outcome.Reason != protocol.ReasonAgentExited {
		t.Errorf("got %+v", outcome)
	}
	out = &providertest.Recorder{}
	s.prompt(t, out, "Say hello")
	if exists(filepath.Join(s.spec.Dir, "k.txt")) || len(out.Of(providertest.KindConfirm)) > 0 ||
		len(out.Of(providertest.KindAgentSession)) > 0 {
		t.Errorf("shown %q", shown(out))
	}
}

func TestARealSessionThatIsLostGetsTheRecord(t *testing.T) {
	t.Parallel()
	s, llm := openReal(t, agenthost.AgentSpec{AgentSessionID: "0193a5c0-0000-4000-8000-000000000001"})
	out := &providertest.Recorder{Memory: "the word was xylophone. "}
	s.prompt(t, out, "Say hello")
	requests := llm.Requests()
	if body := requests[len(requests)-1].Body; !bytes.Contains(body, []byte("the word was xylophone. Say hello")) ||
		len(out.Of(providertest.KindAgentSession)) != 1 {
		t.Errorf("shown %q", shown(out))
	}
}

// An interrupt also ends background commands.
func TestARealCommandInTheBackgroundEndsWithTheTurn(t *testing.T) {
	t.Parallel()
	s, _ := openReal(t, agenthost.AgentSpec{})
	out := providertest.Answering(agenthost.Answer{Approved: true})
	done := make(chan agenthost.Outcome)
	go func() {
		outcome, err := s.Run(context.Background(),
			agenthost.Prompt{Text: `CALL Bash {"command":"sleep 3000","description":"wait","run_in_background":true}`}, out)
		if err != nil {
			t.Error(err)
		}
		done <- outcome
	}()
	if err := out.WaitFor(t.Context(), providertest.KindEndText, 1); err != nil {
		t.Fatal(err)
	}
	if err := s.Interrupt(t.Context()); err != nil {
		t.Error(err)
	}
	if outcome := <-done; outcome.Reason != protocol.ReasonAborted || len(providertest.Running(t)()) > 0 {
		t.Errorf("got %+v, left %q", outcome, providertest.Running(t)())
	}
}

func TestTheRealProgramReachesTheHostsTools(t *testing.T) {
	t.Parallel()
	local, _ := providertest.HostTool(t)
	s, _ := openReal(t, agenthost.AgentSpec{Local: local})
	out := providertest.Answering(agenthost.Answer{Approved: true})
	s.prompt(t, out, "CALL mcp__bellhop__workspace_getStatus {}")
	results := out.Of(providertest.KindResult)
	if len(out.Of(providertest.KindConfirm)) != 1 || len(results) != 1 ||
		!strings.Contains(string(results[0].Result.Output), "dirty") {
		t.Errorf("shown %q", shown(out))
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestTheRealTerminalClientContinuesTheSessionAndReports(t *testing.T) {
	t.Parallel()
	hooks := make(chan string, 100)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var hook struct {
			Event string `json:"hook_event_name"`
		}
		body, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(body, &hook)
		if r.Header.Get("Authorization") == "Bearer s3cret" && r.Header.Get("X-Workspace-Path") != "" {
			hooks <- hook.Event
		}
		_, _ = io.WriteString(w, "{}")
	}))
	t.Cleanup(web.Close)
	_, port, _ := net.SplitHostPort(web.Listener.Addr().String())
	s, llm := openReal(t, agenthost.AgentSpec{
		Local: &agenthost.Local{HookURL: web.URL, Secret: "s3cret"},
		Env:   []string{"BELLHOP_HOOK_PORT=" + port, "BELLHOP_WORKSPACE_SECRET=s3cret", "BELLHOP_WORKSPACE_PATH=/any"},
	})
	s.prompt(t, &providertest.Recorder{}, "My word is xylophone")
	client := terminal(t, s)
	screen := inTerminal(t, client, "TUI says marimba")
	var seen []string
	for event := ""; event != "Stop"; {
		select {
		case event = <-hooks:
			seen = append(seen, event)
		case <-time.After(3 * time.Minute):
			t.Fatalf("no Stop was reported; the screen: %s", screen.String())
		}
	}
	leave(t)
	if !slices.Contains(seen, "SessionStart") {
		t.Errorf("reported %q", seen)
	}
	out, before := &providertest.Recorder{}, len(llm.Requests())
	s.prompt(t, out, "Say hello")
	// The program also asks for other things meanwhile, such as a title.
	if !slices.ContainsFunc(llm.Requests()[before:], func(r mockllm.Request) bool {
		return bytes.Contains(r.Body, []byte("xylophone")) && bytes.Contains(r.Body, []byte("marimba"))
	}) {
		t.Errorf("the next turn does not continue: %q", shown(out))
	}
}

// inTerminal runs the client in a terminal with a first prompt.
func inTerminal(t *testing.T, client *agenthost.Terminal, prompt string) *bytes.Buffer {
	t.Helper()
	var line strings.Builder
	for _, word := range append(slices.Clone(client.Command), prompt) {
		line.WriteString("'" + word + "' ")
	}
	screen := &bytes.Buffer{}
	cmd := exec.Command("script", "-qec", "stty rows 40 cols 120; exec "+line.String(), os.DevNull)
	cmd.Dir, cmd.Stdout = client.Dir, screen
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "TERM=xterm-256color"}, client.Env...)
	keys, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = keys.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return screen
}
