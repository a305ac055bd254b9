package broker_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/protocol"
)

const png = "iVBORw0KGgo="

func TestQueuedMessagesStartOneAfterAnotherWhenTheAgentIsIdle(t *testing.T) {
	t.Parallel()
	q := newQueueKit(t)
	in := q.checkIn(q.task, "first")
	q.mustSend(q.task, "", seqd(1, 1, in.TurnID, text("working")))
	_, err := q.queue.Add(q.ctx, q.user.UserID, q.task, &protocol.QueueMessageRequest{
		Message: "a", MessageID: "a", Artifacts: []protocol.ArtifactInput{{Type: "FILE", Content: []byte(`{"name":"x"}`)}},
		Attachments: []protocol.Attachment{{Type: "image", MediaType: "image/png", Name: "a.png", Data: png}},
	})
	q.must(err)
	q.add("b")
	q.queue.Round(q.ctx)
	q.wantStarted("")
	q.wantQueue("a b")

	q.mustSend(q.task, "", seqd(1, 2, in.TurnID, finishStop))
	q.queue.Round(q.ctx)
	q.wantStarted("a")
	q.wantQueue("b")
	q.wantHistory("first:SENT a:SENT")
	if want := `{"prompt":"a","attachments":[{"type":"image","mediaType":"image/png","name":"a.png",` +
		`"data":"` + png + `"}]}`; q.at.bodies[0] != want {
		t.Errorf("the prompt is %s", q.at.bodies[0])
	}
	for _, m := range q.messages(q.task) {
		if m.ID == "a" && (len(m.Artifacts) != 1 || m.Artifacts[0].Type != "FILE") {
			t.Errorf("the message has the artifacts %+v", m.Artifacts)
		}
	}
	q.queue.Round(q.ctx) // announced, without an event yet
	q.wantStarted("a")
	q.events("a", text("on it"))
	q.queue.Round(q.ctx)
	q.wantStarted("a")
	q.events("a", finishStop)
	q.queue.Round(q.ctx)
	q.wantStarted("a,b")
	q.wantQueue("")
}

func TestAQueuedMessageStartsOnceWhereverTheBrokerDies(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, q *queueKit) {
		for name, die := range map[string]func(h *promptHost){
			"before the session opens": func(h *promptHost) {
				once := dies()
				q.host.onOpen = func(r *protocol.OpenSessionRequest) (*protocol.OpenSessionResponse, error) {
					once()
					return h.opens(r)
				}
			},
			"before the host has the prompt": func(h *promptHost) { h.beforeStart = dies() },
			"before the host's answer":       func(h *promptHost) { h.afterStart = dies() },
		} {
			t.Run(name, func(t *testing.T) {
				one := queueKitOn(q.kit)
				one.t = t
				die(one.at)
				one.add("a", "b")
				one.queue.Round(one.ctx)
				one.upkeep.Sweep(one.ctx)
				second := one.replica()
				second.Round(one.ctx)
				if n := len(one.at.order); n > 1 {
					t.Fatalf("%d turns while the lease lasts", n)
				}
				one.clock.Advance(31 * time.Second)
				one.upkeep.Sweep(one.ctx)
				second.Round(one.ctx)
				one.wantStarted("a")
				one.wantQueue("b")
				one.wantHistory("a:SENT")
				one.events("a", text("x"), finishStop)
				second.Round(one.ctx)
				one.wantStarted("a,b")
			})
		}
	})
}

// The host's events arrive before the broker is back: it knows then that the message was sent.
func TestEventsOfItsTurnShowThatAQueuedMessageWasSent(t *testing.T) {
	t.Parallel()
	for name, rest := range map[string][]string{"open": {text("x")}, "over": {text("x"), finishStop}} {
		t.Run(name, func(t *testing.T) {
			q := newQueueKit(t)
			q.at.afterStart = dies()
			q.add("a")
			q.queue.Round(q.ctx)
			q.wantQueue("a:sending")
			q.events("a", rest...)
			q.clock.Advance(31 * time.Second)
			q.host.opened = nil
			q.queue.Round(q.ctx)
			q.wantQueue("")
			q.wantHistory("a:SENT")
			if q.wantStarted("a"); len(q.host.opened) != 0 {
				t.Error("the host was asked again")
			}
		})
	}
}

func TestTwoReplicasStartAQueuedMessageOnce(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, q *queueKit) {
		var posts sync.Map
		q.at.answer = func(token string) (int, string, bool) {
			if _, again := posts.LoadOrStore(token, true); again {
				t.Errorf("turn %s was prompted twice", token)
			}
			return 0, "", false
		}
		for range 8 {
			q.task = q.kit.task().ID
			q.add("a")
		}
		var both sync.WaitGroup
		for range 4 {
			replica := q.replica()
			both.Go(func() { replica.Round(q.ctx) })
		}
		both.Wait()
		if n := len(q.at.order); n != 8 {
			t.Errorf("%d turns, want 8", n)
		}
	})
}

