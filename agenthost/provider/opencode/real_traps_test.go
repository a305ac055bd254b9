//go:build agents

package opencode_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/opencode"
	"bellhop/agenthost/provider/providertest"
	"bellhop/internal/servers"
	"bellhop/internal/testenv/agents"
	"bellhop/internal/testenv/mockllm"
	"bellhop/protocol"
)

// real is an agent of the real program.
type real struct {
	agenthost.TerminalAgent
	llm     *mockllm.Server
	servers *servers.Manager
	spec    agenthost.AgentSpec
	options opencode.Options
}

func openReal(t *testing.T) *real {
	t.Helper()
	r := &real{
		llm: mockllm.New(t), servers: servers.New(servers.Options{StartTimeout: patience}),
		spec: agenthost.AgentSpec{SessionID: "s1", Dir: t.TempDir(), StateDir: t.TempDir(), Model: realModel},
	}
	path := agents.Find(t, "opencode")
	r.options = opencode.Options{
		Find:    func(context.Context) (string, error) { return path, nil },
		Env:     []string{"OPENAI_API_KEY=dummy", "OPENAI_BASE_URL=" + r.llm.URL + "/v1", providertest.Mark(t)},
		Servers: r.servers,
	}
	t.Cleanup(func() {
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if left := providertest.Running(t)(); len(left) > 0 {
			t.Errorf("left %q", left)
		}
	})
	r.reopen(t)
	return r
}

// reopen opens the agent again, as after a restart of the host.
func (r *real) reopen(t *testing.T) {
	t.Helper()
	a, err := opencode.New(r.options).Open(t.Context(), r.spec)
	if err != nil {
		t.Fatal(err)
	}
	r.TerminalAgent = a.(agenthost.TerminalAgent)
}

func (r *real) prompt(t *testing.T, text string, out *providertest.Recorder) agenthost.Outcome {
	t.Helper()
	outcome, err := r.Run(t.Context(), agenthost.Prompt{TurnID: "t", Text: text}, out)
	if err != nil {
		t.Fatal(err)
	}
	if broken := out.Broken(true); len(broken) > 0 {
		t.Errorf("the contract is broken: %q", broken)
	}
	return outcome
}

