package jsonl_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/jsonl"
	"bellhop/agenthost/provider/providertest"
	"bellhop/protocol"
)

func TestALineWithoutAnEndFailsTheTurnWithinBoundedMemory(t *testing.T) { //nolint:paralleltest // counts all allocations
	script := `read -r input; head -c 104857600 /dev/zero | tr '\0' x; echo; cat >/dev/null`
	out := &providertest.Recorder{}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	outcome := run(t, open(t, script, agenthost.AgentSpec{}), out)
	runtime.ReadMemStats(&after)
	const want = "The agent script sent a line over 12 MiB, which the host does not read. The turn was stopped"
	if outcome.FinishReason != protocol.FinishError || outcome.Err != want {
		t.Errorf("got %+v, want %q", outcome, want)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 8*protocol.MaxLine {
		t.Errorf("100 MiB without a newline allocated %d bytes", got)
	}
}

func TestAnExitDuringATurnReportsTheLastLines(t *testing.T) {
	t.Parallel()
	var lines []string
	for i := 11; i <= 60; i++ {
		lines = append(lines, fmt.Sprintf("line %d", i))
	}
	for name, c := range map[string]struct{ script, want string }{
		"an exit with status 1": {
			`read -r input; echo '{"type":"chunk","content":"so"}'; i=1; while [ $i -le 60 ]; do echo "line $i" >&2; i=$((i+1)); done; exit 1`,
			"The agent script exited during the turn: exit status 1\n" + strings.Join(lines, "\n"),
		},
		"a quiet end": {
			`read -r input; echo '{"type":"chunk","content":"so"}'`, "The agent script exited during the turn: it ended",
		},
		"a signal": {
			`read -r input; echo '{"type":"chunk","content":"so"}'; kill -9 $$`,
			"The agent script exited during the turn: signal: killed",
		},
		"the program closed its stdout": {
			`read -r input; echo '{"type":"chunk","content":"so"}'; exec >&-; sleep 1000`,
			"The agent script exited during the turn: signal: killed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			out := &providertest.Recorder{}
			outcome := run(t, open(t, c.script, agenthost.AgentSpec{}), out)
			want := agenthost.Outcome{FinishReason: protocol.FinishError, Reason: protocol.ReasonAgentExited, Err: c.want}
			if outcome.FinishReason != want.FinishReason || outcome.Reason != want.Reason || outcome.Err != want.Err {
				t.Errorf("got %+v, want %+v", outcome, want)
			}
			if got := shown(out); !slices.Equal(got, []string{"text  so"}) {
				t.Errorf("shown %q", got)
			}
		})
	}
}

