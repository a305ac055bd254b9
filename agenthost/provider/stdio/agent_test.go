package stdio_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/providertest"
	"bellhop/agenthost/provider/stdio"
	"bellhop/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo is the protocol of a program that sends every line back: a prompt is its own
// answer.
type echo struct {
	script  string // sh; "" = cat
	session string // the id that Open returns
	lost    []bool // for each Open: whether the memory is lost
	gone    int    // how often Open reports that the session is lost
	starts  int
}

type line struct{ Text string }

func (e *echo) Command(context.Context) (args, env []string, err error) {
	e.starts++
	script := e.script
	if script == "" {
		script = "cat"
	}
	return []string{"sh", "-c", script}, stdio.Environment(), nil
}

func (e *echo) Connect(child *stdio.Child, _ func(line) bool) stdio.Connection[line] {
	return &connection{e, child}
}

type connection struct {
	*echo
	child *stdio.Child
}

func (c *connection) Decode(raw []byte) (l line, err error) {
	if json.Unmarshal(raw, &l) != nil {
		err = errors.New("nonsense")
	}
	return l, err
}

func (c *connection) Open(context.Context, string, agenthost.Output) (id string, memoryLost bool, err error) {
	if c.gone > 0 {
		c.gone--
		c.child.CloseInput()
		<-c.child.Ended()
		return "", false, stdio.ErrSessionLost
	}
	if len(c.lost) > 0 {
		memoryLost, c.lost = c.lost[0], c.lost[1:]
	}
	return c.session, memoryLost, nil
}

func (c *connection) Reject(line) {}

func (c *connection) Begin(t *stdio.Turn) stdio.Exchange[line] { return &exchange{t, c.child} }

type exchange struct {
	*stdio.Turn
	child *stdio.Child
}

func (e *exchange) Prompt(ctx context.Context, prompt agenthost.Prompt, restored string) error {
	return e.child.SendPrompt(ctx, stdio.Encode(line{stdio.Join(restored, prompt.Text)}))
}

func (e *exchange) Handle(l line) (*agenthost.Outcome, error) {
	return &agenthost.Outcome{FinishReason: protocol.FinishStop}, e.Out.EndText(l.Text)
}

func (e *exchange) Cancel(context.Context)         {}
func (e *exchange) Drain(line, bool) (bool, error) { return true, nil }
func (e *exchange) Close(bool) error               { return nil }
func (e *exchange) Usage() json.RawMessage         { return nil }

