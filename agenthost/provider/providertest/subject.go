package providertest

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"bellhop/agenthost"
)

// Subject is a provider under test with the prompts that trigger the behaviour of
// each case.
type Subject struct {
	Provider agenthost.Provider
	Spec     agenthost.AgentSpec // empty Dir and StateDir become temporary directories
	Prompts  Prompts

	// AsksAlways is whether the agent asks about every call, also about harmless ones.
	AsksAlways bool

	// StartsSlowly: each start of the program takes seconds of a processor.
	StartsSlowly bool

	// CannotStart is a provider whose program cannot be started.
	CannotStart agenthost.Provider

	// Forget deletes the closed agent's memory of its session; nil: the agent has
	// no memory of its own. Input, if not nil, returns everything that its model
	// has received so far.
	Forget func(t *testing.T, spec agenthost.AgentSpec)
	Input  func() string

	// AwaitMemory waits until the agent has stored its memory, for agents that do
	// so with a delay. AgeMemory makes a closed agent's memory older, for agents
	// that cannot resume a session of the current minute. Both may be nil.
	AwaitMemory func(t *testing.T, spec agenthost.AgentSpec)
	AgeMemory   func(t *testing.T, spec agenthost.AgentSpec)

	// Lose cuts the connection to the running program, which continues; nil: the
	// connection cannot be lost.
	Lose func()

	// Kill ends the running program with SIGKILL; nil: there is none.
	Kill func(t *testing.T)

	// Running lists what the provider has left running: programs, goroutines. It is
	// called after Close and must return an empty list.
	Running func() []string
}

// Prompts of a Subject. For an ability that the agent lacks, the prompt is empty
// and the case is skipped; Text and Endless are required.
type Prompts struct {
	Text    string // sends text in several deltas, and finishes
	Tool    string // calls at least one tool that needs no permission
	Confirm string // asks permission for one tool call
	Ask     string // asks one free question
	Endless string // streams text until it is stopped
	Crash   string // sends text, then its program dies with LastLines on stderr
	Fail    string // reports a failure of the agent

	CrashAsking string // asks, then its program dies

	LastLines string
}

// guard ends a hanging case. No case depends on how long anything takes.
const guard = 15 * time.Minute

// turn is one running or ended call of Agent.Run.
type turn struct {
	out     *Recorder
	cancel  context.CancelFunc
	done    chan struct{}
	outcome agenthost.Outcome
	err     error
}

// subject is an open agent in one case.
type subject struct {
	Subject
	t     *testing.T
	ctx   context.Context
	agent agenthost.Agent
}

func newSubject(t *testing.T, s Subject) *subject {
	t.Helper()
	ctx := guarded(t)
	if s.Spec.SessionID == "" {
		s.Spec.SessionID = "0193a5c0-0000-7000-8000-000000000001"
	}
	if s.Spec.Dir == "" {
		s.Spec.Dir = t.TempDir()
	}
	if s.Spec.StateDir == "" {
		s.Spec.StateDir = t.TempDir()
	}
	if s.Spec.Log == nil {
		s.Spec.Log = slog.New(slog.NewTextHandler(t.Output(), nil)) // shown if the test fails
	}
	agent, err := s.Provider.Open(ctx, s.Spec)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	u := &subject{Subject: s, t: t, ctx: ctx, agent: agent}
	t.Cleanup(u.close)
	return u
}

func guarded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), guard)
	t.Cleanup(cancel)
	return ctx
}

// shared is the agent of all cases that can share one, in their order.
type shared struct {
	t    *testing.T // of all cases
	open func(t *testing.T) Subject

	next    *Subject // for the next agent; nil = a new one
	subject *subject // nil before the first case, and after one that failed
}

// check runs a case with the agent of the case before. If that case failed, its agent may still be busy.
func (s *shared) check(t *testing.T, check func(*subject)) {
	t.Helper()
	if s.subject == nil {
		if s.next == nil {
			opened := s.open(s.t)
			s.next = &opened
		}
		s.subject, s.next = newSubject(s.t, *s.next), nil
	}
	u := *s.subject
	u.t, u.ctx = t, guarded(t)
	defer func() {
		if t.Failed() {
			s.close()
		}
	}()
	check(&u)
}

// close ends the agent, if there is one.
func (s *shared) close() {
	if s.subject != nil {
		s.subject.close()
		s.subject = nil
	}
}

// close closes the agent twice, and checks that nothing is still running.
func (u *subject) close() {
	for range 2 {
		if err := u.agent.Close(context.WithoutCancel(u.ctx)); err != nil {
			u.t.Errorf("close: %v", err)
		}
	}
	if u.Running == nil {
		return
	}
	if left := u.Running(); len(left) > 0 {
		u.t.Errorf("still running after Close: %q", left)
	}
}

// start runs a prompt in the background.
func (u *subject) start(out *Recorder, prompt string) *turn {
	ctx, cancel := context.WithCancel(u.ctx)
	r := &turn{out: out, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		defer cancel()
		r.outcome, r.err = u.agent.Run(ctx, agenthost.Prompt{TurnID: "turn-1", Text: prompt}, out)
		out.Finish()
	}()
	return r
}

// wait waits for the end of a turn that began.
func (u *subject) wait(r *turn) agenthost.Outcome {
	u.t.Helper()
	select {
	case <-r.done:
	case <-u.ctx.Done():
		u.t.Fatalf("Run does not return; it shown %+v", r.out.Entries())
	}
	if r.err != nil {
		u.t.Fatalf("run: %v", r.err)
	}
	return r.outcome
}

// run plays a complete turn and checks the rules for all turns.
func (u *subject) run(out *Recorder, prompt string) agenthost.Outcome {
	u.t.Helper()
	outcome := u.wait(u.start(out, prompt))
	if broken := out.Broken(true); len(broken) > 0 {
		u.t.Errorf("the contract is broken: %q", broken)
	}
	return outcome
}

// await waits until the turn has n entries of a kind.
func (u *subject) await(r *turn, kind string, n int) {
	u.t.Helper()
	if err := r.out.WaitFor(u.ctx, kind, n); err != nil {
		u.t.Fatal(err)
	}
}