// interrupted runs a script until it prints "ready" and interrupts it.
func interrupted(t *testing.T, script string, prompt string) (agenthost.Agent, agenthost.Outcome) {
	t.Helper()
	a, out := open(t, script, agenthost.AgentSpec{}), &providertest.Recorder{}
	outcome := make(chan agenthost.Outcome)
	go func() {
		o, err := a.Run(context.Background(), agenthost.Prompt{Text: prompt}, out)
		if err != nil {
			t.Error(err)
		}
		outcome <- o
	}()
	if err := out.WaitFor(t.Context(), providertest.KindText, 1); err != nil {
		t.Fatal(err)
	}
	go func() {
		if err := a.Interrupt(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	return a, <-outcome
}

func TestAnInterruptLeavesNoProcess(t *testing.T) {
	t.Parallel()
	ready := `echo '{"type":"chunk","content":"ready"}'; `
	for name, c := range map[string]struct{ script, prompt string }{
		"an agent that ignores the line takes SIGINT": {`read -r input; ` + ready + `while :; do sleep 0.01; done`, "go"},
		"an agent that ignores signals, with its forks": {
			`trap '' INT TERM HUP; (trap '' INT TERM; sleep 1000; sleep 1000) & setsid sh -c 'trap "" INT TERM; sleep 1000; sleep 1000' & read -r input; ` + ready + `while :; do sleep 1; done`,
			"go",
		},
		"an agent that does not even read its input": {
			ready + `trap '' INT; while :; do sleep 1; done`, strings.Repeat("long ", 1<<20),
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, outcome := interrupted(t, c.script, c.prompt)
			if outcome.FinishReason != protocol.FinishOther || outcome.Reason != protocol.ReasonAborted {
				t.Errorf("got %+v", outcome)
			}
			if left := providertest.Running(t)(); len(left) > 0 {
				t.Errorf("left %q", left)
			}
		})
	}
}

func TestStopWithAnEndedContextKillsAtOnce(t *testing.T) {
	t.Parallel()
	script := `trap '' INT TERM; read -r input; echo '{"type":"chunk","content":"ready"}'; while :; do sleep 1; done`
	provider := jsonl.New(jsonl.Options{Command: []string{"sh", "-c", script}, Grace: providertest.Guard})
	a, err := provider.Open(t.Context(), agenthost.AgentSpec{
		SessionID: "s1", Dir: t.TempDir(), StateDir: t.TempDir(), Env: []string{providertest.Mark(t)},
	})
	if err != nil {
		t.Fatal(err)
	}
	out, outcome := &providertest.Recorder{}, make(chan agenthost.Outcome)
	go func() {
		o, err := a.Run(context.Background(), agenthost.Prompt{Text: "go"}, out)
		if err != nil {
			t.Error(err)
		}
		outcome <- o
	}()
	if err := out.WaitFor(t.Context(), providertest.KindText, 1); err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	stopped := make(chan error, 1)
	go func() { stopped <- a.Close(over) }()
	if o := <-outcome; o.Reason != protocol.ReasonAborted {
		t.Errorf("got %+v", o)
	}
	if err := <-stopped; err != nil || len(providertest.Running(t)()) > 0 {
		t.Errorf("got %v, left %q", err, providertest.Running(t)())
	}
}

func TestAnAgentThatHandlesTheInterruptStaysAlive(t *testing.T) {
	t.Parallel()
	script := `while read -r line; do case "$line" in
*'"interrupt"'*) echo '{"type":"state","state":"waiting_for_input","reason":"interrupted"}';;
*) echo '{"type":"chunk","content":"ready"}';; esac; done`
	_, outcome := interrupted(t, script, "go")
	if outcome.Reason != protocol.ReasonAborted || len(providertest.Running(t)()) != 1 {
		t.Errorf("got %+v, running %q", outcome, providertest.Running(t)())
	}
}

func TestAnAgentThatExitedWhileIdleIsRestarted(t *testing.T) {
	t.Parallel()
	a := open(t, `read -r input; echo '`+done+`'`, agenthost.AgentSpec{})
	for range 3 {
		if outcome := run(t, a, &providertest.Recorder{}); outcome.FinishReason != protocol.FinishStop {
			t.Fatalf("got %+v", outcome)
		}
		for len(providertest.Running(t)()) > 0 {
			runtime.Gosched()
		}
	}
}

// Reliability PROC-2.
func TestTheProgramGetsOnlyItsOwnEnvironment(t *testing.T) {
	t.Setenv("BELLHOP_HOST_PASSWORD", "canary")
	file := filepath.Join(t.TempDir(), "env")
	script := `env >` + file + `; printf '%s ' "$@" >>` + file + `; read -r input; echo '` + done + `'; cat >/dev/null`
	a := open(t, script, agenthost.AgentSpec{Model: "m1", Env: []string{"API_KEY=secret", "HOME=/elsewhere"}})
	run(t, a, &providertest.Recorder{})
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"API_KEY=secret\n", "PATH=", "m1 "} {
		if !strings.Contains(string(got), want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
	for _, not := range []string{"canary", "HOME=/elsewhere"} {
		if strings.Contains(string(got), not) {
			t.Errorf("%q in %s", not, got)
		}
	}
}

func TestATurnThatCannotBeginReturnsAnError(t *testing.T) {
	t.Parallel()
	t.Run("without a command there is no agent", func(t *testing.T) {
		if _, err := jsonl.New(jsonl.Options{}).Open(t.Context(), agenthost.AgentSpec{}); err == nil {
			t.Error("an agent without a program was opened")
		}
	})
	t.Run("a prompt over the line limit is refused", func(t *testing.T) {
		a := open(t, "exit 1", agenthost.AgentSpec{})
		_, err := a.Run(t.Context(), agenthost.Prompt{Text: strings.Repeat("x", protocol.MaxLine)}, &providertest.Recorder{})
		if protocol.CodeOf(err) != protocol.CodeTooLarge {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a closed agent stays closed", func(t *testing.T) {
		a := open(t, "exit 1", agenthost.AgentSpec{})
		if err := a.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Run(t.Context(), agenthost.Prompt{Text: "go"}, &providertest.Recorder{}); err == nil {
			t.Error("it ran")
		}
	})
	t.Run("the turn's time is over before it began", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		a := open(t, "exit 1", agenthost.AgentSpec{})
		if _, err := a.Run(ctx, agenthost.Prompt{Text: "go"}, &providertest.Recorder{}); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}