func open(t *testing.T, e *echo, sessionID string) *stdio.Agent[line] {
	t.Helper()
	spec := agenthost.AgentSpec{SessionID: "s1", Dir: t.TempDir(), StateDir: t.TempDir(), AgentSessionID: sessionID}
	agent := stdio.New(stdio.Config{Name: "echo", LimitPrompt: true}, spec, e)
	t.Cleanup(func() {
		if err := agent.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return agent
}

// run plays a turn and returns its texts.
func run(t *testing.T, agent *stdio.Agent[line], out agenthost.Output) agenthost.Outcome {
	t.Helper()
	outcome, err := agent.Run(t.Context(), agenthost.Prompt{Text: "hello"}, out)
	if err != nil {
		t.Fatal(err)
	}
	return outcome
}

// forgetful is an output that cannot return the record of the conversation.
type forgetful struct{ *providertest.Recorder }

func (forgetful) Restored(context.Context) (string, error) { return "", providertest.ErrOutput }

func TestAFailedRecordIsSentWithTheNextPrompt(t *testing.T) {
	t.Parallel()
	agent := open(t, &echo{session: "s", lost: []bool{true}}, "")
	if got := run(t, agent, forgetful{&providertest.Recorder{}}); got.Reason != protocol.ReasonAborted {
		t.Errorf("got %+v", got)
	}
	second, third := &providertest.Recorder{Memory: "record"}, &providertest.Recorder{Memory: "record"}
	run(t, agent, second)
	run(t, agent, third)
	if got := slices.Concat(second.Texts(), third.Texts()); !slices.Equal(got, []string{"record\n\nhello", "hello"}) {
		t.Errorf("the prompts were %q", got)
	}
}

func TestASessionIsAnnouncedOnceAndOnlyIfItIsNew(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule, sessionID string
		want            int
	}{{"new", "", 1}, {"resumed", "s", 0}, {"replaced", "old", 1}} {
		t.Run(c.rule, func(t *testing.T) {
			agent, out := open(t, &echo{session: "s"}, c.sessionID), &providertest.Recorder{}
			run(t, agent, out)
			if err := agent.Stop(t.Context()); err != nil {
				t.Error(err)
			}
			run(t, agent, out)
			if got := out.Of(providertest.KindAgentSession); len(got) != c.want {
				t.Errorf("announced %+v", got)
			}
		})
	}
}

func TestALostSessionIsRetriedOnce(t *testing.T) {
	t.Parallel()
	e := &echo{gone: 1}
	run(t, open(t, e, "old"), &providertest.Recorder{})
	if e.starts != 2 {
		t.Errorf("started %d times", e.starts)
	}
	_, err := open(t, &echo{gone: 2}, "old").Run(t.Context(), agenthost.Prompt{Text: "hello"}, &providertest.Recorder{})
	if !errors.Is(err, stdio.ErrSessionLost) {
		t.Errorf("got %v", err)
	}
}

func TestAPromptThatIsTooLargeForARestartIsReported(t *testing.T) {
	t.Parallel()
	// The second child needs the record too, which makes the prompt too large.
	e := &echo{script: `read -r one; echo "$one"; read -r two`, lost: []bool{false, true}}
	agent := open(t, e, "")
	run(t, agent, &providertest.Recorder{})
	got := run(t, agent, &providertest.Recorder{Memory: strings.Repeat("x", protocol.MaxLine)})
	if got.Reason != protocol.ReasonAgentExited || !strings.Contains(got.Err, "echo exited during the turn: ") {
		t.Errorf("got %+v", got)
	}
}

func TestAPromptThatIsTooLargeStartsNoProgram(t *testing.T) {
	t.Parallel()
	e := &echo{}
	_, err := open(t, e, "").Run(t.Context(), agenthost.Prompt{Text: strings.Repeat("x", protocol.MaxLine)},
		&providertest.Recorder{})
	if protocol.CodeOf(err) != protocol.CodeTooLarge || e.starts > 0 {
		t.Errorf("got %v after %d starts", err, e.starts)
	}
}

func TestWhileIdle(t *testing.T) {
	t.Parallel()
	agent := open(t, &echo{}, "")
	out := &providertest.Recorder{}
	called := 0
	if err := agent.WhileIdle(func() error { called++; return agent.StopChild(t.Context()) }); err != nil {
		t.Error(err)
	}
	busy, err := agent.Begin(t.Context(), out)
	if err != nil {
		t.Fatal(err)
	}
	if err := agent.WhileIdle(func() error { called++; return nil }); protocol.CodeOf(err) != protocol.CodeConflict {
		t.Errorf("during a turn: %v", err)
	}
	agent.End(busy)
	agent.RefuseTurns()
	if err := agent.WhileIdle(func() error { called++; return nil }); !errors.Is(err, stdio.ErrClosed) || called != 1 {
		t.Errorf("after the end: %v, called %d times", err, called)
	}
}

func TestProgramsDoNotGetTheHostsOwnVariables(t *testing.T) {
	t.Setenv("BELLHOP_SECRET", "canary")
	t.Setenv("TZ", "UTC")
	env := stdio.Environment([]string{"A=1"}, []string{"A=2"})
	if stdio.Lookup(env, "BELLHOP_SECRET") != "" || stdio.Lookup(env, "TZ") != "UTC" || stdio.Lookup(env, "A") != "2" {
		t.Errorf("got %q", env)
	}
}

func TestReadMemoryLimitsSizeAndRefusesLinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := errors.Join(
		os.WriteFile(filepath.Join(dir, "memory"), []byte("remember"), 0o600),
		os.Symlink("memory", filepath.Join(dir, "link")), syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	if got := []string{
		stdio.ReadMemory(dir, "memory", 3), stdio.ReadMemory(dir, "link", 3), stdio.ReadMemory(dir, "none", 3),
		stdio.ReadMemory(dir, "fifo", 3),
	}; !slices.Equal(got, []string{"rem", "", "", ""}) {
		t.Errorf("got %q", got)
	}
}
