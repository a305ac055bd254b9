package broker_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bellhop/broker"
	"bellhop/broker/store"
	"bellhop/broker/store/storetest"
	"bellhop/protocol"
)

const opens = `'type':'interaction','interactionId':'q1','state':'open','kind':'confirm','prompt':'Run?'`

// A client answers what it saw in the stream. The webhook of the question may come later.
func TestAnAnswerWaitsForItsQuestion(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	task := k.task()
	in := k.checkIn(task.ID, "go")
	k.questions.Patience = time.Minute
	k.host.onAnswer = func(*protocol.AnswerRequest) error { return nil }
	yes := true
	answered := make(chan error)
	go func() {
		_, err := k.questions.Answer(k.ctx, k.user.UserID, "q1", &protocol.AnswerRequest{Approved: &yes})
		answered <- err
	}()
	k.mustSend(task.ID, "", seqd(1, 1, in.TurnID, opens))
	k.must(<-answered)
}

// The webhook cannot come: the broker asks the host.
func TestAnAnswerAsksTheHostForItsQuestion(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	task := k.task()
	in := k.checkIn(task.ID, "go")
	k.host.onEvents = func(string, int64, int64, int) (*protocol.EventsResponse, error) {
		event := strings.ReplaceAll(seqd(1, 1, in.TurnID, opens), "'", `"`)
		return &protocol.EventsResponse{
			Epoch: 1, CurrentEpoch: 1, NextAfter: 1,
			Events: []json.RawMessage{json.RawMessage(event)}, Status: protocol.StatusBusy, OpenTurn: in.TurnID,
		}, nil
	}
	k.host.onAnswer = func(*protocol.AnswerRequest) error { return nil }
	k.questions.Reconciler, k.questions.Patience = k.reconciler, time.Minute
	ctx, stop := context.WithCancel(k.ctx)
	running := make(chan error)
	go func() { running <- k.reconciler.Run(ctx) }()
	yes := true
	_, err := k.questions.Answer(k.ctx, k.user.UserID, "q1", &protocol.AnswerRequest{Approved: &yes})
	stop()
	k.must(<-running)
	k.must(err)
}

func TestAnAnswerToNoQuestionIsNotFound(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	task := k.task()
	const absent = `{'code':'not_found','error':'Interaction not found'}`
	yes := true
	answer := func(user string) any {
		_, err := k.questions.Answer(k.ctx, user, "q1", &protocol.AnswerRequest{Approved: &yes})
		return fault(err)
	}
	k.questions.Patience = time.Hour // no turn is open, so the answer comes at once
	same(t, answer(k.user.UserID), absent)
	in := k.checkIn(task.ID, "go")
	eve := k.newUser("eve@example.org", false)
	k.mustSend(task.ID, "", seqd(1, 1, in.TurnID, opens))
	same(t, answer(eve.UserID), absent)
	k.questions.Patience = time.Millisecond
	_, err := k.questions.Answer(k.ctx, k.user.UserID, "q2", &protocol.AnswerRequest{Approved: &yes})
	same(t, fault(err), absent)
}

func TestReadingWaitsForWhatTheStreamShowed(t *testing.T) {
	t.Parallel()
	two := int64(2)
	for name, expect := range map[string]func(turn string) broker.Await{
		"the seq of the finish": func(string) broker.Await { return broker.Await{AtLeast: &two, Wait: "30s"} },
		"the turn":              func(turn string) broker.Await { return broker.Await{Turn: turn, Wait: "30s"} },
		"both, with the default": func(turn string) broker.Await {
			return broker.Await{AtLeast: &two, Turn: turn}
		},
	} {
		t.Run(name, func(t *testing.T) { testReadingWaits(t, storetest.Open(t), expect) })
	}
}

func testReadingWaits(t *testing.T, st *store.Store, expect func(turn string) broker.Await) {
	synctest.Test(t, func(t *testing.T) { // a slow machine must not use up the time that reading waits
		k := kitOn(t, st)
		task := k.task()
		in := k.checkIn(task.ID, "go")
		seen := make(chan *protocol.MessageList)
		for range 2 {
			go func() {
				list, _ := k.tasks.Messages(k.ctx, k.user.UserID, task.ID, broker.MessageQuery{Await: expect(in.TurnID)})
				seen <- list
			}()
		}
		k.mustSend(task.ID, "", seqd(1, 1, in.TurnID, text("hello")))
		k.mustSend(task.ID, "", seqd(1, 2, in.TurnID, finishStop))
		for range 2 {
			if list := <-seen; list == nil || list.Behind || len(list.Messages) != 2 {
				t.Errorf("read %+v", list)
			}
		}
		got, err := k.tasks.Get(k.ctx, k.user.UserID, task.ID, expect(in.TurnID))
		k.must(err)
		if got.LastTurn == nil || got.LastTurn.ID != in.TurnID {
			t.Errorf("the task is %+v", got)
		}
	})
}

func TestReadingDoesNotWaitForever(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	task := k.task()
	in := k.checkIn(task.ID, "go")
	one, zero := int64(1), int64(0)
	for _, a := range []broker.Await{
		{AtLeast: &one, Wait: "0s"},
		{Turn: in.TurnID, Wait: "1ms"},
		{Turn: "unknown", Wait: "0s"},
	} {
		list, err := k.tasks.Messages(k.ctx, k.user.UserID, task.ID, broker.MessageQuery{Await: a})
		k.must(err)
		if !list.Behind || len(list.Messages) != 1 {
			t.Errorf("%+v: %+v", a, list)
		}
	}
	const wait = `{'code':'invalid','error':'wait must be a duration from 0s to 30s','hint':'Send for example wait=5s'}`
	eve := k.newUser("eve@example.org", false)
	for _, c := range []struct {
		user, want string
		await      broker.Await
	}{
		{
			k.user.UserID, `{'code':'invalid','error':'atLeast must be the seq of an event, from 1'}`,
			broker.Await{AtLeast: &zero},
		},
		{k.user.UserID, wait, broker.Await{Turn: "x", Wait: "31s"}},
		{k.user.UserID, wait, broker.Await{Turn: "x", Wait: "-1s"}},
		{k.user.UserID, wait, broker.Await{Turn: "x", Wait: "soon"}},
		{k.user.UserID, `{'code':'invalid','error':'wait needs turn or atLeast','hint':'Send turn=<turnId>, or ` +
			`atLeast=<seq of the finish event>'}`, broker.Await{Wait: "1s"}},
		{eve.UserID, `{'code':'not_found','error':'Task not found'}`, broker.Await{Turn: in.TurnID, Wait: "30s"}},
	} {
		_, err := k.tasks.Messages(k.ctx, c.user, task.ID, broker.MessageQuery{Await: c.await})
		same(t, fault(err), c.want)
	}
}

func TestACustomAgentURLGetsPasswordsOnlyOnRequest(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.targets.CustomAgentURL = "http://127.0.0.1:9000/"
	task := k.task() // has a password
	k.checkIn(task.ID, "x")
	if got := k.host.lastPasswords(); len(got) != 0 {
		t.Errorf("the custom agent URL gets the task's password")
	}
	k.targets.CustomPasswords = true
	k.checkIn(task.ID, "y")
	if got := k.host.lastPasswords(); len(got) != 1 || got[0] != "agent-password" {
		t.Errorf("the custom agent URL gets %d passwords", len(got))
	}
}
