package check

import (
	"fmt"
	"slices"
	"strings"
)

// readings: what readers saw as final is stored, in that order, once, and completely.
func (c *checker) readings() {
	for _, r := range c.Readings {
		seen := map[string]bool{}
		ended := ""
		for _, connection := range r.Connections {
			c.connection(connection, seen)
			for _, f := range connection.Frames {
				if isEnd(f.Type) && f.Event != "" {
					ended = f.Turn
				}
			}
		}
		if ended != "" && c.JournalRestores == 0 {
			c.completeTurn(ended, seen)
		}
	}
}

func isEnd(frame string) bool { return frame == "finish" || frame == "abort" || frame == "error" }

// connection checks the frames of one response and adds the final events to seen.
func (c *checker) connection(conn Connection, seen map[string]bool) {
	last, position := streamID{}, Cursor{}
	here := map[string]bool{}
	blocks := map[string]*strings.Builder{}
	live := false // frames that the stream itself kept follow each other, those rebuilt from the journal do not
	for _, f := range conn.Frames {
		before := last
		switch last = c.risingID(f, last); {
		case f.Verdict == "ok":
			_, _ = fmt.Sscanf(conn.After, "%d-%d", &last.epoch, &last.offset)
			live = true
		case live && f.ID != "" && last.epoch == before.epoch && last.offset != before.offset+1:
			c.report(ruleStream, "frame %s follows %d-%d", f.ID, before.epoch, before.offset)
		case f.ID != "":
			live = last.epoch == before.epoch && live || f.Type == "text-start" || f.Type == "text-delta"
		}
		c.block(f, blocks)
		if f.Event == "" {
			continue
		}
		if here[f.Event] {
			c.report(ruleStream, "event %s came twice on one connection", f.Event)
		}
		here[f.Event], seen[f.Event] = true, true
		row, stored := c.stored[f.Event]
		switch {
		case !stored && !c.unsent(f.Event):
			c.report(ruleSeen, "event %s (%s)", f.Event, f.Type)
		case stored && row.Turn != f.Turn:
			c.report(ruleSeen, "event %s was seen as of turn %s, its row is of %s", f.Event, f.Turn, row.Turn)
		case stored && row.At.less(position):
			c.report(ruleStream, "event %v came after %v", row.At, position)
		case stored:
			position = row.At
		}
	}
}

func (c *checker) unsent(id string) bool {
	return slices.ContainsFunc(c.Unsent, func(e Event) bool { return e.ID == id })
}

// streamID is <epoch>-<offset>.
type streamID struct{ epoch, offset int64 }

func (c *checker) risingID(f Frame, last streamID) streamID {
	if f.ID == "" {
		return last
	}
	var id streamID
	if _, err := fmt.Sscanf(f.ID, "%d-%d", &id.epoch, &id.offset); err != nil {
		c.report(ruleStream, "frame id %q: %v", f.ID, err)
		return last
	}
	if id.epoch < last.epoch || id.epoch == last.epoch && id.offset <= last.offset {
		c.report(ruleStream, "frame %s came after %d-%d", f.ID, last.epoch, last.offset)
	}
	return id
}

// block compares the pieces of a text that began on this connection with the stored text.
func (c *checker) block(f Frame, blocks map[string]*strings.Builder) {
	switch f.Type {
	case "text-start":
		blocks[f.Block] = &strings.Builder{}
	case "text-delta":
		if b := blocks[f.Block]; b != nil {
			b.WriteString(f.Text)
		}
	case "text-end":
		b, row := blocks[f.Block], c.stored[f.Event]
		delete(blocks, f.Block)
		if got, isText := row.content(); b != nil && isText && row.Type == Text && got.Text != b.String() {
			c.report(ruleSeen, "event %s was shown as %q, stored is %q", f.Event, b.String(), got.Text)
		}
	}
}

// completeTurn: a reader who saw the end of a turn saw every content of it.
func (c *checker) completeTurn(turn string, seen map[string]bool) {
	for _, row := range c.inOrder() {
		if _, relevant := row.content(); relevant && row.Turn == turn && !seen[row.ID] {
			c.report(ruleStream, "a reader saw the end of turn %s and not its event %v", turn, row.At)
		}
	}
}
