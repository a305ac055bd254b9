package sequencer

import (
	"encoding/json"

	"bellhop/protocol"
)

// Event holds the fields of an event that a decision depends on. Its type has no
// influence.
type Event struct {
	ID       string
	Digest   string          // of the content: the same in every redelivery
	Position protocol.Cursor // epoch and seq; the zero Cursor for events of basic hosts, which have no order
	Body     json.RawMessage // as it was sent; without it a moved event counts as other content
}

// Known is a stored event.
type Known struct {
	Digest   string          // "" if its body was removed (retention): then the id alone identifies the event
	Position protocol.Cursor // the zero Cursor for an event without one
	Late     bool            // its epoch had ended when it arrived
}

// isMoved reports whether e is the stored event in another epoch. Moves within an epoch are
// refused: a host makes none, so they could only come from a program with a stolen token.
func (k *Known) isMoved(e *Event) bool {
	if e.Body == nil || k.Position.Epoch == 0 || e.Position.Epoch == 0 || k.Position.Epoch == e.Position.Epoch {
		return false
	}
	return k.Digest == "" || k.Digest == digestAt(e.Body, k.Position)
}

// State is what the broker has stored of a task.
type State struct {
	// Cursor is the highest position without a gap before it.
	Cursor protocol.Cursor
	// Verified is the epoch that the task's host confirmed; 0 = the host was not asked. An
	// event is refused if its epoch is later than Verified, the cursor's epoch and epoch 1.
	Verified int64
	// Known holds the stored events by id. Decide looks up only the ids of its
	// events, so all others may be left out.
	Known map[string]Known
}

// Decision states what to do with the events of one request. Either all of them are
// accepted or duplicates, or Refusal is set and none is accepted.
type Decision struct {
	Accepted   []int // indexes of the events to store and to apply, in order
	Duplicates int   // events without new effects: stored already (moved ones too), or twice in the request
	Moved      []int // indexes of stored events that get a new position; those that were late are also in Accepted
	Late       []int // with a Refusal of code fenced: indexes of the events to store without effects
	Cursor     protocol.Cursor
	Positioned bool // at least one event has a position: the response contains Cursor

	Refusal *protocol.Error // the response; of code conflict, diverged, gap or fenced
	Refused int             // with a Refusal: index of the event that caused it
}

// Decide processes the events of a request in order. The first refusal becomes the
// response. After a fenced event it still collects the other late ones, because all
// of them are stored.
func Decide(s State, events []Event) Decision {
	r := request{state: s, events: events, decision: Decision{Cursor: s.Cursor, Accepted: make([]int, 0, len(events))}}
	if len(events) > 1 {
		r.seen = make(map[string]string, len(events))
	}
	d := &r.decision
	for i := range events {
		d.Positioned = d.Positioned || events[i].Position.Epoch > 0
		refusal := r.decide(i)
		if refusal != nil && d.Refusal == nil {
			d.Refusal, d.Refused = refusal, i
		}
		if d.Refusal != nil && d.Refusal.Code != protocol.CodeFenced {
			break
		}
	}
	if d.Refusal == nil {
		d.Duplicates = len(events) - len(d.Accepted)
		return *d
	}
	d.Accepted, d.Moved, d.Cursor = nil, nil, s.Cursor
	if len(events) > 1 {
		index := d.Refused
		d.Refusal.Index = &index
	}
	return *d
}

// Continues reports whether each event has the position after the previous one,
// beginning at the cursor. Such events are new unless a host reused an id, so a
// store that detects reused ids needs no State.Known for them.
func (s State) Continues(events []Event) bool {
	cursor := s.Cursor
	for i := range events {
		if !follows(cursor, events[i].Position) {
			return false
		}
		cursor = events[i].Position
	}
	return true
}

// request holds the events of a request and the decision about them as far as it is made.
type request struct {
	state    State
	events   []Event
	seen     map[string]string // digests of this request's new and late events by id; nil for a request with one event
	decision Decision
}

