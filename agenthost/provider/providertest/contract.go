package providertest

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// rule is one case of the contract.
type rule struct {
	name   string
	prompt string // that the case needs
	check  func(*subject)

	// leavesIdle: after the case the program is running and idle, so that one that starts slowly can serve the next case
	// too. Cases about the stop and the memory of an agent have one of their own.
	leavesIdle bool
}

// Run checks the contract of agenthost.Provider, Agent and Output. It skips cases whose prompt is empty. It calls open
// once for each case, or once for all that can share an agent if Subject.StartsSlowly.
func Run(t *testing.T, open func(t *testing.T) Subject) {
	t.Helper()
	first := open(t)
	prompts := first.Prompts
	if prompts.Text == "" || prompts.Endless == "" {
		t.Fatal("the prompts Text and Endless are required")
	}
	common := &shared{t: t, open: open, next: &first}
	for _, c := range []rule{
		{"text is streamed and its block ended once", prompts.Text, text, true},
		{"every tool call has one result", prompts.Tool, tool, true},
		{"a denied call has a denied result", prompts.Confirm, denied, true},
		{"a question that expires is a denial", prompts.Confirm, expired, true},
		{"an approved call is carried out", prompts.Confirm, approved, true},
		{"an answered question lets the turn go on", prompts.Ask, asked, true},
		{"a question without an answer lets the turn go on", prompts.Ask, unanswered, true},
		{"interrupt stops a streaming turn", prompts.Endless, interruptStreaming, true},
		{"interrupt withdraws an open question", prompts.Ask, interruptQuestion, true},
		{"interrupt withdraws an open permission request", prompts.Confirm, interruptConfirm, true},
		{"interrupt, stop and close of an idle agent are no errors", prompts.Text, idle, false},
		{"interrupts may come from everywhere at once", prompts.Endless, interruptTwice, true},
		{"a prompt that was given up does not run in the next turn", prompts.Endless, givenUp, true},
		{"a turn after stop resumes", prompts.Text, resume, false},
		{"stop ends a streaming turn", prompts.Endless, stopStreaming, false},
		{"close ends a streaming turn", prompts.Endless, closeStreaming, false},
		{"a failure of the agent is an outcome", prompts.Fail, failure, true},
		{"a crash is an outcome with the program's last lines", prompts.Crash, crash, true},
		{"a program that dies while it asks expires its question", prompts.CrashAsking, crashAsking, false},
		{"the end of the context ends a streaming turn", prompts.Endless, cancelStreaming, true},
		{"the end of the context ends a turn that waits", prompts.Ask, cancelWaiting, true},
		{"an output that fails ends the turn", prompts.Endless, outputFails, true},
	} {
		switch {
		case c.prompt == "":
		case first.StartsSlowly && c.leavesIdle:
			t.Run(c.name, func(t *testing.T) { common.check(t, c.check) })
		default:
			t.Run(c.name, func(t *testing.T) { c.check(newSubject(t, open(t))) })
		}
	}
	common.close()
	runOptional(t, first, open)
	t.Run("a program that cannot start is an error", func(t *testing.T) {
		s := open(t)
		if s.CannotStart == nil {
			t.Fatal("the subject has no CannotStart")
		}
		s.Provider = s.CannotStart
		cannotStart(newSubject(t, s))
	})
}

// runOptional checks the abilities that only some subjects have.
func runOptional(t *testing.T, first Subject, open func(t *testing.T) Subject) {
	t.Helper()
	for _, c := range []struct {
		rule  string
		can   func(Subject) bool
		check func(*subject)
	}{
		{"an agent that comes back remembers", func(s Subject) bool { return s.Forget != nil }, comesBack},
		{"an agent that has forgotten gets the record", func(s Subject) bool { return s.Forget != nil }, forgets},
		{
			"a program that is killed while it asks expires its question",
			func(s Subject) bool { return s.Kill != nil && s.Prompts.Confirm != "" },
			killedAsking,
		},
		{
			"a question outlives a lost connection",
			func(s Subject) bool { return s.Lose != nil && s.Prompts.Confirm != "" }, loses,
		},
	} {
		if c.can(first) {
			t.Run(c.rule, func(t *testing.T) { c.check(newSubject(t, open(t))) })
		}
	}
}

func (u *subject) want(got agenthost.Outcome, reason protocol.FinishReason, detail string) {
	u.t.Helper()
	if cmp.Or(got.FinishReason, protocol.FinishStop) != reason || got.Reason != detail {
		u.t.Errorf("got outcome %+v, want %s %s", got, reason, detail)
	}
}

