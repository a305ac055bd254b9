package agenthost_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// wantNotStarted reads the stream of a queued turn to its end, and wants it to say that the
// turn did not start.
func (r *rig) wantNotStarted(waiting *agenthost.Stream) {
	r.Helper()
	got := r.read(waiting)
	if !slices.Equal(types(got), []string{"data-queued", "finish"}) {
		r.Fatalf("got %q", types(got))
	}
	if end := got[1]; end.id != "" || end.part.FinishReason != protocol.FinishOther ||
		end.part.RawFinishReason != protocol.ReasonNotStarted {
		r.Errorf("it ends with %s %s", end.id, end.json)
	}
}

func TestAHostThatStopsEndsQueuedPrompts(t *testing.T) {
	t.Parallel()
	// A host that stops sends for a limited time, which a busy machine could use up.
	inBubble(t, func(r *rig) {
		r.readN(r.startNew("s1", "t1", writeText("one"), wait(nil)), 2)
		waiting, second := r.post(r.announce("s1", "t2"), "queue"), r.post(r.announce("s1", "t3"), "queue")
		r.stop()
		r.wantNotStarted(waiting)
		r.wantNotStarted(second)
		var ends []string
		for _, line := range summary(r.broker.of("s1")) {
			if strings.Contains(line, "not-started") {
				ends = append(ends, strings.Fields(line)[1])
			}
		}
		if !slices.Equal(ends, []string{"t2", "t3"}) {
			r.Errorf("the broker got %q", ends)
		}
	})
}

// lingering prolongs the moment between the end of a turn and the start of the next one. It
// derives many contexts from the turn's, and the host cancels all of them in that moment.
type lingering struct{ *fakeAgent }

func (l lingering) Open(ctx context.Context, spec agenthost.AgentSpec) (agenthost.Agent, error) {
	for range 50_000 {
		_, cancel := context.WithCancel(ctx)
		_ = cancel // the end of the turn's context cancels this one
	}
	return l.fakeAgent.Open(ctx, spec)
}

func newLingeringRig(t *testing.T) *rig {
	r := newRig(t)
	r.options = func(o *agenthost.Options) { o.Providers["fake"] = lingering{r.agent} }
	return r.start()
}

func TestNoTurnOvertakesAQueueBetweenTwoTurns(t *testing.T) {
	t.Parallel()
	for _, whenBusy := range []string{"", "queue"} {
		r := newLingeringRig(t)
		gate, last := make(chan struct{}), make(chan struct{})
		r.agent.script(writeText("one"), wait(gate))
		first := r.post(r.announce("s1", "t1"), "")
		r.readN(first, 2)
		r.agent.script(wait(last))
		waiting := r.post(r.announce("s1", "t2"), "queue")
		third := r.announce("s1", "t3")
		close(gate)
		r.read(first) // its end is durable
		stream, err := r.host.Start(t.Context(), third, &protocol.PromptRequest{Prompt: "x", WhenBusy: whenBusy})
		if whenBusy == "" {
			r.wantCode("a prompt that does not wait", err, protocol.CodeBusy)
		} else if err != nil || r.readN(stream, 1)[0].part.Type != protocol.PartDataQueued {
			t.Errorf("a prompt that waits: %v", err)
		}
		close(last)
		r.read(waiting)
		if stream != nil {
			r.read(stream)
		}
	}
}

func TestAnInterruptBetweenTwoTurnsGoesFirst(t *testing.T) {
	t.Parallel()
	r := newLingeringRig(t)
	gate := make(chan struct{})
	r.agent.script(writeText("one"), wait(gate))
	first := r.post(r.announce("s1", "t1"), "")
	r.readN(first, 2)
	r.agent.script(writeText("x"))
	waiting := r.post(r.announce("s1", "t2"), "queue")
	third := r.announce("s1", "t3")
	close(gate)
	r.read(first)
	urgent := r.post(third, "interrupt")
	r.read(urgent)
	r.read(waiting)
}