// decide decides about one event and returns the reason to refuse it, or nil.
func (r *request) decide(i int) *protocol.Error {
	e := &r.events[i]
	if known, ok := r.state.Known[e.ID]; ok {
		switch {
		case known.isMoved(e):
			return r.move(i, known)
		case known.Digest != "" && known.Digest != e.Digest:
			return conflict()
		case known.Late:
			return fenced(r.state.Cursor)
		}
		return nil
	}
	if digest, ok := r.seen[e.ID]; ok {
		if digest != e.Digest {
			return conflict()
		}
		return nil
	}
	refusal := r.advance(e.Position)
	switch {
	case refusal == nil:
		r.decision.Accepted = append(r.decision.Accepted, i)
	case refusal.Code == protocol.CodeFenced:
		r.decision.Late = append(r.decision.Late, i)
	default:
		return refusal
	}
	if r.seen != nil {
		r.seen[e.ID] = e.Digest
	}
	return refusal
}

// move decides about a stored event that a host gave a new position. If that is the next
// position, the event moves there, and a late one gets its effects. At or below the cursor
// the event is a duplicate: the request or the host's journal is older than the cursor. A late
// one is refused there, because it has no effects yet: its host gives it another position.
func (r *request) move(i int, known Known) *protocol.Error {
	refusal := r.advance(r.events[i].Position)
	switch {
	case refusal == nil:
		r.decision.Moved = append(r.decision.Moved, i)
		if known.Late {
			r.decision.Accepted = append(r.decision.Accepted, i)
		}
		return nil
	case known.Late || refusal.Code == protocol.CodeGap || refusal.Code == protocol.CodeUnverified:
		return refusal
	}
	return nil
}

// advance moves the cursor over a new event. A refusal names the stored cursor,
// because no event of a refused request is accepted; an epoch that is not stored
// yet begins at seq 0.
func (r *request) advance(next protocol.Cursor) *protocol.Error {
	cursor, stored := &r.decision.Cursor, r.state.Cursor
	switch {
	case next.Epoch == 0: // an event of a basic host
		return nil
	case next.Epoch > max(stored.Epoch, r.state.Verified, 1):
		return unverified()
	case follows(*cursor, next):
		*cursor = next
		return nil
	case next.Epoch < cursor.Epoch:
		return fenced(stored)
	case next.Epoch == cursor.Epoch && next.Seq <= cursor.Seq:
		return diverged(stored)
	case next.Epoch > stored.Epoch:
		return gap(protocol.Cursor{Epoch: next.Epoch})
	}
	return gap(stored)
}

// follows reports whether next is the position after cursor: the next seq, or the
// first seq of a later epoch.
func follows(cursor, next protocol.Cursor) bool {
	if next.Epoch == 0 {
		return false
	}
	if next.Epoch == cursor.Epoch {
		return next.Seq == cursor.Seq+1
	}
	return next.Epoch > cursor.Epoch && next.Seq == 1
}

func conflict() *protocol.Error {
	return &protocol.Error{Code: protocol.CodeConflict, Message: "An event with this id and other content is known"}
}

func fenced(cursor protocol.Cursor) *protocol.Error {
	return &protocol.Error{Code: protocol.CodeFenced, Message: "The event's epoch is over", Cursor: &cursor}
}

func diverged(cursor protocol.Cursor) *protocol.Error {
	return &protocol.Error{
		Code: protocol.CodeDiverged, Message: "Another event stands at this epoch and seq", Cursor: &cursor,
	}
}

func unverified() *protocol.Error {
	return &protocol.Error{
		Code: protocol.CodeUnverified, Message: "The task's agent host has not begun this epoch",
		Hint: "Only the host that the task is on begins epochs; if the task has moved, delete the session on its former host",
	}
}

func gap(cursor protocol.Cursor) *protocol.Error {
	return &protocol.Error{Code: protocol.CodeGap, Message: "Events are missing before this one", Cursor: &cursor}
}