func text(u *subject) {
	out := &Recorder{}
	u.want(u.run(out, u.Prompts.Text), protocol.FinishStop, "")
	if len(out.Of(KindText)) < 2 || strings.TrimSpace(strings.Join(out.Texts(), "")) == "" {
		u.t.Errorf("no text in several deltas: %+v", out.Entries())
	}
}

func tool(u *subject) {
	out := Answering(agenthost.Answer{Approved: true})
	u.want(u.run(out, u.Prompts.Tool), protocol.FinishStop, "")
	calls, asked := len(out.Of(KindCall)), len(out.Of(KindConfirm))
	if calls == 0 || u.AsksAlways && asked != calls || !u.AsksAlways && asked > 0 {
		u.t.Errorf("%d calls, asked about %d: %+v", calls, asked, out.Entries())
	}
}

func confirmed(u *subject, answer agenthost.Answer) []Entry {
	u.t.Helper()
	out := Answering(answer)
	u.want(u.run(out, u.Prompts.Confirm), protocol.FinishStop, "")
	if len(out.Of(KindConfirm)) == 0 {
		u.t.Fatalf("no permission was asked: %+v", out.Entries())
	}
	return slices.DeleteFunc(out.Of(KindResult), func(e Entry) bool { return !e.Result.Denied })
}

func approved(u *subject) {
	if denied := confirmed(u, agenthost.Answer{Approved: true}); len(denied) > 0 {
		u.t.Errorf("denied although approved: %+v", denied)
	}
}

func denied(u *subject) {
	if len(confirmed(u, agenthost.Answer{Reason: "no"})) == 0 {
		u.t.Error("no result is denied")
	}
}

func expired(u *subject) {
	if len(confirmed(u, agenthost.Answer{Expired: true})) == 0 {
		u.t.Error("no result is denied")
	}
}

func asked(u *subject) {
	out := Answering(agenthost.Answer{Text: "teal"})
	u.want(u.run(out, u.Prompts.Ask), protocol.FinishStop, "")
	if len(out.Of(KindAsk)) == 0 {
		u.t.Errorf("nothing was asked: %+v", out.Entries())
	}
}

func unanswered(u *subject) {
	u.want(u.run(Answering(agenthost.Answer{Expired: true}), u.Prompts.Ask), protocol.FinishStop, "")
}

// stopped runs a prompt until it has n entries of a kind, ends it and returns the
// outcome.
func stopped(u *subject, prompt, kind string, n int, end func(*turn)) agenthost.Outcome {
	u.t.Helper()
	r := u.start(&Recorder{}, prompt)
	u.await(r, kind, n)
	end(r)
	outcome := u.wait(r)
	if broken := r.out.Broken(false); len(broken) > 0 {
		u.t.Errorf("the contract is broken: %q", broken)
	}
	return outcome
}

// interrupt returns after the turn has stopped.
func interrupt(u *subject) func(*turn) {
	return func(r *turn) {
		u.t.Helper()
		if err := u.agent.Interrupt(u.ctx); err != nil {
			u.t.Errorf("interrupt: %v", err)
		}
	}
}

func interruptStreaming(u *subject) {
	u.want(stopped(u, u.Prompts.Endless, KindText, 3, interrupt(u)), protocol.FinishOther, protocol.ReasonAborted)
	u.want(u.run(&Recorder{}, u.Prompts.Text), protocol.FinishStop, "")
}

func interruptQuestion(u *subject) {
	u.want(stopped(u, u.Prompts.Ask, KindAsk, 1, interrupt(u)), protocol.FinishOther, protocol.ReasonAborted)
	u.want(u.run(&Recorder{}, u.Prompts.Text), protocol.FinishStop, "")
}

func interruptConfirm(u *subject) {
	u.want(stopped(u, u.Prompts.Confirm, KindConfirm, 1, interrupt(u)), protocol.FinishOther, protocol.ReasonAborted)
}

func idle(u *subject) {
	for range 2 {
		for name, call := range map[string]func(context.Context) error{"interrupt": u.agent.Interrupt, "stop": u.agent.Stop} {
			if err := call(u.ctx); err != nil {
				u.t.Errorf("%s: %v", name, err)
			}
		}
		u.want(u.run(&Recorder{}, u.Prompts.Text), protocol.FinishStop, "")
	}
}

func interruptTwice(u *subject) {
	outcome := stopped(u, u.Prompts.Endless, KindText, 1, func(r *turn) {
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() { interrupt(u)(r) })
		}
		group.Wait()
	})
	u.want(outcome, protocol.FinishOther, protocol.ReasonAborted)
}

