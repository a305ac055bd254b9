package claude_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/claude"
	"bellhop/agenthost/provider/providertest"
)

// subject is an agent whose program is the fake.
type subject struct {
	agenthost.Agent
	spec agenthost.AgentSpec
}

// opening holds changes to the options and the spec of the agent.
type opening struct {
	spec    agenthost.AgentSpec
	options claude.Options
}

// open creates an agent whose program plays the scripts, one for each start.
func open(t *testing.T, o opening, scripts ...string) *subject {
	t.Helper()
	path := filepath.Join(t.TempDir(), "script")
	for i, script := range scripts {
		name := path
		if i > 0 {
			name += "." + strconv.Itoa(i+1)
		}
		if err := os.WriteFile(name, []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o.spec.SessionID = "s1"
	o.spec.Dir, o.spec.StateDir = t.TempDir(), t.TempDir()
	o.spec.Env = append(o.spec.Env, playFake+"="+path, providertest.Mark(t), providertest.EndsAtOnce)
	if o.options.Find == nil {
		o.options.Find = found(os.Args[0])
	}
	if o.options.Grace == 0 {
		o.options.Grace = providertest.Guard
	}
	if o.options.FollowUp == 0 {
		o.options.FollowUp = providertest.Guard
	}
	a, err := claude.New(o.options).Open(t.Context(), o.spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if left := providertest.Running(t)(); len(left) > 0 {
			t.Errorf("left %q", left)
		}
	})
	return &subject{Agent: a, spec: o.spec}
}

// run plays one turn and checks the contract of agenthost.Agent.
func (s *subject) run(t *testing.T, out *providertest.Recorder) agenthost.Outcome {
	t.Helper()
	outcome, err := s.Run(t.Context(), agenthost.Prompt{TurnID: "t1", Text: "go"}, out)
	out.Finish()
	if err != nil {
		t.Fatal(err)
	}
	if broken := out.Broken(true); len(broken) > 0 {
		t.Errorf("the contract is broken: %q", broken)
	}
	return outcome
}

// interrupt plays a turn, and interrupts it after n entries of a kind.
func (s *subject) interrupt(t *testing.T, out *providertest.Recorder, kind string, n int) agenthost.Outcome {
	t.Helper()
	outcome := make(chan agenthost.Outcome)
	go func() {
		o, err := s.Run(context.Background(), agenthost.Prompt{TurnID: "t1", Text: "go"}, out)
		out.Finish()
		if err != nil {
			t.Error(err)
		}
		outcome <- o
	}()
	if err := out.WaitFor(t.Context(), kind, n); err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- s.Interrupt(context.Background()) }()
	o := <-outcome
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if broken := out.Broken(false); len(broken) > 0 {
		t.Errorf("the contract is broken: %q", broken)
	}
	return o
}

// shown returns what the output received, without empty ends of blocks and without
// the start of a new session.
func shown(out *providertest.Recorder) []string {
	lines := []string{}
	for _, e := range out.Entries() {
		switch e.Kind {
		case providertest.KindEndText:
			if e.Text != "" {
				lines = append(lines, fmt.Sprintf("end %q", e.Text))
			}
		case providertest.KindCall:
			lines = append(lines, fmt.Sprintf("call %s %s %s", e.Call.ID, e.Call.Name, e.Call.Input))
		case providertest.KindResult:
			lines = append(lines,
				fmt.Sprintf("result %s %s %s error=%v denied=%v", e.Result.ID, e.Result.Name, e.Result.Output,
					e.Result.IsError, e.Result.Denied))
		case providertest.KindConfirm, providertest.KindAsk:
			lines = append(lines,
				fmt.Sprintf("%s %q %s %s %s %q", e.Kind, e.Question.Prompt, e.Question.ToolCallID, e.Question.ToolName,
					e.Question.Args, e.Question.Options))
		case providertest.KindRestored:
		default:
			lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s%q", e.Kind, e.Level, e.Text)))
		}
	}
	return lines
}
