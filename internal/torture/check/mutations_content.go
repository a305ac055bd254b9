package check

import "slices"

var changes = []mutation{
	{"change: the body of a row", func(ed *editor) bool {
		e := ed.row(Text)
		if e == nil {
			return false
		}
		e.Body = withText(e.Body, "changed")
		return true
	}},
	{"change: a text on both sides", func(ed *editor) bool {
		e := ed.row(Text)
		if e == nil {
			return false
		}
		ed.setText(*e, "changed")
		return true
	}},
	{"change: the message of a text", func(ed *editor) bool {
		e := ed.row(Text)
		if e == nil {
			return false
		}
		ed.changeMessages(func(m Message) bool { return m.EventID == e.ID }, func(m *Message) { m.Text = "changed" })
		return true
	}},
	{"change: a user's message", func(ed *editor) bool {
		sent := ed.begun()
		if sent == nil {
			return false
		}
		ed.changeMessages(func(m Message) bool { return m.ID == sent.MessageID }, func(m *Message) { m.Text = "changed" })
		return true
	}},
	{"change: a user's message that stays SENDING", func(ed *editor) bool {
		sent := ed.begun()
		if sent == nil {
			return false
		}
		ed.changeMessages(func(m Message) bool { return m.ID == sent.MessageID }, func(m *Message) { m.Status = "SENDING" })
		return true
	}},
	{"change: a tool that runs for ever", func(ed *editor) bool {
		m := pick(ed.rng, ed.Messages, func(m *Message) bool { return len(m.Tools) > 0 && m.Tools[0].State == "done" })
		if m == nil {
			return false
		}
		id := m.ID
		ed.changeMessages(func(m Message) bool { return m.ID == id }, func(m *Message) { m.Tools[0].State = "running" })
		return true
	}},
	{"change: a message that HTTP shows otherwise", func(ed *editor) bool {
		if len(ed.Displayed) == 0 {
			return false
		}
		ed.Displayed[ed.rng.IntN(len(ed.Displayed))].Text += "!"
		return true
	}},
	{"change: a piece of a streamed text", func(ed *editor) bool {
		for _, i := range ed.rng.Perm(len(ed.Readings)) {
			for _, c := range ed.Readings[i].Connections {
				if ed.changePiece(c.Frames) {
					return true
				}
			}
		}
		return false
	}},
	{"change: a turn that stays open at the broker", func(ed *editor) bool {
		t := pick(ed.rng, ed.Turns, anyOf)
		if t == nil {
			return false
		}
		t.State = "open"
		return true
	}},
	{"change: a turn that stays open at the host", func(ed *editor) bool {
		t := pick(ed.rng, ed.HostTurns, anyOf)
		if t == nil {
			return false
		}
		t.State = "open"
		return true
	}},
	{"change: how a turn ended", func(ed *editor) bool {
		t := pick(ed.rng, ed.Turns, func(t *BrokerTurn) bool { return t.FinishReason == "stop" })
		if t == nil {
			return false
		}
		t.FinishReason = "length"
		return true
	}},
	{"change: a refused event", func(ed *editor) bool {
		ed.DeadLetters++
		return true
	}},
	{"change: a row that is late", func(ed *editor) bool {
		e := ed.followed(Text, ToolCall, ToolResult)
		if e == nil {
			return false
		}
		e.Late = true
		return true
	}},
}

// changePiece changes the first piece of a text that began and ended in these frames. The text is
// one that is stored: a restored journal explains why another is not.
func (ed *editor) changePiece(frames []Frame) bool {
	for i, start := range frames {
		if start.Type != "text-start" {
			continue
		}
		delta, end := pieceOf(frames[i+1:], start.Block)
		if delta == nil || end == nil {
			continue
		}
		if slices.ContainsFunc(ed.Rows, func(e Event) bool { return e.ID == end.Event && e.Type == Text }) {
			delta.Text += "!"
			return true
		}
	}
	return false
}

// pieceOf returns the first piece of a text block and the frame that ends it, before the block
// begins again.
func pieceOf(frames []Frame, block string) (delta, end *Frame) {
	for i := range frames {
		f := &frames[i]
		switch {
		case f.Block != block:
		case f.Type == "text-start":
			return nil, nil
		case f.Type == "text-delta" && delta == nil:
			delta = f
		case f.Type == "text-end":
			return delta, f
		}
	}
	return nil, nil
}
