package broker_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"bellhop/protocol"
)

// attachedAnswer is a host's answer to a prompt while a terminal client is open.
func attachedAnswer(string) (int, string, bool) {
	return 409, `{"code":"attached","error":"A terminal client is attached to the session"}`, true
}

// first returns the next message of the queue.
func (q *queueKit) first() protocol.QueuedMessage {
	q.t.Helper()
	queue, err := q.queue.List(q.ctx, q.user.UserID, q.task)
	q.must(err)
	if len(queue.Messages) == 0 {
		q.t.Fatal("the queue is empty")
	}
	return queue.Messages[0]
}

// wantWaiting checks that the next message waits for the terminal client and is due within a minute.
func (q *queueKit) wantWaiting() {
	q.t.Helper()
	m := q.first()
	if m.State != protocol.QueuedWaiting || !strings.Contains(m.Failure, "works in a terminal") ||
		m.RetryAt == nil || m.RetryAt.Sub(q.clock.Now()) > time.Minute {
		q.t.Errorf("the queued message is %+v", m)
	}
}

func TestAQueuedMessageWaitsUntilTheTerminalIsClosed(t *testing.T) {
	t.Parallel()
	for name, attach := range map[string]func(h *promptHost, attached bool){
		"the session's answer says so": func(h *promptHost, attached bool) { h.attached = attached },
		"the prompt is refused": func(h *promptHost, attached bool) {
			if h.answer = nil; attached {
				h.answer = attachedAnswer
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			onBothDatabases(t, func(_ *testing.T, q *queueKit) {
				attach(q.at, true)
				q.add("a", "b")
				for range 12 { // an hour
					q.queue.Round(q.ctx)
					q.wantQueue("a b")
					q.wantWaiting()
					q.wantStarted("")
					q.clock.Advance(5 * time.Minute)
					q.upkeep.Sweep(q.ctx)
				}
				attach(q.at, false)
				q.queue.Round(q.ctx)
				q.wantStarted("a")
				q.wantQueue("b")
				q.wantHistory("a:SENT")
				q.events("a", finish(protocol.FinishStop, ""))
				q.clock.Advance(time.Minute)
				q.queue.Round(q.ctx)
				q.wantStarted("a,b")
			})
		})
	}
}

func TestAMessageThatWaitsForTheTerminalCanBeRemoved(t *testing.T) {
	t.Parallel()
	q := newQueueKit(t)
	q.at.attached = true
	q.add("a", "b")
	q.queue.Round(q.ctx)
	q.wantHistory("")
	text := "A"
	_, err := q.queue.Change(q.ctx, q.user.UserID, q.task, "a", protocol.QueuedMessageChange{Message: &text})
	q.must(err)

	q.at.attached, q.at.answer = false, attachedAnswer // the client was opened after the session's answer
	q.clock.Advance(time.Minute)
	q.queue.Round(q.ctx)
	q.wantHistory("A:SENDING")
	_, err = q.queue.Change(q.ctx, q.user.UserID, q.task, "a", protocol.QueuedMessageChange{Message: &text})
	if protocol.CodeOf(err) != protocol.CodeConflict {
		t.Errorf("a change of what the history has: %v", err)
	}
	q.must(q.queue.Remove(q.ctx, q.user.UserID, q.task, "a"))
	q.wantQueue("b")
	q.wantHistory("A:ERROR")

	q.at.answer = nil
	q.clock.Advance(time.Minute)
	q.queue.Round(q.ctx)
	q.wantStarted("b")
}

func TestSendNowClosesTheTerminalFirst(t *testing.T) {
	t.Parallel()
	q := newQueueKit(t)
	q.at.attached = true
	q.add("a", "b")
	q.queue.Round(q.ctx)
	q.wantStarted("")
	_, err := q.queue.SendNow(q.ctx, q.user.UserID, q.task, "b")
	q.must(err)
	q.queue.Round(q.ctx)
	q.wantStarted("b")
	if !slices.Equal(q.at.bodies, []string{`{"prompt":"b","force":true}`}) {
		t.Errorf("prompts: %q", q.at.bodies)
	}
	q.events("b", finish(protocol.FinishStop, ""))
	q.clock.Advance(time.Minute)
	q.queue.Round(q.ctx)
	q.wantStarted("b") // the user wanted b alone
	q.wantQueue("a")
	q.wantWaiting()
}

func TestABasicHostIsNotAskedToCloseATerminal(t *testing.T) {
	t.Parallel()
	q := newQueueKit(t)
	q.at.basic = true
	q.add("a")
	_, err := q.queue.SendNow(q.ctx, q.user.UserID, q.task, "a")
	q.must(err)
	q.queue.Round(q.ctx)
	if !slices.Equal(q.at.bodies, []string{`{"prompt":"a"}`}) {
		t.Errorf("prompts: %q", q.at.bodies)
	}
}