func (r *real) exists(t *testing.T, name string) bool {
	t.Helper()
	_, err := os.Stat(filepath.Join(r.spec.Dir, name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}

var allow = agenthost.Answer{Approved: true}

func TestRealSessionContinuesAfterItsServerAndHostWereKilled(t *testing.T) {
	t.Parallel()
	r := openReal(t)
	out := providertest.Answering(allow)
	wantOutcome(t, r.prompt(t, "WRITE hello.txt", out), protocol.FinishStop, "", "")
	if !r.exists(t, "hello.txt") {
		t.Error("nothing was written")
	}
	r.spec.AgentSessionID = out.Of(providertest.KindAgentSession)[0].Text

	endless := &providertest.Recorder{}
	done := begin(t, fixedPrompt{r, "SLOW 600"}, endless)
	if err := endless.WaitFor(t.Context(), providertest.KindText, 2); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(r.servers.List()[0].Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	wantOutcome(t, finish(t, done, endless, true), protocol.FinishError, protocol.ReasonAgentExited, "killed")

	r.reopen(t)
	again := &providertest.Recorder{}
	wantOutcome(t, r.prompt(t, "Say hello", again), protocol.FinishStop, "", "")
	if len(again.Of(providertest.KindAgentSession))+len(again.Of(providertest.KindRestored)) > 0 {
		t.Errorf("another session: %q", shown(again))
	}
	if requests := r.llm.Requests(); !strings.Contains(string(requests[len(requests)-1].Body), "WRITE hello.txt") {
		t.Errorf("the model did not get the earlier conversation: %s", requests[len(requests)-1].Body)
	}
}

// fixedPrompt is an agent with a fixed prompt.
type fixedPrompt struct {
	agenthost.Agent
	text string
}

func (p fixedPrompt) Run(
	ctx context.Context, prompt agenthost.Prompt, out agenthost.Output,
) (agenthost.Outcome, error) {
	prompt.Text = p.text
	return p.Agent.Run(ctx, prompt, out)
}

func TestRealToolsOfABusyHostAreWaitedFor(t *testing.T) {
	t.Parallel()
	r := openReal(t)
	r.spec.Local, _ = providertest.HostTool(t)
	r.reopen(t)
	out := providertest.Answering(agenthost.Answer{Approved: true})
	r.prompt(t, "CALL bellhop_workspace_getStatus {}", out)
	results := out.Of(providertest.KindResult)
	if len(results) != 1 || !strings.Contains(string(results[0].Result.Output), "dirty") {
		t.Errorf("got %+v", results)
	}
}

func TestRealAbortedTurnRunsNoToolLater(t *testing.T) {
	t.Parallel()
	r := openReal(t)
	out := &providertest.Recorder{}
	done := begin(t, fixedPrompt{r, "WRITE never.txt"}, out)
	if err := out.WaitFor(t.Context(), providertest.KindConfirm, 1); err != nil {
		t.Fatal(err)
	}
	if err := r.Interrupt(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantOutcome(t, finish(t, done, out, false), protocol.FinishOther, protocol.ReasonAborted, "")
	wantOutcome(t, r.prompt(t, "Say hello", &providertest.Recorder{}), protocol.FinishStop, "", "")
	if r.exists(t, "never.txt") {
		t.Error("the aborted tool ran")
	}
}

func TestRealDenialContinuesTheTurn(t *testing.T) {
	t.Parallel()
	r := openReal(t)
	out := providertest.Answering(agenthost.Answer{})
	wantOutcome(t, r.prompt(t, "WRITE a.txt", out), protocol.FinishStop, "", "")
	if results := out.Of(providertest.KindResult); len(results) != 1 || !results[0].Result.Denied || r.exists(t, "a.txt") {
		t.Errorf("shown %q", shown(out))
	}
}

func TestRealDenialDoesNotRejectAnApproval(t *testing.T) {
	t.Parallel()
	r := openReal(t)
	var out *providertest.Recorder
	out = &providertest.Recorder{
		Decide: func(ctx context.Context, _ string, q agenthost.Question) (agenthost.Answer, error) {
			// Both are asked before either is answered.
			err := out.WaitFor(ctx, providertest.KindConfirm, 2)
			return agenthost.Answer{Approved: strings.HasSuffix(q.Prompt, "b.txt")}, err
		},
	}
	wantOutcome(t, r.prompt(t, "TWO", out), protocol.FinishStop, "", "")
	if r.exists(t, "a.txt") || !r.exists(t, "b.txt") {
		t.Errorf("shown %q", shown(out))
	}
}

func TestRealSubAgentsAskForPermission(t *testing.T) {
	t.Parallel()
	r := openReal(t)
	out := providertest.Answering(allow)
	wantOutcome(t, r.prompt(t, `CALL task {"description":"sub","prompt":"WRITE sub.txt","subagent_type":"general"}`, out),
		protocol.FinishStop, "", "")
	// The start of the sub-agent is asked as well as its own call.
	if len(out.Of(providertest.KindConfirm)) != 2 || len(out.Of(providertest.KindResult)) != 2 || !r.exists(t, "sub.txt") {
		t.Errorf("shown %q", shown(out))
	}
}

func TestRealRepositoryCannotAllowItsOwnTools(t *testing.T) {
	t.Parallel()
	r := openReal(t)
	own := `{"permission":{"edit":"allow","bash":"allow"},"agent":{"build":{"permission":{"edit":"allow"}}}}`
	if err := os.WriteFile(filepath.Join(r.spec.Dir, "opencode.json"), []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	out := providertest.Answering(agenthost.Answer{Reason: "no"})
	r.prompt(t, "WRITE hello.txt", out)
	if len(out.Of(providertest.KindConfirm)) != 1 || r.exists(t, "hello.txt") {
		t.Errorf("shown %q", shown(out))
	}
}

// The program ends its stream when it disposes of a directory.
func TestRealStreamThatEndsIsOpenedAgain(t *testing.T) {
	t.Parallel()
	r := openReal(t)
	out := &providertest.Recorder{}
	done := begin(t, fixedPrompt{r, "WRITE never.txt"}, out)
	if err := out.WaitFor(t.Context(), providertest.KindConfirm, 1); err != nil {
		t.Fatal(err)
	}
	terminal, err := r.Terminal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, terminal.Command[2]+"/instance/dispose", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.SetBasicAuth("opencode", strings.TrimPrefix(terminal.Env[2], "OPENCODE_SERVER_PASSWORD="))
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	outcome := finish(t, done, out, true)
	if outcome.FinishReason == protocol.FinishStop || r.exists(t, "never.txt") {
		t.Errorf("got %+v, shown %q", outcome, shown(out))
	}
	wantOutcome(t, r.prompt(t, "Say hello", &providertest.Recorder{}), protocol.FinishStop, "", "")
}

func TestRealModelThatAlwaysFailsEndsTheTurn(t *testing.T) {
	t.Parallel()
	r := openReal(t)
	r.options.Retries = 1
	r.reopen(t)
	out := &providertest.Recorder{}
	wantOutcome(t, r.prompt(t, "FAIL500", out), protocol.FinishError, "", "mock error 500")
	if len(out.Of(providertest.KindNotice)) != 1 {
		t.Errorf("shown %q", shown(out))
	}
}

func TestRealAnthropicAccess(t *testing.T) {
	t.Parallel()
	r := openReal(t)
	r.options.Env = []string{"ANTHROPIC_API_KEY=dummy", "ANTHROPIC_BASE_URL=" + r.llm.URL, providertest.Mark(t)}
	r.spec.Model = "anthropic/mock-1"
	r.reopen(t)
	wantOutcome(t, r.prompt(t, "Say hello", &providertest.Recorder{}), protocol.FinishStop, "", "")
	// The failed prompt is in one message with the next prompt.
	wantOutcome(t, r.prompt(t, "FAIL400", &providertest.Recorder{}), protocol.FinishError, "", "mock error 400")
	wantOutcome(t, r.prompt(t, "Say hello", &providertest.Recorder{}), protocol.FinishStop, "", "")
}

func TestRealTerminalFindsTheSession(t *testing.T) {
	t.Parallel()
	r := openReal(t)
	out := &providertest.Recorder{}
	r.prompt(t, "Say hello", out)
	terminal, err := r.Terminal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	port := "BELLHOP_OPENCODE_PORT=" + strconv.Itoa(r.servers.List()[0].Port)
	session := "BELLHOP_OPENCODE_SESSION_ID=" + out.Of(providertest.KindAgentSession)[0].Text
	if !slices.Contains(terminal.Env, port) || !slices.Contains(terminal.Env, session) {
		t.Errorf("got %q", terminal.Env)
	}
}

// A terminal client prompts the server by the same requests as this test.
func TestRealWorkOfATerminalClientIsReported(t *testing.T) {
	t.Parallel()
	r := openReal(t)
	seen := newReports()
	worked := make(chan agenthost.TerminalTurn, 10)
	r.spec.Report, r.spec.ReportTerminalTurn = seen.add, func(turn agenthost.TerminalTurn) { worked <- turn }
	r.reopen(t)
	terminal, err := r.Terminal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	variable := func(name string) string {
		i := slices.IndexFunc(terminal.Env, func(v string) bool { return strings.HasPrefix(v, name+"=") })
		return strings.TrimPrefix(terminal.Env[i], name+"=")
	}
	base := "http://127.0.0.1:" + variable("BELLHOP_OPENCODE_PORT")
	call := func(method, path, body string) string {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.SetBasicAuth("opencode", variable("OPENCODE_SERVER_PASSWORD"))
		request.Header.Set("Content-Type", "application/json")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		content, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode > 299 {
			t.Fatalf("%s %s: %s %s %v", method, path, response.Status, content, err)
		}
		return string(content)
	}
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	call("POST", "/session/"+variable("BELLHOP_OPENCODE_SESSION_ID")+"/prompt_async",
		`{"model":{"providerID":"openai-compatible","modelID":"mock-1"},"parts":[{"type":"text","text":"WRITE by-hand.txt"}]}`)
	seen.until(t, "idle"+protocol.ReasonWaiting)
	var asked []struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal([]byte(call("GET", "/permission", "")), &asked); err != nil || len(asked) != 1 {
		t.Fatalf("%+v, %v", asked, err)
	}
	call("POST", "/permission/"+asked[0].ID+"/reply", `{"reply":"once"}`)
	seen.until(t, "idle")
	if !r.exists(t, "by-hand.txt") || !slices.Contains(seen.lines, "busy") {
		t.Errorf("reported %q", seen.lines)
	}
	select {
	case turn := <-worked:
		if line := workedTurn(turn); turn.Prompt != "WRITE by-hand.txt" || !strings.Contains(line, "call ") ||
			turn.Outcome.FinishReason != protocol.FinishStop {
			t.Errorf("the turn is %s", line)
		}
	case <-time.After(patience):
		t.Error("the turn is not reported")
	}
}
