package broker_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/protocol"
)

// queue is a broker.Webhooks in memory.
type queue struct {
	events  []broker.TaskEvent
	failure error
}

func (q *queue) Emit(_ context.Context, _ string, event broker.TaskEvent) error {
	q.events = append(q.events, event)
	return q.failure
}

// take returns the events queued since the last call, without ids.
func (q *queue) take() []any {
	taken := []any{}
	for _, e := range q.events {
		taken = append(taken, map[string]any{"type": e.Type, "turn": e.TurnID, "data": e.Data})
	}
	q.events = nil
	return taken
}

func TestUsersWebhooksReceiveTheTaskEvents(t *testing.T) {
	t.Parallel()
	const finished = `{'type':'turn.finished','turn':'t1','data':{'title':'Fix it','finishReason':'stop','reason':'','usage':null}}`
	for _, c := range []struct {
		rule string
		send []string
		want string
	}{
		{"text is no event", []string{seqd(1, 1, "t1", text("a"))}, `[]`},
		{"the end of a turn", []string{seqd(1, 1, "t1", finishStop)}, `[` + finished + `]`},
		{
			"the end of a turn in the request that began it",
			[]string{seqd(1, 1, "t1", text("a")), seqd(1, 2, "t1", finishStop)},
			`[` + finished + `]`,
		},
		{
			"the usage of a turn",
			[]string{seqd(1, 1, "t1", finishStop+`,'totalUsage':{'a<b':1}`)},
			`[{'type':'turn.finished','turn':'t1','data':{'title':'Fix it','finishReason':'stop','reason':'','usage':{'a<b':1}}}]`,
		},
		{
			"a question",
			[]string{
				seqd(1, 1, "t1",
					`'type':'interaction','interactionId':'q','kind':'ask','state':'open','prompt':'Which?','options':['a']`),
			},
			`[{'type':'interaction.opened','turn':'t1','data':{'title':'Fix it','interactionId':'q','kind':'ask','prompt':'Which?','options':['a']}}]`,
		},
		{"an answered question is no event", []string{
			seqd(1, 1, "t1", `'type':'interaction','interactionId':'q','kind':'ask','state':'resolved','answer':{'text':'a'}`),
		}, `[]`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			k := newKit(t)
			hooks := &queue{}
			k.updater.Webhooks = hooks
			task := k.task()
			k.mustSend(task.ID, "", c.send...)
			same(t, hooks.take(), c.want)
			k.mustSend(task.ID, "", c.send...)
			same(t, hooks.take(), `[]`) // duplicates queue nothing
		})
	}
	t.Run("a turn that the broker ends by itself", func(t *testing.T) {
		k := newKit(t)
		hooks := &queue{}
		k.updater.Webhooks = hooks
		k.host.onOpen = func(*protocol.OpenSessionRequest) (*protocol.OpenSessionResponse, error) {
			return &protocol.OpenSessionResponse{Token: "stream-token"}, nil // a basic host
		}
		turn := k.checkIn(k.task().ID, "Hi").TurnID
		k.clock.Advance(15 * time.Minute)
		k.upkeep.Sweep(k.ctx)
		same(t, hooks.take(),
			`[{'type':'turn.finished','turn':'`+turn+
				`','data':{'title':'Fix it','finishReason':'other','reason':'no-finish','usage':null}}]`)
	})
}

func TestTheSameFactHasTheSameWebhookID(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	hooks := &queue{}
	k.updater.Webhooks = hooks
	one, two := k.task(), k.task()
	k.mustSend(one.ID, "", seqd(1, 1, "t1", finishStop), seqd(1, 2, "t2", finishStop))
	k.mustSend(two.ID, "", seqd(1, 1, "t1", finishStop))
	ids := map[string]bool{}
	for _, e := range hooks.events {
		ids[e.ID] = true
	}
	if len(hooks.events) != 3 || len(ids) != 3 {
		t.Errorf("%d events, %d ids", len(hooks.events), len(ids))
	}
}

func TestAnEventIsNotStoredWithoutItsWebhook(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	hooks := &queue{failure: errors.New("the queue does not answer")}
	k.updater.Webhooks = hooks
	task := k.task()
	if _, err := k.send(task.ID, "", seqd(1, 1, "t1", finishStop)); !errors.Is(err, hooks.failure) {
		t.Fatal(err)
	}
	same(t, k.brief(task.ID), `{'status':'none','open':'','messages':[]}`)
	first := hooks.events[0].ID
	hooks.events, hooks.failure = nil, nil
	same(t, k.mustSend(task.ID, "", seqd(1, 1, "t1", finishStop)),
		`{'success':true,'accepted':1,'duplicates':0,'cursor':{'epoch':1,'seq':1}}`)
	if len(hooks.events) != 1 || hooks.events[0].ID != first {
		t.Errorf("another event: %+v", hooks.events)
	}
}
