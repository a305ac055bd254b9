package broker_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

func TestABasicHostsStreamIsReadToItsEnd(t *testing.T) {
	t.Parallel()
	q := newQueueKit(t)
	q.at.basic = true
	q.at.streams = map[string]io.Reader{
		"a": strings.NewReader("data: {\"type\":\"text-delta\"}\n\ndata: " +
			"{\"type\":\"finish\",\"finishReason\":\"length\"}\n\n"),
		"b": strings.NewReader("data: {\"type\":\"error\",\"error\":\"no model\"}\n\n"),
	}
	q.add("a", "b", "c")
	q.queue.Round(q.ctx)
	same(t, q.get(q.task).LastTurn, `{'id':'`+q.turnOf("a")+`','finishReason':'length','reason':'','usage':null}`)
	q.wantHistory("a:SENT")
	q.queue.Round(q.ctx)
	q.wantStarted("a,b")
	q.wantQueue("c | failed no model")
}

func TestAStoppedTurnOfABasicHostIsDisconnected(t *testing.T) {
	t.Parallel()
	q := newQueueKit(t)
	q.at.basic = true
	reader, writer := io.Pipe()
	q.at.streams = map[string]io.Reader{"a": reader}
	ctx, cancel := context.WithCancel(q.ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- q.queue.Run(ctx) }()
	q.add("a", "b")
	q.queue.Wake()
	_, err := io.WriteString(writer, "data: {}\n\n") // returns when the broker has read it
	q.must(err)
	_, err = q.sessions.Interrupt(q.ctx, q.user.UserID, q.task, "")
	q.must(err)
	q.wantQueue("b | stopped")
	same(t, q.get(q.task).LastTurn, `{'id':'`+q.turnOf("a")+`','finishReason':'other','reason':'aborted','usage':null}`)
	for err == nil {
		_, err = io.WriteString(writer, "data: {}\n\n")
	}
	if !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
	cancel()
	q.must(<-done)
	q.wantStarted("a")
}

// A basic host starts a turn for each prompt, so that a prompt without an answer is not repeated.
func TestAPromptThatABasicHostMayHaveIsNotRepeated(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(h *promptHost){
		"the broker died":      func(h *promptHost) { h.afterStart = dies() },
		"the connection broke": func(h *promptHost) { h.answer = func(string) (int, string, bool) { return 0, "", true } },
	} {
		t.Run(name, func(t *testing.T) {
			q := newQueueKit(t)
			q.at.basic = true
			fail(q.at)
			q.add("a", "b")
			q.queue.Round(q.ctx)
			q.at.answer = nil
			before := q.at.started()
			q.clock.Advance(31 * time.Second)
			q.queue.Round(q.ctx)
			q.wantStarted(before)
			if got := q.list(); !strings.HasPrefix(got, "b | unknown The connection") {
				t.Error(got)
			}
			q.wantHistory("a:ERROR")
		})
	}
}
