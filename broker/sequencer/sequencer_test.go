package sequencer_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"testing"

	"bellhop/broker/sequencer"
	"bellhop/protocol"
)

func at(epoch, seq int64) protocol.Cursor { return protocol.Cursor{Epoch: epoch, Seq: seq} }

// event returns the event at that position; its content is its id.
func event(epoch, seq int64) sequencer.Event {
	id := fmt.Sprintf("e%d-%d", epoch, seq)
	return sequencer.Event{ID: id, Digest: id, Position: at(epoch, seq)}
}

// maxEpoch is the highest epoch of a host in these tests.
const maxEpoch = 9

func altered(e sequencer.Event) sequencer.Event {
	e.Digest += " altered"
	return e
}

func renamed(e sequencer.Event) sequencer.Event {
	e.ID, e.Digest = "other "+e.ID, "other "+e.Digest
	return e
}

func basic(id string) sequencer.Event { return sequencer.Event{ID: id, Digest: id} }

// record returns the state after a decision about these events was stored.
func record(s sequencer.State, events []sequencer.Event, d sequencer.Decision) sequencer.State {
	known := make(map[string]sequencer.Known, len(s.Known)+len(d.Accepted)+len(d.Late))
	for id, k := range s.Known {
		known[id] = k
	}
	for _, i := range d.Accepted {
		known[events[i].ID] = sequencer.Known{Digest: events[i].Digest, Position: events[i].Position}
	}
	for _, i := range d.Moved {
		known[events[i].ID] = sequencer.Known{Digest: events[i].Digest, Position: events[i].Position}
	}
	for _, i := range d.Late {
		known[events[i].ID] = sequencer.Known{Digest: events[i].Digest, Position: events[i].Position, Late: true}
	}
	return sequencer.State{Cursor: d.Cursor, Verified: s.Verified, Known: known}
}

// stored returns the state after these events were accepted.
func stored(events ...sequencer.Event) sequencer.State {
	s := sequencer.State{Verified: maxEpoch}
	return record(s, events, sequencer.Decide(s, events))
}

// withLate adds an event to s that was stored as late.
func withLate(s sequencer.State, e sequencer.Event) sequencer.State {
	events := []sequencer.Event{e}
	return record(s, events, sequencer.Decide(s, events))
}

// withoutBody returns s as it is after retention removed the body of an event.
func withoutBody(s sequencer.State, id string) sequencer.State {
	s.Known = maps.Clone(s.Known)
	k := s.Known[id]
	k.Digest = ""
	s.Known[id] = k
	return s
}

// refusal returns a refusal as the API shows it; index is -1 for a single event.
func refusal(code protocol.Code, cursor protocol.Cursor, index int) *protocol.Error {
	e := &protocol.Error{Code: code, Cursor: &cursor}
	if index >= 0 {
		e.Index = &index
	}
	switch code {
	case protocol.CodeConflict:
		e.Message, e.Cursor = "An event with this id and other content is known", nil
	case protocol.CodeDiverged:
		e.Message = "Another event stands at this epoch and seq"
	case protocol.CodeGap:
		e.Message = "Events are missing before this one"
	case protocol.CodeFenced:
		e.Message = "The event's epoch is over"
	}
	return e
}

