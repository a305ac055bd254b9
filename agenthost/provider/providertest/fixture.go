package providertest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// Guard is a grace period that no test reaches.
const Guard = time.Hour

// Outcomes of successful and of stopped turns.
var (
	Finished = agenthost.Outcome{FinishReason: protocol.FinishStop}
	Aborted  = agenthost.Outcome{FinishReason: protocol.FinishOther, Reason: protocol.ReasonAborted}
)

// Fixture is an agent whose program plays scripts (see Main), one for each start.
type Fixture struct {
	T       *testing.T
	Spec    agenthost.AgentSpec
	Program string   // path of the program: this test binary
	Env     []string // for the program

	Open  func(agenthost.AgentSpec) (agenthost.Agent, error) // set by the test
	Agent agenthost.Agent                                    // nil before the first turn
}

// NewFixture creates a fixture that plays these scripts.
func NewFixture(t *testing.T, scripts ...string) *Fixture {
	t.Helper()
	dir := t.TempDir()
	for i, script := range scripts {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.jsonl", i+1)), []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return NewFixtureOf(t, dir)
}

// NewFixtureOf creates a fixture that plays the scripts in a folder.
func NewFixtureOf(t *testing.T, dir string) *Fixture {
	t.Helper()
	program, err := os.Executable()
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	return &Fixture{
		T: t, Program: program, Env: []string{playScript + "=" + dir, EndsAtOnce},
		Spec: agenthost.AgentSpec{SessionID: "0193a5c0-0000-7000-8000-000000000001", Dir: t.TempDir(), StateDir: t.TempDir()},
	}
}

// Begin starts a turn and opens the agent first if there is none. The returned
// function waits for the end of the turn.
func (f *Fixture) Begin(out *Recorder, prompt agenthost.Prompt) (end func() (agenthost.Outcome, error)) {
	f.T.Helper()
	f.open()
	var outcome agenthost.Outcome
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		outcome, err = f.Agent.Run(f.T.Context(), prompt, out)
		out.Finish()
	}()
	return func() (agenthost.Outcome, error) {
		<-done
		return outcome, err
	}
}

func (f *Fixture) open() {
	f.T.Helper()
	if f.Agent != nil {
		return
	}
	agent, err := f.Open(f.Spec)
	if err != nil {
		f.T.Fatal(err)
	}
	f.Agent = agent
	f.T.Cleanup(func() {
		if err := agent.Close(context.Background()); err != nil {
			f.T.Error(err)
		}
		unexpected, err := os.ReadFile(filepath.Join(f.Spec.StateDir, "unexpected"))
		if !errors.Is(err, fs.ErrNotExist) {
			f.T.Errorf("the program received unexpected input: %v\n%s", err, unexpected)
		}
	})
}

// Run plays a complete turn and checks the contract of agenthost.Agent.
func (f *Fixture) Run(out *Recorder, prompt string) agenthost.Outcome {
	f.T.Helper()
	outcome, err := f.Begin(out, agenthost.Prompt{TurnID: "turn-1", Text: prompt})()
	if err != nil {
		f.T.Fatal(err)
	}
	if broken := out.Broken(true); len(broken) > 0 {
		f.T.Errorf("the contract is broken: %q", broken)
	}
	return outcome
}

// InterruptAt begins a turn, interrupts it at the first entry of a kind, and checks
// that it is aborted.
func (f *Fixture) InterruptAt(out *Recorder, kind string) {
	f.T.Helper()
	end := f.Begin(out, agenthost.Prompt{Text: "hello"})
	f.Await(out, kind)
	f.Interrupt(end)
}

// Interrupt interrupts a turn and checks that it is aborted.
func (f *Fixture) Interrupt(end func() (agenthost.Outcome, error)) {
	f.T.Helper()
	if err := f.Agent.Interrupt(f.T.Context()); err != nil {
		f.T.Error(err)
	}
	outcome, err := end()
	if err != nil {
		f.T.Error(err)
	}
	f.Want(outcome, Aborted)
}

// Await waits for the first entry of a kind.
func (f *Fixture) Await(out *Recorder, kind string) {
	f.T.Helper()
	if err := out.WaitFor(f.T.Context(), kind, 1); err != nil {
		f.T.Fatal(err)
	}
}

// Want compares outcomes. For the error text a part is sufficient.
func (f *Fixture) Want(got, want agenthost.Outcome) {
	f.T.Helper()
	if got.FinishReason != want.FinishReason || got.Reason != want.Reason || !strings.Contains(got.Err, want.Err) {
		f.T.Errorf("got the outcome %+v, want %+v", got, want)
	}
}

// Answering returns an output that gives every question the same answer.
func Answering(answer agenthost.Answer) *Recorder {
	return &Recorder{Decide: func(context.Context, string, agenthost.Question) (agenthost.Answer, error) {
		return answer, nil
	}}
}

// DebugLog is a log handler that sends a value for each debug record. The engine
// writes one when a message arrives while no turn is running.
type DebugLog chan struct{}

// Enabled implements slog.Handler.
func (l DebugLog) Enabled(context.Context, slog.Level) bool { return true }

// WithAttrs implements slog.Handler.
func (l DebugLog) WithAttrs([]slog.Attr) slog.Handler { return l }

// WithGroup implements slog.Handler.
func (l DebugLog) WithGroup(string) slog.Handler { return l }

// Handle implements slog.Handler.
func (l DebugLog) Handle(_ context.Context, r slog.Record) error {
	if r.Level == slog.LevelDebug {
		l <- struct{}{}
	}
	return nil
}
