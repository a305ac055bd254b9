package check

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
)

// editor changes a session, as a fault of the product might have.
type editor struct {
	*Session
	rng *rand.Rand
}

// pick returns a random element that suits, nil if none does.
func pick[T any](rng *rand.Rand, list []T, suits func(*T) bool) *T {
	for _, i := range rng.Perm(len(list)) {
		if suits(&list[i]) {
			return &list[i]
		}
	}
	return nil
}

func anyOf[T any](*T) bool { return true }

func ofType(types ...string) func(*Event) bool {
	return func(e *Event) bool { return !e.Late && slices.Contains(types, e.Type) }
}

// row returns a random row of one of the types.
func (ed *editor) row(types ...string) *Event { return pick(ed.rng, ed.Rows, ofType(types...)) }

// followed returns a random row of one of the types that has a later one in its epoch: a restore
// explains a late row, and does not explain the hole that it leaves.
func (ed *editor) followed(types ...string) *Event {
	return pick(ed.rng, ed.Rows, func(e *Event) bool {
		return ofType(types...)(e) && slices.ContainsFunc(ed.Rows, func(later Event) bool {
			return !later.Late && later.At.Epoch == e.At.Epoch && later.At.Seq > e.At.Seq
		})
	})
}

// begun returns a random message that a host has begun to work on: a restored database explains
// the loss of others.
func (ed *editor) begun() *Sent {
	c := newChecker(ed.Session)
	return pick(ed.rng, ed.Sent, func(s *Sent) bool { return c.begun(*s) })
}

// complete returns a random row of a type, of a turn that ended by itself and that no restore of a
// journal has touched: the script says what it must have left.
func (ed *editor) complete(types ...string) *Event {
	if ed.JournalRestores > 0 {
		return nil
	}
	return pick(ed.rng, ed.Rows, func(e *Event) bool {
		return ofType(types...)(e) &&
			slices.ContainsFunc(ed.Turns, func(t BrokerTurn) bool { return t.ID == e.Turn && t.FinishReason == "stop" })
	})
}

// lists are all copies of the session's events.
func (ed *editor) lists() []*[]Event { return []*[]Event{&ed.Journal, &ed.Served, &ed.Rows} }

// erase removes an event from both sides, its message and its frames, and closes the hole, so
// that every copy agrees.
func (ed *editor) erase(e Event) {
	for _, list := range ed.lists() {
		*list = slices.DeleteFunc(*list, func(x Event) bool { return x.At == e.At && !x.Late })
		for i := range *list {
			if x := &(*list)[i]; x.At.Epoch == e.At.Epoch && x.At.Seq > e.At.Seq {
				x.At.Seq--
			}
		}
	}
	ed.move(e.At, -1)
	ed.dropMessages(func(m Message) bool { return m.EventID == e.ID })
	for i := range ed.Readings {
		for j := range ed.Readings[i].Connections {
			c := &ed.Readings[i].Connections[j]
			c.Frames = slices.DeleteFunc(c.Frames, func(f Frame) bool { return f.Event == e.ID })
		}
	}
	for i := range ed.Receipts {
		if r := &ed.Receipts[i]; slices.Contains(r.Events, e.ID) {
			r.Status = 503 // as if that request had not been answered
		}
	}
}

// insert puts an event behind the position after, on both sides.
func (ed *editor) insert(after Cursor, e Event) {
	e.At = Cursor{after.Epoch, after.Seq + 1}
	for _, list := range ed.lists() {
		for i := range *list {
			if x := &(*list)[i]; x.At.Epoch == e.At.Epoch && x.At.Seq >= e.At.Seq {
				x.At.Seq++
			}
		}
		at := slices.IndexFunc(*list, func(x Event) bool { return e.At.less(x.At) })
		if at < 0 {
			at = len(*list)
		}
		if list != &ed.Served || e.At.Epoch == ed.Cursor.Epoch {
			*list = slices.Insert(*list, at, e)
		}
	}
	ed.move(after, 1)
}

// move shifts the cursors that are behind a position.
func (ed *editor) move(from Cursor, by int64) {
	for _, c := range []*Cursor{&ed.Cursor, &ed.Acknowledged, &ed.BrokerAt} {
		if c.Epoch == from.Epoch {
			c.Seq += by
		}
	}
}

// change applies an edit to every copy of an event. Served copies have only their body.
func (ed *editor) change(at Cursor, edit func(*Event)) {
	for _, list := range ed.lists() {
		for i := range *list {
			if (*list)[i].At == at && !(*list)[i].Late {
				edit(&(*list)[i])
			}
		}
	}
}

// changeMessages edits messages in the database and as they are served.
func (ed *editor) changeMessages(suits func(Message) bool, edit func(*Message)) {
	for _, list := range [][]Message{ed.Messages, ed.Displayed} {
		for i := range list {
			if suits(list[i]) {
				edit(&list[i])
			}
		}
	}
}

func (ed *editor) dropMessages(suits func(Message) bool) {
	ed.Messages = slices.DeleteFunc(ed.Messages, suits)
	ed.Displayed = slices.DeleteFunc(ed.Displayed, suits)
}

// withText returns a body with another text.
func withText(body, text string) string {
	var members map[string]any
	if json.Unmarshal([]byte(body), &members) != nil {
		return body
	}
	members["text"] = text
	out, err := json.Marshal(members)
	if err != nil {
		return body
	}
	return string(out)
}

// setText gives an event another text on both sides, and to its message.
func (ed *editor) setText(e Event, text string) {
	ed.change(e.At, func(x *Event) { x.Body = withText(x.Body, text) })
	ed.changeMessages(func(m Message) bool { return m.EventID == e.ID }, func(m *Message) { m.Text = text })
}

// neighbours returns two rows of one type and turn that follow each other.
func (ed *editor) neighbours(kind string) (a, b *Event) {
	rows := newChecker(ed.Session).inOrder()
	for _, i := range ed.rng.Perm(len(rows)) {
		for j := i + 1; j < len(rows); j++ {
			if rows[i].Type == kind && rows[j].Type == kind && rows[i].Turn == rows[j].Turn &&
				rows[i].At.Epoch == rows[j].At.Epoch {
				return &rows[i], &rows[j]
			}
		}
	}
	return nil, nil
}

// frames returns a random connection with at least n frames that have an id.
func (ed *editor) frames(n int) *Connection {
	for _, i := range ed.rng.Perm(len(ed.Readings)) {
		found := pick(ed.rng, ed.Readings[i].Connections, func(c *Connection) bool { return len(withIDs(c)) >= n })
		if found != nil {
			return found
		}
	}
	return nil
}

// withIDs returns the indices of the frames that have an id.
func withIDs(c *Connection) []int {
	var all []int
	for i, f := range c.Frames {
		if f.ID != "" {
			all = append(all, i)
		}
	}
	return all
}
