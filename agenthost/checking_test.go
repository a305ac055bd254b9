package agenthost_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"bellhop/agenthost"
	"bellhop/protocol"
)

func checking(lost bool) step {
	return func(_ context.Context, out agenthost.Output) error { return out.Checking(lost) }
}

// outcome is how a question of the agent ended.
type outcome struct {
	answer agenthost.Answer
	err    error
}

// asking asks a question while other steps run, and sends its outcome to got. If cancel is not nil,
// it is set to a function that cancels the question.
func asking(kind protocol.InteractionKind, cancel *context.CancelCauseFunc, got chan<- outcome) step {
	return func(ctx context.Context, out agenthost.Output) error {
		ctx, cancelQuestion := context.WithCancelCause(ctx)
		if cancel != nil {
			*cancel = cancelQuestion
		}
		go func() {
			ask := out.Ask
			if kind == protocol.KindConfirm {
				ask = out.Confirm
			}
			a, err := ask(ctx, agenthost.Question{Prompt: "Well?", ToolCallID: "c1", ToolName: "rm"})
			cancelQuestion(nil)
			got <- outcome{a, err}
		}()
		return nil
	}
}

func (r *rig) shows(session, reason string) {
	r.Helper()
	r.until("the session shows "+reason, func() bool { return r.statusOf(session).Reason == reason })
}

func TestALostConnectionShowsAsCheckingAndHoldsAnswers(t *testing.T) {
	t.Parallel()
	inBubble(t, func(r *rig) {
		got := make(chan outcome, 1)
		lose, back, end := make(chan struct{}), make(chan struct{}), make(chan struct{})
		stream := r.startNew("s1", "t1", callTool("c1", "rm", `{}`), asking(protocol.KindConfirm, nil, got),
			wait(lose), checking(true), checking(true), wait(back), checking(false), wait(end), toolResult("c1", `"done"`))
		id := r.untilPart(stream, "tool-approval-request").part.ApprovalID
		close(lose)
		r.shows("s1", protocol.ReasonChecking)
		r.wantCode("the answer", r.host.Answer(r.Context(), "s1", id, &protocol.AnswerRequest{Approved: yes()}), "")
		r.untilPart(stream, "tool-approval-response")
		synctest.Wait()
		select {
		case o := <-got:
			r.Errorf("the agent got %+v while it could not be reached", o)
		default:
			close(back)
			if o := <-got; o.err != nil || !o.answer.Approved {
				r.Errorf("afterwards it got %+v", o)
			}
		}
		close(end)
		r.read(stream)
		r.delivered()
		wantLines(r.T, "events", withoutTimes(summary(r.broker.of("s1")), "\x00"), []string{
			"t1 status busy ", "t1 tool-call c1", "t1 interaction confirm open", "t1 status idle waiting",
			"t1 status idle checking", "t1 interaction confirm resolved ", "t1 status busy ", "t1 tool-result c1",
			"t1 finish stop ", "t1 status idle ",
		})
	})
}

func TestAQuestionThatOutlivesALostConnectionWaitsAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	got := make(chan outcome, 1)
	ask, back := make(chan struct{}), make(chan struct{})
	stream := r.startNew("s1", "t1", checking(true), wait(ask), asking(protocol.KindAsk, nil, got), wait(back),
		checking(false), forever)
	close(ask)
	r.untilPart(stream, "data-ask")
	r.shows("s1", protocol.ReasonChecking)
	close(back)
	r.shows("s1", protocol.ReasonWaiting)
	if err := r.host.Interrupt(t.Context(), "s1", ""); err != nil {
		t.Fatal(err)
	}
	if o := <-got; !o.answer.Expired && o.err == nil {
		t.Errorf("the interrupt left %+v", o)
	}
	r.read(stream)
}

