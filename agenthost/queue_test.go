package agenthost_test

import (
	"slices"
	"strings"
	"testing"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// post starts the turn of a grant with whenBusy.
func (r *rig) post(g agenthost.Grant, whenBusy string) *agenthost.Stream {
	r.Helper()
	stream, err := r.host.Start(r.Context(), g, &protocol.PromptRequest{Prompt: g.TurnID, WhenBusy: whenBusy})
	if err != nil {
		r.Fatal(err)
	}
	return stream
}

// finishes are the finish events of s1, in order.
func (r *rig) finishes() []string {
	r.Helper()
	r.delivered()
	var out []string
	for _, line := range summary(r.broker.of("s1")) {
		if _, line, _ = strings.Cut(line, " "); strings.Contains(line, " finish ") {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return out
}

func TestAQueuedTurnWaitsForTheOpenOne(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	gate := make(chan struct{})
	r.agent.script(writeText("one"), wait(gate))
	first := r.post(r.announce("s1", "t1"), "queue") // nothing is open: it starts
	r.readN(first, 2)
	r.agent.script(writeText("two"))
	second := r.announce("s1", "t2")
	waiting := r.post(second, "queue")
	if got := r.readN(waiting, 1)[0].json; got != `{"type":"data-queued","data":{"position":1,"turnId":"t2"}}` {
		t.Errorf("got %s", got)
	}
	waiting.Close() // its client leaves, and asks again
	waiting = r.post(second, "")
	r.agent.script(writeText("three"))
	third := r.post(r.announce("s1", "t3"), "queue") // supersedes nothing
	if got := r.readN(third, 1)[0].json; got != `{"type":"data-queued","data":{"position":2,"turnId":"t3"}}` {
		t.Errorf("got %s", got)
	}
	open := r.openSession(&protocol.OpenSessionRequest{
		SessionID: "s1", WebhookURL: r.broker.url(), Attach: true, Cursor: r.broker.cursorOf("s1"),
	})
	if open.OpenTurn != "t1" || !slices.Equal(open.QueuedTurns, []string{"t2", "t3"}) {
		t.Errorf("%s is open, %q wait", open.OpenTurn, open.QueuedTurns)
	}
	close(gate)
	r.read(first)
	if got := types(r.read(waiting)); !slices.Equal(got, []string{
		"data-queued", "text-start", "text-delta", "text-end", "finish",
	}) {
		t.Errorf("the second: %q", got)
	}
	if got := types(r.read(third)); !slices.Equal(got, []string{"text-start", "text-delta", "text-end", "finish"}) {
		t.Errorf("the third: %q", got)
	}
	wantLines(t, "finishes", r.finishes(), []string{"t1 finish stop", "t2 finish stop", "t3 finish stop"})
}

func TestAnInterruptingTurnGoesFirst(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	r.agent.script(writeText("one"), wait(nil))
	first := r.post(r.announce("s1", "t1"), "")
	r.readN(first, 2)
	r.agent.script(writeText("later"))
	queued := r.post(r.announce("s1", "t2"), "queue")
	urgent := r.post(r.announce("s1", "t3"), "interrupt")
	if got := types(r.read(first)); got[len(got)-1] != "abort" {
		t.Errorf("the first: %q", got)
	}
	r.read(urgent)
	r.read(queued)
	wantLines(t, "finishes", r.finishes(), []string{"t1 finish other aborted", "t3 finish stop", "t2 finish stop"})
}

func TestAQueueIsBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	r.agent.script(writeText("one"), wait(nil))
	first := r.post(r.announce("s1", "t0"), "")
	r.readN(first, 2)
	for i := range 16 {
		r.post(r.announce("s1", "q"+string(rune('a'+i))), "queue").Close()
	}
	_, err := r.host.Start(t.Context(), r.announce("s1", "t17"), &protocol.PromptRequest{Prompt: "x", WhenBusy: "queue"})
	r.wantCode("one more", err, protocol.CodeBusy)
}

// A prompt is not kept over a crash; that its turn never ran is.
func TestACrashEndsQueuedTurns(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	r.agent.script(writeText("one"), wait(nil))
	r.readN(r.post(r.announce("s1", "t1"), ""), 2)
	r.post(r.announce("s1", "t2"), "queue").Close()
	r.announce("s1", "t3")
	r.agent.script(writeText("three"))
	r.open(r.crash())
	r.run()
	wantLines(t, "finishes", r.finishes(), []string{"t1 finish other host-restarted", "t2 finish other not-started"})
	r.read(r.post(r.announce("s1", "t3"), "")) // still announced
}

func TestDeletingASessionEndsWhatWaits(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	r.agent.script(writeText("one"), wait(nil))
	r.readN(r.post(r.announce("s1", "t1"), ""), 2)
	waiting := r.post(r.announce("s1", "t2"), "queue")
	if _, err := r.host.Delete(t.Context(), "s1", ""); err != nil {
		t.Fatal(err)
	}
	r.wantNotStarted(waiting)
}
