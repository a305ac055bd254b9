package agenthost_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// A broker whose database went back to an earlier epoch gets the rest of that epoch
// before the next one.
func TestEventsOfEarlierEpochsCanBePulled(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	r.turn("s1", "t1", writeText("one"))
	r.delivered()
	r.openSession(&protocol.OpenSessionRequest{
		SessionID: "s1", WebhookURL: r.broker.url(), BrokerID: "broker-1", NamedAnswers: true, Cursor: &protocol.Cursor{Epoch: 1, Seq: 99},
	})
	r.turn("s1", "t2", writeText("two"))
	epoch := func(n int64) *int64 { return &n }
	for _, c := range []struct {
		q    agenthost.EventsQuery
		want string
	}{
		{agenthost.EventsQuery{Epoch: epoch(1), After: 2}, "epoch 1 of 2, 2 events up to 4, 0 prompts"},
		{
			agenthost.EventsQuery{Epoch: epoch(1), After: 2, Limit: 1, Prompts: true},
			"epoch 1 of 2, 1 events up to 3, 0 prompts",
		},
		{agenthost.EventsQuery{Epoch: epoch(0), Limit: 1, Prompts: true}, "epoch 1 of 2, 1 events up to 1, 1 prompts"},
		{agenthost.EventsQuery{Epoch: epoch(1), After: 4, Prompts: true}, "epoch 2 of 2, 4 events up to 4, 1 prompts"},
		{agenthost.EventsQuery{Epoch: epoch(9), After: 4}, "epoch 2 of 2, 4 events up to 4, 0 prompts"},
		{agenthost.EventsQuery{Epoch: epoch(2), After: 4}, "epoch 2 of 2, 0 events up to 4, 0 prompts"},
	} {
		page, err := r.host.Events(t.Context(), "s1", c.q)
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprintf("epoch %d of %d, %d events up to %d, %d prompts",
			page.Epoch, page.CurrentEpoch, len(page.Events), page.NextAfter, len(page.Prompts))
		if got != c.want {
			t.Errorf("%+v: %s, want %s", c.q, got, c.want)
		}
	}
}

// The host of a restored journal has other events than the broker up to there. If the broker
// got the later ones first, the earlier ones would come after them.
func TestAPullWaitsForEventsThatTheBrokerLacks(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	r.broker.refuseAll(true)
	r.turn("s1", "t1", writeText("one"))
	epoch := int64(1)
	pull := func(last string) error {
		_, err := r.host.Events(t.Context(), "s1", agenthost.EventsQuery{Epoch: &epoch, After: 2, Last: last, Prompts: true})
		return err
	}
	page, err := r.host.Events(t.Context(), "s1", agenthost.EventsQuery{Epoch: &epoch, After: 1, Limit: 1})
	if err != nil || len(page.Events) != 1 {
		t.Fatal(page, err)
	}
	var second protocol.Event
	if err := json.Unmarshal(page.Events[0], &second); err != nil {
		t.Fatal(err)
	}
	if err := pull(second.EventID); err != nil {
		t.Errorf("the broker has the same event: %v", err)
	}
	if err := pull("other"); protocol.CodeOf(err) != protocol.CodeDiverged {
		t.Errorf("the broker has another event: %v", err)
	}
}

func TestABrokerSeesItsOwnSessionsOnly(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	for _, id := range []string{"s1", "s2", "s3"} {
		r.openSession(&protocol.OpenSessionRequest{
			SessionID: id, WebhookURL: r.broker.url(), BrokerID: "b1", Title: "Title " + id, Owner: "u1",
		})
	}
	r.openSession(&protocol.OpenSessionRequest{SessionID: "s4", WebhookURL: r.broker.url(), BrokerID: "b2"})
	page := r.host.Bound("b1", "", 2)
	if len(page.Sessions) != 2 || page.NextAfter != "s2" || page.Sessions[0].Title != "Title s1" ||
		page.Sessions[0].Owner != "u1" {
		t.Errorf("the first page is %+v", page)
	}
	if page := r.host.Bound("b1", "s2", 2); len(page.Sessions) != 1 || page.NextAfter != "" {
		t.Errorf("the second page is %+v", page)
	}
	if _, err := r.host.Reconcile(t.Context(),
		&protocol.ReconcileRequest{BrokerID: "b1"}); protocol.CodeOf(err) != protocol.CodeInvalid {
		t.Errorf("without an incarnation: %v", err)
	}
	answer, err := r.host.Reconcile(t.Context(), &protocol.ReconcileRequest{BrokerID: "b2", Incarnation: "i1"})
	if err != nil || answer.Sessions != 1 || answer.Pending != 1 || len(answer.Acknowledged) != 0 {
		t.Errorf("got %+v, %v", answer, err)
	}
}