func TestAQuestionTheAgentNoLongerHasExpires(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind         protocol.InteractionKind
		cause        error
		events, part string
		want         outcome
	}{
		"a permission": {
			protocol.KindConfirm, agenthost.ErrExpired, "t1 interaction confirm expired", "tool-approval-response",
			outcome{answer: agenthost.Answer{Expired: true, Reason: "expired"}},
		},
		"a free question": {
			protocol.KindAsk, agenthost.ErrExpired, "t1 interaction ask expired", "data-answer",
			outcome{answer: agenthost.Answer{Expired: true, Reason: "expired"}},
		},
		"any other end withdraws it": {
			protocol.KindConfirm, errors.ErrUnsupported, "t1 interaction confirm resolved withdrawn", "tool-approval-response",
			outcome{err: errors.ErrUnsupported},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t).start()
			got := make(chan outcome, 1)
			var cancel context.CancelCauseFunc
			gate, end := make(chan struct{}), make(chan struct{})
			stream := r.startNew("s1", "t1", callTool("c1", "rm", `{}`), asking(c.kind, &cancel, got), wait(gate),
				func(context.Context, agenthost.Output) error { cancel(c.cause); return nil }, wait(end), toolResult("c1", `1`))
			asked := r.untilPart(stream, map[bool]string{
				true: "data-ask", false: "tool-approval-request",
			}[c.kind == protocol.KindAsk])
			id := asked.part.ID + asked.part.ApprovalID
			close(gate)
			r.untilPart(stream, c.part)
			if o := <-got; o.answer != c.want.answer || !errors.Is(o.err, c.want.err) {
				t.Errorf("the agent got %+v", o)
			}
			if c.cause == agenthost.ErrExpired { //nolint:errorlint // the case's own
				r.wantCode("an answer after that",
					r.host.Answer(t.Context(), "s1", id, &protocol.AnswerRequest{Approved: yes(), Text: "x"}), protocol.CodeExpired)
			}
			close(end)
			r.read(stream)
			r.delivered()
			lines := withoutTimes(summary(r.broker.of("s1")), " status ")
			if lines[2] != c.events {
				t.Errorf("events %q", lines)
			}
		})
	}
}

// The user answers during the loss of a connection, after which the agent no longer waits.
func TestAnAnswerThatComesTooLateIsReportedAsTooLate(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	got := make(chan outcome, 1)
	var cancel context.CancelCauseFunc
	gate, end := make(chan struct{}), make(chan struct{})
	stream := r.startNew("s1", "t1", checking(true), asking(protocol.KindAsk, &cancel, got), wait(gate),
		func(context.Context, agenthost.Output) error { cancel(agenthost.ErrExpired); return nil },
		wait(end), checking(false))
	id := r.untilPart(stream, "data-ask").part.ID
	r.wantCode("the answer", r.host.Answer(t.Context(), "s1", id, &protocol.AnswerRequest{Text: "here"}), "")
	close(gate)
	notice := r.untilPart(stream, "data-notice")
	if string(notice.part.Data) != `{"level":"warning","message":"The answer came too late: the agent no longer waited for it"}` {
		t.Errorf("the user is shown %s", notice.json)
	}
	if o := <-got; !o.answer.Expired || o.err != nil || o.answer.Text != "" {
		t.Errorf("the agent got %+v", o)
	}
	close(end)
	r.read(stream)
}

func TestADeadProgramExpiresWhatItAsked(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	asked := make(chan struct{})
	r.agent.script(callTool("c1", "rm", `{}`), asking(protocol.KindConfirm, nil, make(chan outcome, 1)), wait(asked))
	r.agent.ends(agenthost.Outcome{FinishReason: protocol.FinishError, Reason: protocol.ReasonAgentExited, Err: "gone"})
	stream := r.startGrant(r.announce("s1", "t1"))
	r.untilPart(stream, "tool-approval-request")
	close(asked)
	r.read(stream)
	r.delivered()
	wantLines(t, "events", withoutTimes(summary(r.broker.of("s1")), " status "), []string{
		"t1 tool-call c1", "t1 interaction confirm open", "t1 interaction confirm expired", "t1 tool-result c1 denied",
		"t1 error gone", "t1 finish error agent-exited",
	})
}
