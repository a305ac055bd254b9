package broker_test

import (
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"testing"

	"bellhop/broker"
	"bellhop/broker/store"
	"bellhop/broker/store/storetest"
	"bellhop/internal/testenv"
	"bellhop/protocol"
)

// eventAt is an event with an id at a position.
func eventAt(id string, epoch, seq int64, rest string) string {
	return fmt.Sprintf(`{'eventId':'%s','epoch':%d,'seq':%d,'turnId':'t1','timestamp':1,%s}`, id, epoch, seq, rest)
}

func journalOf(bodies ...string) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		for _, body := range bodies {
			if !yield(json.RawMessage(strings.ReplaceAll(body, "'", `"`)), nil) {
				return
			}
		}
	}
}

// A host whose journal was restored gives its events new positions. Rows of events that the
// broker has already follow, and journal and database agree.
func TestAnEventThatTheBrokerHasMovesWithItsHost(t *testing.T) {
	t.Parallel()
	testenv.EachDatabase(t, func(t *testing.T, kind string) {
		k := kitOn(t, store.New(storetest.OpenDB(t, storetest.URL(t, kind)), storetest.Sealer(t)))
		task := k.task()
		k.mustSend(task.ID, "", eventAt("a", 1, 1, text("one")), eventAt("b", 1, 2, text("two")))
		got := k.mustSend(task.ID, "", eventAt("b", 2, 1, text("two")), eventAt("c", 2, 2, text("three")))
		if got.Accepted != 1 || got.Duplicates != 1 || *got.Cursor != (protocol.Cursor{Epoch: 2, Seq: 2}) {
			t.Errorf("%+v", got)
		}
		if again := k.mustSend(task.ID, "", eventAt("b", 1, 2, text("two"))); again.Duplicates != 1 {
			t.Errorf("the delayed request: %+v", again)
		}
		texts := ""
		for _, m := range k.messages(task.ID) {
			texts += m.Message + " "
		}
		if texts != "one two three " {
			t.Error(texts)
		}
		v := (&broker.Verifier{Store: k.store}).Session(k.ctx, task.ID, *got.Cursor,
			journalOf(eventAt("a", 1, 1, text("one")), eventAt("b", 2, 1, text("two")), eventAt("c", 2, 2, text("three"))))
		if !v.OK() || v.Stored != 3 {
			t.Errorf("%+v", v)
		}
	})
}

// An event that came late gets its effects when its host sends it in the present epoch.
func TestALateEventGetsItsEffectsAtItsNewPosition(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	task := k.task()
	k.mustSend(task.ID, "", eventAt("a", 2, 1, text("one")))
	if _, err := k.send(task.ID, "", eventAt("b", 1, 1, text("two"))); protocol.CodeOf(err) != protocol.CodeFenced {
		t.Fatal(err)
	}
	k.mustSend(task.ID, "", eventAt("b", 2, 2, text("two")))
	if list := k.messages(task.ID); len(list) != 2 || list[1].Message != "two" {
		t.Errorf("%+v", list)
	}
}

// The host compares the event that the broker names with its own journal.
func TestAPullNamesTheEventThatTheBrokerHas(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	task := k.task()
	k.mustSend(task.ID, "", eventAt("a", 1, 1, text("one")), eventAt("b", 1, 2, text("two")))
	k.checkIn(task.ID, "go")
	k.host.onEvents = func(string, int64, int64, int) (*protocol.EventsResponse, error) {
		return nil, protocol.Errorf(protocol.CodeDiverged, "other events")
	}
	if err := k.reconciler.Task(k.ctx, task.ID); protocol.CodeOf(err) != protocol.CodeDiverged {
		t.Errorf("%v", err)
	}
	if want := (broker.EventsAfter{Cursor: protocol.Cursor{Epoch: 1, Seq: 2}, EventID: "b"}); k.host.after != want {
		t.Errorf("asked for the events after %+v", k.host.after)
	}
	if got := k.get(task.ID); got.LastTurn != nil {
		t.Errorf("a turn was closed although its events are withheld: %+v", got.LastTurn)
	}
}
