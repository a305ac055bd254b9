package providertest

import (
	"strings"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// record is what an agent without a memory is given.
const record = `The record of what was said: {"user":"the word is xylograph"}`

// next closes the agent and opens it again with the native session it had named,
// as a host does after its restart.
func (u *subject) next(native string) {
	u.t.Helper()
	u.close()
	spec := u.Spec
	spec.Native = native
	agent, err := u.Provider.Open(u.ctx, spec)
	if err != nil {
		u.t.Fatalf("open again: %v", err)
	}
	u.agent = agent
}

// talk has a turn and returns the native session it named.
func (u *subject) talk() (native string) {
	u.t.Helper()
	out := &Recorder{}
	u.want(u.run(out, u.Prompts.Text), protocol.FinishStop, "")
	for _, e := range out.Of(KindNative) {
		native = e.Text
	}
	return native
}

func comesBack(u *subject) {
	native := u.talk()
	if native == "" {
		u.t.Fatal("it named no native session")
	}
	if u.Kept != nil {
		u.Kept(u.t, u.Spec)
	}
	u.close()
	if u.Rested != nil {
		u.Rested(u.t, u.Spec)
	}
	u.next(native)
	out := &Recorder{Memory: record}
	u.want(u.run(out, u.Prompts.Text), protocol.FinishStop, "")
	if asked := out.Of(KindRestored); len(asked) > 0 {
		u.t.Errorf("it asked for the record although it remembers: %+v", out.Entries())
	}
}

func forgets(u *subject) {
	native := u.talk()
	u.close()
	u.Forget(u.t, u.Spec)
	u.next(native)
	out := &Recorder{Memory: record}
	u.want(u.run(out, u.Prompts.Text), protocol.FinishStop, "")
	entries := out.Entries()
	answered := false
	for _, e := range entries {
		answered = answered || e.Kind == KindText
		if e.Kind == KindRestored && answered {
			u.t.Errorf("it sent text before it had the record: %+v", entries)
		}
	}
	if len(out.Of(KindRestored)) != 1 {
		u.t.Errorf("it asked %d times for the record: %+v", len(out.Of(KindRestored)), entries)
	}
	if u.Input != nil && !strings.Contains(u.Input(), "xylograph") {
		u.t.Error("its model did not get the record")
	}
}

// loses answers only when the connection is back: the question must have outlived
// that.
func loses(u *subject) {
	answer := make(chan agenthost.Answer)
	r := u.start(&Recorder{Answers: answer}, u.Prompts.Confirm)
	u.await(r, KindConfirm, 1)
	u.Lose()
	u.await(r, KindChecking, 2)
	checked := r.out.Of(KindChecking)
	if checked[0].Text != "true" || checked[1].Text != "false" {
		u.t.Errorf("checking went %+v", checked)
	}
	select {
	case answer <- agenthost.Answer{Approved: true}:
	case <-u.ctx.Done():
		u.t.Fatal("the question was given up")
	}
	u.want(u.wait(r), protocol.FinishStop, "")
	if broken := r.out.Broken(true); len(broken) > 0 {
		u.t.Errorf("the contract is broken: %q", broken)
	}
}

func crashAsking(u *subject) {
	r := u.start(&Recorder{}, u.Prompts.CrashAsking)
	u.want(u.wait(r), protocol.FinishError, protocol.ReasonAgentExited)
	asked := len(r.out.Of(KindConfirm)) + len(r.out.Of(KindAsk))
	if asked == 0 || r.out.Expired() != asked {
		u.t.Errorf("of %d questions %d have expired: %+v", asked, r.out.Expired(), r.out.Entries())
	}
	u.want(u.run(&Recorder{}, u.Prompts.Text), protocol.FinishStop, "")
}
