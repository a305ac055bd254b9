package core_test

import (
	"fmt"
	"testing"

	"bellhop/agenthost/core"
	"bellhop/protocol"
)

// A broker that has another event somewhere below gets the unacknowledged ones in a new epoch,
// all of them and in their order, with the prompts of their turns where those are due.
func TestRefusedEventsMoveToANewEpochInTheirOrder(t *testing.T) {
	t.Parallel()
	r := started(t)
	old := r.sent(1).Last
	ahead := openedBy("b1", "t2")
	ahead.Request.Cursor = &protocol.Cursor{Epoch: 1, Seq: 50}
	r.do(ahead, core.AgentText{TurnID: "t1", Kind: core.TextBlock, Text: "hi"}, core.AgentTextEnded{TurnID: "t1"})
	current := r.state.Record.Cursor
	if current.Epoch != 2 {
		t.Fatalf("the session is at %v", current)
	}
	r.state.Record.Resend = current
	later := old
	later.Cursor, later.EventID = current, "e2"
	step := r.do(core.PendingRead{Version: r.state.Delivery.Version, Events: []core.EventRecord{old, later}})
	got := ""
	for i, e := range step.Rows.Events {
		got += fmt.Sprintf("%v to %v, ", step.Rows.DropEvents[i], e.Cursor)
	}
	r.want("moved", got, fmt.Sprintf("1/1 to 3/1, %v to 3/2, ", current))
	rec := &r.state.Record
	end := protocol.Cursor{Epoch: 3, Seq: 2}
	if rec.Acked != (protocol.Cursor{Epoch: 3}) || rec.Cursor != end || rec.Resend != end {
		t.Errorf("acknowledged %v, at %v, prompts up to %v", rec.Acked, rec.Cursor, rec.Resend)
	}
}

func TestWhatABrokerPullsComesAfterWhatItHas(t *testing.T) {
	t.Parallel()
	at := func(epoch, seq int64, id string) *core.EventRecord {
		return &core.EventRecord{Cursor: protocol.Cursor{Epoch: epoch, Seq: seq}, EventID: id}
	}
	pull := func(epoch, after int64, last string) core.Pull {
		return core.Pull{Epoch: &epoch, After: after, Last: last, Prompts: true}
	}
	r := started(t)
	r.state.Record.Cursor = protocol.Cursor{Epoch: 2, Seq: 3}
	r.state.Record.Acked, r.state.Pending = protocol.Cursor{Epoch: 1, Seq: 5}, 4
	pending := at(1, 6, "e6")
	reading := pull(1, 7, "")
	reading.Prompts = false
	for _, c := range []struct {
		rule string
		pull core.Pull
		at   *core.EventRecord
		want bool
	}{
		{"the broker is not beyond what it acknowledged", pull(1, 5, "e5"), at(1, 5, "e5"), false},
		{"the broker has the same event", pull(1, 6, "e6"), at(1, 6, "e6"), false},
		{"the broker has another event", pull(1, 6, "x"), at(1, 6, "e6"), true},
		{"the journal has none there", pull(1, 7, "x"), at(2, 1, "f1"), true},
		{"the journal has none behind it", pull(2, 9, "x"), nil, true},
		{"a broker that names none, in an epoch that is over", pull(1, 6, ""), at(1, 6, "e6"), true},
		{"a reader that stores nothing", reading, nil, false},
	} {
		if got := r.state.Withholds(c.pull, pending, c.at); got != c.want {
			t.Errorf("%s: %t", c.rule, got)
		}
	}
	if r.state.Withholds(pull(1, 6, ""), at(2, 1, "f1"), at(1, 6, "e6")) {
		t.Error("a broker that names none gets nothing although only later events are unacknowledged")
	}
	r.state.Pending = 0
	if r.state.MayWithhold(pull(1, 7, "x")) {
		t.Error("everything is acknowledged, and something may be withheld")
	}
}
