package check

import "slices"

// mutation is one kind of damage. damage returns false if the session has nothing to damage.
type mutation struct {
	name   string
	damage func(*editor) bool
}

var mutations = slices.Concat(losses, doublings, reorderings, wrongReceipts, changes)

var losses = []mutation{
	{"loss: a row", func(ed *editor) bool {
		e := ed.row(Text, ToolCall, ToolResult, Finish)
		return e != nil && ed.dropRow(e.ID)
	}},
	{"loss: the last row", func(ed *editor) bool {
		return len(ed.Rows) > 0 && ed.dropRow(ed.Rows[len(ed.Rows)-1].ID)
	}},
	{"loss: an event of the journal", func(ed *editor) bool {
		e := pick(ed.rng, ed.Journal, anyOf)
		if e == nil {
			return false
		}
		id := e.ID
		ed.Journal = slices.DeleteFunc(ed.Journal, func(x Event) bool { return x.ID == id })
		return true
	}},
	{"loss: a text on both sides, without a trace", func(ed *editor) bool { return ed.eraseOne(Text) }},
	{"loss: a tool's call on both sides, without a trace", func(ed *editor) bool { return ed.eraseOne(ToolCall) }},
	{"loss: a tool's result on both sides, without a trace", func(ed *editor) bool { return ed.eraseOne(ToolResult) }},
	{"loss: a finish on both sides, without a trace", func(ed *editor) bool { return ed.eraseOne(Finish) }},
	{"loss: an event that the host does not serve", func(ed *editor) bool {
		if len(ed.Served) == 0 {
			return false
		}
		ed.Served = ed.Served[:len(ed.Served)-1]
		return true
	}},
	{"loss: the message of a text", func(ed *editor) bool {
		e := ed.row(Text)
		if e == nil {
			return false
		}
		ed.dropMessages(func(m Message) bool { return m.EventID == e.ID })
		return true
	}},
	{"loss: the message of a tool", func(ed *editor) bool {
		m := pick(ed.rng, ed.Messages, func(m *Message) bool { return len(m.Tools) > 0 })
		if m == nil {
			return false
		}
		id := m.ID
		ed.dropMessages(func(x Message) bool { return x.ID == id })
		return true
	}},
	{"loss: a user's message", func(ed *editor) bool {
		sent := ed.begun()
		if sent == nil {
			return false
		}
		ed.dropMessages(func(m Message) bool { return m.ID == sent.MessageID })
		return true
	}},
	{"loss: a message that HTTP does not show", func(ed *editor) bool {
		if len(ed.Displayed) == 0 {
			return false
		}
		i := ed.rng.IntN(len(ed.Displayed))
		ed.Displayed = slices.Delete(ed.Displayed, i, i+1)
		return true
	}},
	{"loss: an acknowledged event of a replaced journal", func(ed *editor) bool {
		ed.Forgotten = append(ed.Forgotten, Event{ID: "forgotten", At: Cursor{1, 1}, Type: Text})
		return true
	}},
	{"loss: an event that a reader saw", func(ed *editor) bool {
		c := ed.frames(1)
		if c == nil {
			return false
		}
		c.Frames = append(c.Frames, Frame{ID: "999999-1", Type: "text-end", Event: "seen-only"})
		return true
	}},
	{"loss: what a turn used", func(ed *editor) bool {
		e := ed.complete(Finish)
		if e == nil {
			return false
		}
		t := &ed.Turns[slices.IndexFunc(ed.Turns, func(t BrokerTurn) bool { return t.ID == e.Turn })]
		n, reported := tokens([]byte(t.Usage))
		if !reported {
			return false
		}
		t.Usage, ed.Used.Turns, ed.Used.Tokens = "", ed.Used.Turns-1, ed.Used.Tokens-n
		return true
	}},
	{"loss: a piece of a text in a stream", func(ed *editor) bool {
		c := ed.frames(1)
		if c == nil {
			return false
		}
		for _, i := range ed.rng.Perm(len(c.Frames)) {
			live := i > 0 && c.Frames[i-1].ID != "" && (c.Frames[i-1].Type == "text-start" || c.Frames[i-1].Type == "text-delta")
			if live && c.Frames[i].Type == "text-delta" && i+1 < len(c.Frames) {
				c.Frames = slices.Delete(c.Frames, i, i+1)
				return true
			}
		}
		return false
	}},
	{"loss: an event that a reader of the whole turn did not see", func(ed *editor) bool {
		e := ed.complete(Text, ToolCall, ToolResult)
		return e != nil && ed.hideFrame(e)
	}},
}

// dropRow removes a row, and the message that would show its loss, too.
func (ed *editor) dropRow(id string) bool {
	ed.Rows = slices.DeleteFunc(ed.Rows, func(x Event) bool { return x.ID == id })
	ed.dropMessages(func(m Message) bool { return m.EventID == id })
	return true
}

