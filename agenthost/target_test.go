package agenthost_test

import (
	"context"
	"testing"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// connect is a program of the agent that connects to targets, one after the other.
func (r *rig) connect(got *[]bool, targets ...string) step {
	return func(ctx context.Context, _ agenthost.Output) error {
		for _, target := range targets {
			*got = append(*got, r.host.AllowTarget(ctx, "s1", target))
		}
		return nil
	}
}

// answerNext answers the next question of a stream and returns its part.
func (r *rig) answerNext(stream *agenthost.Stream, answer protocol.AnswerRequest) *protocol.Part {
	r.Helper()
	part := r.untilPart(stream, "tool-approval-request").part
	asked := &part
	r.wantCode("the answer", r.host.Answer(r.Context(), "s1", asked.ApprovalID, &answer), "")
	return asked
}

func wantAnswers(t *testing.T, what string, got []bool, want ...bool) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %v, want %v", what, got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
}

// A yes holds for the turn or, if the user says so, for the session; a no for the turn.
func TestATargetIsAskedAboutOnceInATurn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer protocol.AnswerRequest
		want   bool
		again  bool // the next turn asks again
	}{
		"yes":                 {protocol.AnswerRequest{Approved: yes()}, true, true},
		"yes for the session": {protocol.AnswerRequest{Approved: yes(), Remember: protocol.RememberSession}, true, false},
		"no":                  {protocol.AnswerRequest{Approved: no()}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t).start()
			var got []bool
			const target = "example.org:443"
			stream := r.startNew("s1", "t1", r.connect(&got, target, target))
			asked := r.answerNext(stream, c.answer)
			if asked.ToolCall == nil || string(asked.ToolCall.Input) != `{"target":"example.org:443"}` {
				t.Errorf("the question: %+v", asked.ToolCall)
			}
			wantLines(t, "parts", types(r.read(stream)), []string{"tool-approval-response", "finish"})
			wantAnswers(t, "the turn", got, c.want, c.want)
			got = nil
			stream = r.startNew("s1", "t2", r.connect(&got, target))
			if c.again {
				r.answerNext(stream, protocol.AnswerRequest{Approved: no()})
			}
			r.read(stream)
			wantAnswers(t, "the next turn", got, !c.again)
		})
	}
}

// An agent chooses the names: it cannot ask until one of them is allowed.
func TestATurnAsksAboutFewTargets(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	var got []bool
	stream := r.startNew("s1", "t1", r.connect(&got, "a.org:443", "b.org:443", "c.org:443", "d.org:443", "e.org:443"))
	for _, answer := range []*bool{no(), yes(), no(), no()} {
		r.answerNext(stream, protocol.AnswerRequest{Approved: answer})
	}
	wantLines(t, "parts", types(r.read(stream)), []string{"tool-approval-response", "finish"})
	wantAnswers(t, "the turn", got, false, true, false, false, false)
}

// No permission mode and no rule allows a target in the user's place; a rule can deny it.
func TestOnlyAPersonAllowsATarget(t *testing.T) {
	t.Parallel()
	const rules = `
version: 1
rules:
  - {tool: net:*, host: "evil.example", action: deny}
  - {tool: "*", action: allow}
`
	r := newRig(t).underPolicy(rules)
	var got []bool
	stream := r.startNew("s1", "t1", r.connect(&got, "evil.example:443", "example.org:443"))
	r.answerNext(stream, protocol.AnswerRequest{Approved: yes()})
	r.read(stream)
	wantAnswers(t, "the turn", got, false, true)
}

// Programs that outlive a turn have no user to ask, and a connection that ends takes no question back.
func TestATargetIsAskedAboutInAnOpenTurnAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	var got []bool
	gone := func(ctx context.Context, _ agenthost.Output) error {
		ended, end := context.WithCancel(ctx)
		end()
		got = append(got, r.host.AllowTarget(ended, "s1", "example.org:443"))
		return nil
	}
	stream := r.startNew("s1", "t1", gone, r.connect(&got, "example.org:443"))
	r.answerNext(stream, protocol.AnswerRequest{Approved: yes()})
	wantLines(t, "parts", types(r.read(stream)), []string{"tool-approval-response", "finish"})
	wantAnswers(t, "the turn", got, false, true)
	got = nil
	testStep := r.connect(&got, "example.org:443", "other.org:443")
	if err := testStep(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	wantAnswers(t, "after the turn", got, false, false)
	if r.host.AllowTarget(t.Context(), "unknown", "example.org:443") {
		t.Error("a session that does not exist may connect")
	}
}

// A program connects while the agent writes: its text is stored once, and whole.
func TestAQuestionAboutATargetDoesNotRepeatTheAgentsText(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	var got []bool
	stream := r.startNew("s1", "t1", writeText("I am "), r.connect(&got, "example.org:443"),
		writeText("looking"), endText("I am looking"))
	r.answerNext(stream, protocol.AnswerRequest{Approved: yes()})
	r.read(stream)
	r.delivered()
	stored := ""
	for _, e := range r.broker.of("s1") {
		if e.Type == protocol.EventText {
			stored += *e.Text
		}
	}
	if stored != "I am looking" {
		t.Errorf("stored: %q", stored)
	}
}