func TestStopPausesTheQueueUntilItIsResumed(t *testing.T) {
	t.Parallel()
	q := newQueueKit(t)
	q.add("a")
	q.queue.Round(q.ctx)
	q.events("a", text("x"))
	q.add("b", "c")
	_, err := q.sessions.Interrupt(q.ctx, q.user.UserID, q.task, "")
	q.must(err)
	q.wantQueue("b c | stopped")
	q.events("a", finish("other", "aborted"))
	q.add("d")
	q.queue.Round(q.ctx)
	q.wantStarted("a")
	q.wantQueue("b c d | stopped")
	yes, no := true, false
	_, err = q.queue.SetPaused(q.ctx, q.user.UserID, q.task, protocol.QueueChange{Paused: &no})
	q.must(err)
	q.queue.Round(q.ctx)
	q.wantStarted("a,b")
	_, err = q.queue.SetPaused(q.ctx, q.user.UserID, q.task, protocol.QueueChange{Paused: &yes})
	q.must(err)
	q.wantQueue("c d | stopped")
	q.must(q.queue.Remove(q.ctx, q.user.UserID, q.task, "c"))
	q.must(q.queue.Remove(q.ctx, q.user.UserID, q.task, "d"))
	q.add("e")
	q.wantQueue("e") // an empty queue is not paused
}

func TestHowATurnEndsDecidesWhetherTheQueueGoesOn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ event, queue string }{
		"done":                    {finishStop, "b"},
		"too long":                {finish("length", ""), "b"},
		"stopped":                 {finish("other", "aborted"), "b | stopped"},
		"failed":                  {finish("error", "no model"), "b | failed no model"},
		"failed without a reason": {finish("error", ""), "b | failed error"},
		"host restarted":          {finish("other", "host-restart"), "b | failed host-restart"},
		"never started":           {finish("other", "not-started"), "b"},
	} {
		t.Run(name, func(t *testing.T) {
			q := newQueueKit(t)
			q.add("a")
			q.queue.Round(q.ctx)
			q.add("b")
			q.events("a", c.event)
			q.wantQueue(c.queue)
		})
	}
}

func TestAStopWhileAMessageIsSentStopsItsTurn(t *testing.T) {
	t.Parallel()
	q := newQueueKit(t)
	q.add("a", "b")
	q.at.beforeStart = func() {
		q.at.beforeStart = nil
		_, err := q.sessions.Interrupt(q.ctx, q.user.UserID, q.task, "")
		q.must(err)
	}
	q.queue.Round(q.ctx)
	q.wantQueue("b | stopped")
	if n := len(q.host.interrupts); n != 2 {
		t.Errorf("the host was interrupted %d times, want by the user and for the turn that started after it", n)
	}
}

func TestAPausedMessageIsNotSentEvenIfItsSessionIsOpen(t *testing.T) {
	t.Parallel()
	q := newQueueKit(t)
	q.add("a")
	q.host.onOpen = func(r *protocol.OpenSessionRequest) (*protocol.OpenSessionResponse, error) {
		pause := true
		_, err := q.queue.SetPaused(q.ctx, q.user.UserID, q.task, protocol.QueueChange{Paused: &pause})
		q.must(err)
		return q.at.opens(r)
	}
	q.queue.Round(q.ctx)
	q.wantStarted("")
	q.wantQueue("a | stopped")
	q.wantHistory("")
}

func TestSendNowStopsTheTurnAndGoesFirst(t *testing.T) {
	t.Parallel()
	q := newQueueKit(t)
	q.add("a")
	q.queue.Round(q.ctx)
	q.events("a", text("x"))
	q.add("b", "c", "d")
	_, err := q.queue.SendNow(q.ctx, q.user.UserID, q.task, "d")
	q.must(err)
	if len(q.host.interrupts) != 1 {
		t.Error("the agent was not stopped")
	}
	q.events("a", finish("other", "aborted"))
	q.wantQueue("d b c")
	q.queue.Round(q.ctx)
	q.wantStarted("a,d")
	q.events("d", text("x"), finish("other", "aborted"))
	q.wantQueue("b c | stopped") // a stop after it is a stop
	_, err = q.queue.SendNow(q.ctx, q.user.UserID, q.task, "c")
	q.must(err)
	q.queue.Round(q.ctx)
	q.wantStarted("a,d,c")
}