func TestQueuedPromptsAreBoundedInBytes(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	r.agent.script(writeText("one"), wait(nil))
	r.readN(r.post(r.announce("s1", "t0"), ""), 2)
	large := &protocol.PromptRequest{
		Prompt: "look", Attachments: []protocol.Attachment{{Type: "image", Data: strings.Repeat("x", protocol.MaxLine-4)}},
		WhenBusy: "queue",
	}
	for _, id := range []string{"t1", "t2"} {
		stream, err := r.host.Start(t.Context(), r.announce("s1", id), large)
		if err != nil {
			t.Fatal(err)
		}
		stream.Close()
	}
	_, err := r.host.Start(t.Context(), r.announce("s1", "t3"), &protocol.PromptRequest{Prompt: "x", WhenBusy: "queue"})
	r.wantCode("a byte more", err, protocol.CodeBusy)
}

func TestRevokingCutsTheStreamOfATurnThatWaits(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	gate := make(chan struct{})
	r.agent.script(writeText("one"), wait(gate))
	r.readN(r.post(r.announce("s1", "t1"), ""), 2)
	waiting := r.post(r.announce("s1", "t2"), "queue")
	if err := r.host.Revoke(t.Context(), "s1"); err != nil {
		t.Fatal(err)
	}
	if got := types(r.read(waiting)); !slices.Equal(got, []string{"data-queued"}) {
		t.Errorf("the stream has %q", got)
	}
	again := r.post(agenthost.Grant{SessionID: "s1", TurnID: "t2"}, "")
	close(gate)
	if got := types(r.read(again)); got[len(got)-1] != "finish" {
		t.Errorf("the turn itself: %q", got)
	}
	wantLines(t, "finishes", r.finishes(), []string{"t1 finish stop", "t2 finish stop"})
}

func TestATurnThatWaitsOutlivesItsToken(t *testing.T) {
	t.Parallel()
	inBubble(t, func(r *rig) {
		gate := make(chan struct{})
		first := r.startNew("s1", "t1", writeText("x"), wait(gate))
		r.readN(first, 2)
		r.agent.script(writeText("two"))
		waiting := r.post(r.announce("s1", "t2"), "queue")
		<-time.After(11 * time.Minute) // a token lives ten
		close(gate)
		if got := types(r.read(waiting)); got[len(got)-1] != "finish" || len(got) < 3 {
			r.Errorf("got %q", got)
		}
		synctest.Wait()
	})
}

func TestQueuedPromptsEndWithAHostWhoseAgentIgnoresInterrupts(t *testing.T) {
	t.Parallel()
	inBubble(t, func(r *rig) {
		gate := make(chan struct{})
		stubborn := func(context.Context, agenthost.Output) error { <-gate; return nil }
		r.readN(r.startNew("s1", "t1", writeText("x"), stubborn), 2)
		waiting := r.post(r.announce("s1", "t2"), "queue")
		r.agent.ignoreInterrupts()
		r.stop()
		r.wantNotStarted(waiting)
		close(gate)
		<-time.After(time.Minute) // until no caller waits for the agent any more
		synctest.Wait()
	})
}

// The next turn must not get an agent that is being left behind.
func TestAQueuedTurnGetsAnotherAgentThanOneThatIgnoresInterrupts(t *testing.T) {
	t.Parallel()
	inBubble(t, func(r *rig) {
		gate := make(chan struct{})
		stubborn := func(context.Context, agenthost.Output) error { <-gate; return nil }
		stream := r.startNew("s1", "t1", writeText("x"), stubborn)
		r.readN(stream, 2)
		r.agent.script(writeText("two"))
		waiting := r.post(r.announce("s1", "t2"), "queue")
		r.agent.ignoreInterrupts()
		if err := r.host.Interrupt(r.Context(), "s1", ""); err != nil {
			r.Fatal(err)
		}
		if got := types(r.read(waiting)); got[len(got)-1] != "finish" || len(got) < 3 {
			r.Errorf("got %q", got)
		}
		r.agent.mu.Lock()
		opened := len(r.agent.specs)
		r.agent.mu.Unlock()
		if opened != 2 {
			r.Errorf("%d agents were opened", opened)
		}
		close(gate)
		synctest.Wait()
	})
}
