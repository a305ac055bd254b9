package check

import "slices"

var reorderings = []mutation{
	{"order: two rows at each other's position", func(ed *editor) bool {
		a, b := ed.neighbours(Text)
		if a == nil {
			return false
		}
		for i := range ed.Rows {
			switch ed.Rows[i].ID {
			case a.ID:
				ed.Rows[i].At = b.At
			case b.ID:
				ed.Rows[i].At = a.At
			}
		}
		return true
	}},
	{"order: two texts exchanged on both sides", func(ed *editor) bool {
		a, b := ed.neighbours(Text)
		if a == nil || ed.JournalRestores > 0 {
			return false
		}
		first, _ := a.content()
		second, _ := b.content()
		ed.setText(*a, second.Text)
		ed.setText(*b, first.Text)
		return true
	}},
	{"order: two messages exchanged", func(ed *editor) bool {
		a, b := ed.neighbours(Text)
		if a == nil {
			return false
		}
		for _, list := range [][]Message{ed.Messages, ed.Displayed} {
			i := slices.IndexFunc(list, func(m Message) bool { return m.EventID == a.ID })
			j := slices.IndexFunc(list, func(m Message) bool { return m.EventID == b.ID })
			if i < 0 || j < 0 {
				return false
			}
			list[i], list[j] = list[j], list[i]
			list[i].Seq, list[j].Seq = list[j].Seq, list[i].Seq
		}
		return true
	}},
	{"order: two frames of a stream", func(ed *editor) bool {
		c := ed.frames(2)
		if c == nil {
			return false
		}
		ids := withIDs(c)
		i := ed.rng.IntN(len(ids) - 1)
		c.Frames[ids[i]], c.Frames[ids[i+1]] = c.Frames[ids[i+1]], c.Frames[ids[i]]
		return true
	}},
	{"order: an event in another turn on both sides", func(ed *editor) bool {
		e := ed.complete(Text)
		if e == nil {
			return false
		}
		other := pick(ed.rng, ed.Turns, func(t *BrokerTurn) bool { return t.ID != e.Turn })
		if other == nil {
			return false
		}
		ed.changeMessages(func(m Message) bool { return m.EventID == e.ID }, func(m *Message) { m.Turn = other.ID })
		ed.change(e.At, func(x *Event) { x.Turn = other.ID })
		return true
	}},
	{"order: a hole in the journal's numbers", func(ed *editor) bool {
		if len(ed.Journal) == 0 {
			return false
		}
		ed.Journal[len(ed.Journal)-1].At.Seq++
		return true
	}},
	{"order: a row in another epoch", func(ed *editor) bool {
		e := ed.row(Text, ToolCall, ToolResult)
		if e == nil {
			return false
		}
		e.At.Epoch += 100
		return true
	}},
}

var wrongReceipts = []mutation{
	{"receipt: before its events were stored", func(ed *editor) bool {
		r := pick(ed.rng, ed.Receipts, func(r *Receipt) bool { return r.Status == 200 && len(r.Events) > 0 })
		if r == nil {
			return false
		}
		r.Missing = r.Events[:1]
		return true
	}},
	{"receipt: for an event that is not stored", func(ed *editor) bool {
		r := ed.receipt()
		if r == nil {
			return false
		}
		r.Events[ed.rng.IntN(len(r.Events))] = "never-stored"
		return true
	}},
	{"receipt: a cursor before the request's events", func(ed *editor) bool {
		r := ed.receipt()
		if r == nil {
			return false
		}
		r.Cursor = Cursor{r.Last.Epoch, r.Last.Seq - 1}
		return true
	}},
	{"receipt: without a cursor", func(ed *editor) bool {
		r := ed.receipt()
		if r == nil {
			return false
		}
		r.Cursor = Cursor{}
		return true
	}},
	{"receipt: an event too many", func(ed *editor) bool {
		r := ed.receipt()
		if r == nil {
			return false
		}
		r.Duplicates++
		return true
	}},
	{"receipt: an event left out", func(ed *editor) bool {
		r := ed.receipt()
		if r == nil {
			return false
		}
		r.Accepted--
		return true
	}},
	{"receipt: events accepted twice", func(ed *editor) bool {
		if len(ed.Rows) == 0 || ed.DatabaseRestores > 0 || ed.receipt() == nil {
			return false
		}
		all := Receipt{Status: 200, Last: ed.BrokerAt, Cursor: ed.BrokerAt}
		for _, row := range ed.Rows {
			all.Events = append(all.Events, row.ID)
		}
		all.Accepted = len(all.Events)
		again := all
		ed.Receipts = append(ed.Receipts, all, again)
		return true
	}},
	{"receipt: the host counts less as acknowledged than it sent", func(ed *editor) bool {
		ed.Acknowledged.Seq--
		return true
	}},
	{"receipt: the host counts more as acknowledged than the broker has", func(ed *editor) bool {
		ed.BrokerAt.Seq--
		return true
	}},
}

func (ed *editor) receipt() *Receipt {
	return pick(ed.rng, ed.Receipts, func(r *Receipt) bool { return r.Status == 200 && len(r.Events) > 0 })
}