func TestAQueuedMessageWaitsForAHostThatIsAway(t *testing.T) {
	t.Parallel()
	q := newQueueKit(t)
	q.at.unreachable = true
	q.add("a")
	attempts := 0
	for range 600 {
		before := len(q.host.opened)
		q.queue.Round(q.ctx)
		attempts += len(q.host.opened) - before
		q.clock.Advance(time.Second)
	}
	if attempts < 10 || attempts > 20 { // 2, 4 … 32 s, then one a minute
		t.Errorf("%d attempts in ten minutes", attempts)
	}
	q.wantQueue("a")
	q.wantHistory("") // it is no message that failed
	queue, err := q.queue.List(q.ctx, q.user.UserID, q.task)
	q.must(err)
	m := queue.Messages[0]
	if m.Failure != "Failed to connect to agent server" || m.RetryAt == nil {
		t.Errorf("%+v does not say why it waits", m)
	}
	q.at.unreachable = false
	q.clock.Advance(time.Minute)
	q.queue.Round(q.ctx)
	q.wantStarted("a")
	q.wantHistory("a:SENT")
}

func TestAnswersToAQueuedPrompt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status           int
		body             string
		queue, history   string
		started, retried string // the turns that started at first, and once the host takes prompts
	}{
		"busy":          {409, `{"code":"busy","error":"A turn is open"}`, "a:sending b", "a:SENDING", "", "a"},
		"unavailable":   {503, `{"code":"unavailable","error":"stopping"}`, "a:sending b", "a:SENDING", "", "a"},
		"a gateway":     {502, `<html>`, "a:sending b", "a:SENDING", "", "a"},
		"no answer":     {0, ``, "a:sending b", "a:SENDING", "", "a"},
		"never started": {409, `{"code":"no_turn","error":"superseded"}`, "a:sending b", "a:SENDING", "", "a"},
		"refused": {
			400, `{"code":"invalid","error":"no images"}`,
			"b | failed The agent host refused the message: no images", "a:ERROR", "", "",
		},
		"too large": {413, ``, "b | failed The agent host refused the message", "a:ERROR", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			q := newQueueKit(t)
			q.add("a", "b")
			q.at.answer = func(string) (int, string, bool) { return c.status, c.body, true }
			q.queue.Round(q.ctx)
			q.wantQueue(c.queue)
			q.wantHistory(c.history)
			q.wantStarted(c.started)
			q.at.answer = nil
			q.clock.Advance(time.Minute)
			q.upkeep.Sweep(q.ctx)
			q.queue.Round(q.ctx)
			q.wantStarted(c.retried)
		})
	}
}

// A host that lost the announced turn says so; the message gets another turn. It is refused after three.
func TestAMessageWhoseTurnsNeverStartIsRefused(t *testing.T) {
	t.Parallel()
	q := newQueueKit(t)
	q.add("a", "b")
	tokens := map[string]bool{}
	q.at.answer = func(token string) (int, string, bool) {
		tokens[token] = true
		return 409, `{"code":"no_turn","error":"The session has stopped"}`, true
	}
	for range 5 {
		q.queue.Round(q.ctx)
		q.clock.Advance(time.Minute)
	}
	if len(tokens) != 3 {
		t.Errorf("%d turns were tried", len(tokens))
	}
	q.wantQueue("b | failed The agent host refused the message: The session has stopped")
	q.wantHistory("a:ERROR")
}

func TestAQueuedMessageOnAHostThatWorksOnAnotherTurnWaits(t *testing.T) {
	t.Parallel()
	q := newQueueKit(t)
	q.at.open = "another"
	q.add("a")
	q.queue.Round(q.ctx)
	q.wantStarted("")
	q.wantQueue("a")
	q.at.open = ""
	q.clock.Advance(2 * time.Second)
	q.queue.Round(q.ctx)
	q.wantStarted("a")
}

// What the first host made of the prompt is not known, so that another host must not run it as well.
func TestAMessageIsNotSentToASecondHost(t *testing.T) {
	t.Parallel()
	q := newQueueKit(t)
	q.add("a", "b")
	q.at.answer = func(string) (int, string, bool) { return 0, "", true }
	q.queue.Round(q.ctx)
	q.wantQueue("a:sending b")
	other := "https://other.example"
	_, err := q.tasks.Update(q.ctx, q.user, q.task, broker.TaskPatch{AgentURL: &other})
	q.must(err)
	q.at.answer = nil
	q.clock.Advance(time.Minute)
	q.queue.Round(q.ctx)
	q.wantStarted("")
	q.wantHistory("a:ERROR")
	if got := q.list(); !strings.HasPrefix(got, "b | unknown The task moved") {
		t.Error(got)
	}
	no := false
	_, err = q.queue.SetPaused(q.ctx, q.user.UserID, q.task, protocol.QueueChange{Paused: &no})
	q.must(err)
	q.queue.Round(q.ctx)
	q.wantStarted("b") // the next message goes to the new host
}