func (ed *editor) eraseOne(kind string) bool {
	e := ed.complete(kind)
	if e == nil {
		return false
	}
	ed.erase(*e)
	return true
}

// hideFrame removes an event from all streams, if a reader saw its turn's end.
func (ed *editor) hideFrame(e *Event) bool {
	for i := range ed.Readings {
		saw := false
		for _, c := range ed.Readings[i].Connections {
			saw = saw ||
				slices.ContainsFunc(c.Frames, func(f Frame) bool { return isEnd(f.Type) && f.Turn == e.Turn && f.Event != "" })
		}
		if !saw {
			continue
		}
		for j := range ed.Readings[i].Connections {
			c := &ed.Readings[i].Connections[j]
			c.Frames = slices.DeleteFunc(c.Frames, func(f Frame) bool { return f.Event == e.ID })
		}
		return true
	}
	return false
}

var doublings = []mutation{
	{"doubling: an interrupt that stops another turn", func(ed *editor) bool {
		e := ed.complete(Finish)
		if e == nil || ed.JournalRestores+ed.DatabaseRestores > 0 {
			return false
		}
		ed.change(e.At, func(x *Event) { x.Body = `{"finishReason":"other","reason":"aborted"}` })
		for i := range ed.Turns {
			if ed.Turns[i].ID == e.Turn {
				ed.Turns[i].FinishReason, ed.Turns[i].Reason = "other", "aborted"
			}
		}
		return true
	}},
	{"doubling: a token that opens another session", func(ed *editor) bool {
		ed.Trespasses = append(ed.Trespasses, "other")
		return true
	}},
	{"doubling: what a turn used", func(ed *editor) bool {
		ed.Used.Turns, ed.Used.Tokens = ed.Used.Turns+1, ed.Used.Tokens+7
		return true
	}},
	{"doubling: a row", func(ed *editor) bool {
		e := ed.row(Text, ToolCall, ToolResult, Finish)
		if e == nil {
			return false
		}
		ed.Rows = append(ed.Rows, *e)
		return true
	}},
	{"doubling: an event under a second id", func(ed *editor) bool {
		e := ed.row(Text, ToolCall, ToolResult, Finish)
		if e == nil {
			return false
		}
		twin := *e
		twin.ID += "-twin"
		ed.Rows = append(ed.Rows, twin)
		return true
	}},
	{"doubling: a text on both sides, with its message", func(ed *editor) bool {
		e := ed.complete(Text)
		if e == nil {
			return false
		}
		twin := *e
		twin.ID += "-twin"
		ed.doubleMessage(e.ID, twin.ID)
		ed.insert(e.At, twin)
		return true
	}},
	{"doubling: a finish on both sides", func(ed *editor) bool {
		e := ed.complete(Finish)
		if e == nil {
			return false
		}
		twin := *e
		twin.ID += "-twin"
		ed.insert(e.At, twin)
		return true
	}},
	{"doubling: the message of a text", func(ed *editor) bool {
		e := ed.row(Text)
		if e == nil {
			return false
		}
		ed.doubleMessage(e.ID, e.ID)
		return true
	}},
	{"doubling: a user's message", func(ed *editor) bool {
		m := pick(ed.rng, ed.Messages, func(m *Message) bool { return m.Role == "USER" })
		if m == nil {
			return false
		}
		twin := *m
		twin.ID += "-twin"
		ed.Messages, ed.Displayed = append(ed.Messages, twin), append(ed.Displayed, twin)
		return true
	}},
	{"doubling: a prompt that ran twice", func(ed *editor) bool {
		p := pick(ed.rng, ed.Prompts, anyOf)
		if p == nil {
			return false
		}
		p.Times += 1 + ed.JournalRestores + ed.DatabaseRestores
		return true
	}},
	{"doubling: a frame of a stream", func(ed *editor) bool {
		c := ed.frames(1)
		if c == nil {
			return false
		}
		ids := withIDs(c)
		i := ids[ed.rng.IntN(len(ids))]
		c.Frames = slices.Insert(c.Frames, i, c.Frames[i])
		return true
	}},
	{"doubling: an event in the journal", func(ed *editor) bool {
		e := pick(ed.rng, ed.Journal, anyOf)
		if e == nil {
			return false
		}
		ed.Journal = append(ed.Journal, *e)
		return true
	}},
}

// doubleMessage inserts a copy of an event's message behind it, as of another event.
func (ed *editor) doubleMessage(event, as string) {
	for _, list := range []*[]Message{&ed.Messages, &ed.Displayed} {
		i := slices.IndexFunc(*list, func(m Message) bool { return m.EventID == event })
		if i < 0 {
			continue
		}
		twin := (*list)[i]
		twin.ID, twin.EventID = twin.ID+"-twin", as
		*list = slices.Insert(*list, i+1, twin)
	}
}