func TestDecide(t *testing.T) {
	t.Parallel()
	type (
		events   = []sequencer.Event
		decision = sequencer.Decision
	)
	one := stored(event(1, 1))
	three := stored(event(3, 1))
	const alone = -1
	for _, c := range []struct {
		rule  string
		state sequencer.State
		send  events
		want  decision
	}{
		{
			"the first event ever",
			sequencer.State{},
			events{event(1, 1)},
			decision{Accepted: []int{0}, Cursor: at(1, 1), Positioned: true},
		},
		{"the next seq follows", one, events{event(1, 2)}, decision{Accepted: []int{0}, Cursor: at(1, 2), Positioned: true}},
		{
			"several follow each other",
			one,
			events{event(1, 2), event(1, 3), event(1, 4)},
			decision{Accepted: []int{0, 1, 2}, Cursor: at(1, 4), Positioned: true},
		},
		{
			"a stored event is a duplicate", one,
			events{event(1, 1)},
			decision{Duplicates: 1, Cursor: at(1, 1), Positioned: true},
		},
		{
			"a duplicate of an earlier epoch is still a duplicate",
			stored(event(1, 1), event(2, 1)),
			events{event(1, 1)},
			decision{Duplicates: 1, Cursor: at(2, 1), Positioned: true},
		},
		{
			"stored events before new ones",
			one,
			events{event(1, 1), event(1, 2)},
			decision{Accepted: []int{1}, Duplicates: 1, Cursor: at(1, 2), Positioned: true},
		},
		{
			"twice in one request",
			one,
			events{event(1, 2), event(1, 2), event(1, 3), event(1, 2)},
			decision{Accepted: []int{0, 2}, Duplicates: 2, Cursor: at(1, 3), Positioned: true},
		},
		{"no events", one, nil, decision{Cursor: at(1, 1)}},

		{
			"a stored id without its body is a duplicate, whatever its content",
			withoutBody(one, "e1-1"),
			events{altered(event(1, 1)), event(1, 2)},
			decision{Accepted: []int{1}, Duplicates: 1, Cursor: at(1, 2), Positioned: true},
		},
		{
			"an event without its body moves to its next position",
			withoutBody(one, "e1-1"),
			events{{ID: "e1-1", Digest: "e1-1", Position: at(2, 1), Body: json.RawMessage(`{}`)}},
			decision{Moved: []int{0}, Duplicates: 1, Cursor: at(2, 1), Positioned: true},
		},
		{
			"a stored id with other content", one,
			events{altered(event(1, 1))},
			decision{Refusal: refusal(protocol.CodeConflict, at(0, 0), alone)},
		},
		{
			"twice in one request with other content",
			one,
			events{event(1, 2), altered(event(1, 2))},
			decision{Refusal: refusal(protocol.CodeConflict, at(0, 0), 1), Refused: 1},
		},
		{
			"another id at a position below the cursor",
			stored(event(1, 1), event(1, 2)),
			events{renamed(event(1, 1))},
			decision{Refusal: refusal(protocol.CodeDiverged, at(1, 2), alone)},
		},
		{
			"another id at the cursor", one,
			events{renamed(event(1, 1))},
			decision{Refusal: refusal(protocol.CodeDiverged, at(1, 1), alone)},
		},
		{
			"two ids for one position in one request: the cursor is the stored one",
			one,
			events{event(1, 2), renamed(event(1, 2))},
			decision{Refusal: refusal(protocol.CodeDiverged, at(1, 1), 1), Refused: 1},
		},

		{"a seq beyond the next", one, events{event(1, 3)}, decision{Refusal: refusal(protocol.CodeGap, at(1, 1), alone)}},
		{
			"a gap inside a request: nothing before it is accepted",
			one,
			events{event(1, 2), event(1, 4)},
			decision{Refusal: refusal(protocol.CodeGap, at(1, 1), 1), Refused: 1},
		},
		{
			"the first event ever is not seq 1",
			sequencer.State{},
			events{event(3, 9)},
			decision{Refusal: refusal(protocol.CodeGap, at(3, 0), alone)},
		},
		{
			"after a gap later events are not checked", one,
			events{event(1, 3), altered(event(1, 1))},
			decision{Refusal: refusal(protocol.CodeGap, at(1, 1), 0)},
		},

		{
			"a new epoch begins at seq 1", one,
			events{event(2, 1)},
			decision{Accepted: []int{0}, Cursor: at(2, 1), Positioned: true},
		},
		{"epochs may be skipped", one, events{event(7, 1)}, decision{Accepted: []int{0}, Cursor: at(7, 1), Positioned: true}},
		{
			"the end of an epoch and the beginning of the next",
			one,
			events{event(1, 2), event(2, 1), event(2, 2)},
			decision{Accepted: []int{0, 1, 2}, Cursor: at(2, 2), Positioned: true},
		},
		{
			"a new epoch beyond seq 1 asks for its beginning", one,
			events{event(2, 2)},
			decision{Refusal: refusal(protocol.CodeGap, at(2, 0), alone)},
		},
		{
			"a gap in an epoch that begins in the request asks for its beginning",
			one,
			events{event(2, 1), event(2, 3)},
			decision{Refusal: refusal(protocol.CodeGap, at(2, 0), 1), Refused: 1},
		},

		{
			"an earlier epoch is fenced and stored as late",
			three,
			events{event(1, 5)},
			decision{Late: []int{0}, Refusal: refusal(protocol.CodeFenced, at(3, 1), alone)},
		},
		{
			"a late event is fenced again and not stored again",
			withLate(three, event(1, 5)),
			events{event(1, 5)},
			decision{Refusal: refusal(protocol.CodeFenced, at(3, 1), alone)},
		},
		{
			"a late id with other content",
			withLate(three, event(1, 5)),
			events{altered(event(1, 5))},
			decision{Refusal: refusal(protocol.CodeConflict, at(0, 0), alone)},
		},
		{
			"all late events of a request are stored, each once, and no other",
			three,
			events{event(3, 2), event(1, 5), event(2, 1), event(1, 5), event(3, 9), event(3, 3)},
			decision{Late: []int{1, 2}, Refusal: refusal(protocol.CodeFenced, at(3, 1), 1), Refused: 1},
		},
		{
			"an epoch that the request itself ended is fenced",
			one,
			events{event(2, 1), event(1, 2)},
			decision{Late: []int{1}, Refusal: refusal(protocol.CodeFenced, at(1, 1), 1), Refused: 1},
		},

		{"an event without a position", one, events{basic("b")}, decision{Accepted: []int{0}, Cursor: at(1, 1)}},
		{
			"a stored event without a position", stored(basic("b")),
			events{basic("b"), basic("c")},
			decision{Accepted: []int{1}, Duplicates: 1},
		},
		{
			"a stored id without a position and other content",
			stored(basic("b")),
			events{altered(basic("b"))},
			decision{Refusal: refusal(protocol.CodeConflict, at(0, 0), alone)},
		},
		{
			"events with and without positions do not disturb each other",
			one,
			events{basic("b"), event(1, 2), basic("c")},
			decision{Accepted: []int{0, 1, 2}, Cursor: at(1, 2), Positioned: true},
		},
	} {
		t.Run(c.rule, func(t *testing.T) {
			c.state.Verified = maxEpoch
			got := sequencer.Decide(c.state, c.send)
			if c.want.Refusal != nil { // nothing is accepted, so the stored cursor remains
				c.want.Cursor = c.state.Cursor
				got.Positioned = false // not used in a refusal
			}
			if len(got.Accepted) == 0 {
				got.Accepted = nil
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("\n got %s\nwant %s", show(got), show(c.want))
			}
		})
	}
}

func show(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

// sentAt returns an event as a host sends it, with the position.
func sentAt(id, text string, position protocol.Cursor) sequencer.Event {
	body := json.RawMessage(fmt.Sprintf(`{"eventId":%q,"epoch":%d,"seq":%d,"text":%q}`, id, position.Epoch,
		position.Seq, text))
	digest, err := sequencer.Digest(body)
	if err != nil {
		panic(err)
	}
	return sequencer.Event{ID: id, Digest: digest, Position: position, Body: body}
}