// givenUp interrupts prompts at once, so that the program may not have begun them.
func givenUp(u *subject) {
	first := &Recorder{}
	u.want(u.run(first, u.Prompts.Text), protocol.FinishStop, "")
	for range 3 {
		r := u.start(&Recorder{}, u.Prompts.Endless)
		for done := false; !done; { // before Run there is nothing to interrupt
			interrupt(u)(r)
			select {
			case <-r.done:
				done = true
			case <-time.After(time.Millisecond):
			}
		}
		u.want(u.wait(r), protocol.FinishOther, protocol.ReasonAborted)
		next := &Recorder{}
		u.want(u.run(next, u.Prompts.Text), protocol.FinishStop, "")
		if !slices.Equal(next.Texts(), first.Texts()) {
			u.t.Errorf("got %q, want %q", next.Texts(), first.Texts())
		}
	}
}

func resume(u *subject) {
	for range 2 {
		u.want(u.run(&Recorder{}, u.Prompts.Text), protocol.FinishStop, "")
		if err := u.agent.Stop(u.ctx); err != nil {
			u.t.Errorf("stop: %v", err)
		}
		if u.Running != nil && len(u.Running()) > 0 {
			u.t.Errorf("still running after Stop: %q", u.Running())
		}
	}
}

func stopStreaming(u *subject) {
	outcome := stopped(u, u.Prompts.Endless, KindText, 3, func(*turn) {
		if err := u.agent.Stop(u.ctx); err != nil {
			u.t.Errorf("stop: %v", err)
		}
	})
	u.want(outcome, protocol.FinishOther, protocol.ReasonAborted)
}

func closeStreaming(u *subject) {
	outcome := stopped(u, u.Prompts.Endless, KindText, 3, func(*turn) { u.close() })
	u.want(outcome, protocol.FinishOther, protocol.ReasonAborted)
}

func failure(u *subject) {
	outcome := u.run(&Recorder{}, u.Prompts.Fail)
	u.want(outcome, protocol.FinishError, outcome.Reason)
	if outcome.Err == "" {
		u.t.Error("the failure has no message")
	}
	u.want(u.run(&Recorder{}, u.Prompts.Text), protocol.FinishStop, "")
}

func crash(u *subject) {
	r := u.start(Answering(agenthost.Answer{Approved: true}), u.Prompts.Crash) // an agent may ask about the command
	outcome := u.wait(r)
	u.want(outcome, protocol.FinishError, protocol.ReasonAgentExited)
	if u.Prompts.LastLines == "" || !strings.Contains(outcome.Err, u.Prompts.LastLines) {
		u.t.Errorf("got %q, want the last lines %q in it", outcome.Err, u.Prompts.LastLines)
	}
	if broken := r.out.Broken(false); len(broken) > 0 || len(r.out.Of(KindText)) == 0 {
		u.t.Errorf("the contract is broken: %q, it shown %+v", broken, r.out.Entries())
	}
	u.want(u.run(&Recorder{}, u.Prompts.Text), protocol.FinishStop, "")
}

func cancelStreaming(u *subject) {
	outcome := stopped(u, u.Prompts.Endless, KindText, 3, func(r *turn) { r.cancel() })
	u.want(outcome, protocol.FinishOther, protocol.ReasonAborted)
}

func cancelWaiting(u *subject) {
	outcome := stopped(u, u.Prompts.Ask, KindAsk, 1, func(r *turn) { r.cancel() })
	u.want(outcome, protocol.FinishOther, protocol.ReasonAborted)
}

func outputFails(u *subject) {
	out := &Recorder{FailAfter: 3}
	u.wait(u.start(out, u.Prompts.Endless))
	if broken := out.Broken(false); len(broken) > 0 || len(out.Entries()) != 3 {
		u.t.Errorf("the contract is broken: %q, it shown %+v", broken, out.Entries())
	}
	u.want(u.run(&Recorder{}, u.Prompts.Text), protocol.FinishStop, "")
}

func cannotStart(u *subject) {
	out := &Recorder{}
	r := u.start(out, u.Prompts.Text)
	select {
	case <-r.done:
	case <-u.ctx.Done():
		u.t.Fatal("Run does not return")
	}
	if r.err == nil || len(out.Entries()) > 0 {
		u.t.Errorf("got %+v, %v, it shown %+v", r.outcome, r.err, out.Entries())
	}
}

func killedAsking(u *subject) {
	r := u.start(&Recorder{}, u.Prompts.Confirm)
	u.await(r, KindConfirm, 1)
	u.Kill(u.t)
	u.want(u.wait(r), protocol.FinishError, protocol.ReasonAgentExited)
	if asked := len(r.out.Of(KindConfirm)); r.out.Expired() != asked {
		u.t.Errorf("of %d questions %d have expired: %+v", asked, r.out.Expired(), r.out.Entries())
	}
	u.want(u.run(&Recorder{}, u.Prompts.Text), protocol.FinishStop, "")
}
