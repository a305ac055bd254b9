package providertest

import (
	"strings"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// record is the conversation that an agent without a memory gets.
const record = `The record of what was said: {"user":"the word is xylograph"}`

// next closes the agent and opens it again with the session id that it reported,
// like a host after its restart.
func (u *subject) next(sessionID string) {
	u.t.Helper()
	u.close()
	spec := u.Spec
	spec.AgentSessionID = sessionID
	agent, err := u.Provider.Open(u.ctx, spec)
	if err != nil {
		u.t.Fatalf("open again: %v", err)
	}
	u.agent = agent
}

// talk runs a turn and returns the session id that the agent reported.
func (u *subject) talk() (sessionID string) {
	u.t.Helper()
	out := &Recorder{}
	u.want(u.run(out, u.Prompts.Text), protocol.FinishStop, "")
	for _, e := range out.Of(KindAgentSession) {
		sessionID = e.Text
	}
	return sessionID
}

func comesBack(u *subject) {
	sessionID := u.talk()
	if sessionID == "" {
		u.t.Fatal("it reported no session id")
	}
	if u.AwaitMemory != nil {
		u.AwaitMemory(u.t, u.Spec)
	}
	u.close()
	if u.AgeMemory != nil {
		u.AgeMemory(u.t, u.Spec)
	}
	u.next(sessionID)
	out := &Recorder{Memory: record}
	u.want(u.run(out, u.Prompts.Text), protocol.FinishStop, "")
	if asked := out.Of(KindRestored); len(asked) > 0 {
		u.t.Errorf("it asked for the record although it remembers: %+v", out.Entries())
	}
}

func forgets(u *subject) {
	sessionID := u.talk()
	u.close()
	u.Forget(u.t, u.Spec)
	u.next(sessionID)
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

// loses answers a question only after a lost connection is back: the question must
// survive the loss.
func loses(u *subject) {
	answer := make(chan agenthost.Answer)
	r := u.start(&Recorder{Answers: answer}, u.Prompts.Confirm)
	u.await(r, KindConfirm, 1)
	u.Lose()
	u.await(r, KindChecking, 2)
	checked := r.out.Of(KindChecking)
	if checked[0].Text != "true" || checked[1].Text != "false" {
		u.t.Errorf("got the checking entries %+v", checked)
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
