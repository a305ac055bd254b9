package e2e

import (
	"encoding/json"
	"net/http"
	"slices"

	"bellhop/protocol"
)

// Rules of streams.
const (
	ruleSameID       = "an id always has the same bytes"
	ruleRising       = "ids rise between gaps"
	ruleHole         = "a stream has no hole but an honest gap"
	ruleResumeResult = "a resumed stream reports how it continues"
	ruleTerminal     = "a stream ends in exactly one terminal part"
	ruleCompleteTurn = "a reader gets every event of the turn, once, in order"
	ruleStreamText   = "a streamed text is the stored one"
	ruleReader       = "a reader gets its turn to the end"
)

// frames are the frames of a session that any reader got with an id.
type frames struct {
	data  map[string]string
	order []protocol.StreamID
}

// streams: readers agree with each other and with the journal.
func (c *checker) streams() {
	all := c.collect()
	for _, r := range c.Readings {
		if r.Error != "" {
			c.report(ruleReader, "%s: %s", r.Name, r.Error)
		}
		readerViewOf := &readerView{checker: c, all: all, reader: r.Name}
		for i := range r.Conns {
			readerViewOf.connection(&r.Conns[i])
		}
		if r.Ended {
			readerViewOf.end(&r)
		}
	}
}

func (c *checker) collect() *frames {
	all := &frames{data: map[string]string{}}
	for _, e := range c.Journal {
		if e.Frame != "" {
			c.sees(all, "the journal", seenFrame{ID: e.Frame, Data: e.Part})
		}
	}
	for _, r := range c.Readings {
		for _, conn := range r.Conns {
			for _, f := range conn.Frames {
				if f.ID != "" {
					c.sees(all, r.Name, f)
				}
			}
		}
	}
	slices.SortFunc(all.order, compareIDs)
	return all
}

func (c *checker) sees(all *frames, who string, f seenFrame) {
	known, seen := all.data[f.ID]
	if seen && known != f.Data {
		c.report(ruleSameID, "%s saw %s as %s, others as %s", who, f.ID, f.Data, known)
	}
	if seen {
		return
	}
	id, err := protocol.ParseStreamID(f.ID)
	if err != nil {
		c.report(ruleRising, "%s saw the id %q", who, f.ID)
		return
	}
	all.data[f.ID] = f.Data
	all.order = append(all.order, id)
}

func compareIDs(a, b protocol.StreamID) int {
	if a.Epoch != b.Epoch {
		return int(a.Epoch - b.Epoch)
	}
	return int(a.Offset - b.Offset)
}

// between returns a frame that some reader got strictly between two others.
func (f *frames) between(a, b protocol.StreamID) (protocol.StreamID, bool) {
	i, found := slices.BinarySearchFunc(f.order, a, compareIDs)
	if found {
		i++
	}
	if i < len(f.order) && compareIDs(f.order[i], b) < 0 {
		return f.order[i], true
	}
	return protocol.StreamID{}, false
}

// readerView is the state of a reader while it reads.
type readerView struct {
	*checker
	all    *frames
	reader string

	parts   []viewedPart // since the last gap
	last    protocol.StreamID
	started bool // last is set
	live    bool // frames arrive without gaps; a replay has only finished events
}

type viewedPart struct {
	protocol.Part
	raw string
	id  string
}

func (t *readerView) reset() {
	t.parts, t.started, t.live = nil, false, false
}

func (t *readerView) connection(conn *connection) {
	switch {
	case conn.Method == http.MethodPost || conn.After == "":
		t.reset() // the response starts the turn again
	default:
		t.resume(conn)
		return
	}
	for i, f := range conn.Frames {
		if isResume(f) && i == 0 {
			continue
		}
		t.frame(f)
	}
}

func (t *readerView) resume(conn *connection) {
	if len(conn.Frames) == 0 {
		return
	}
	var verdict protocol.Resume
	first := partOf(conn.Frames[0])
	if first.Type != protocol.PartDataResume || json.Unmarshal(first.Data, &verdict) != nil || conn.Frames[0].ID != "" {
		t.report(ruleResumeResult, "%s resumed after %s and first got %s", t.reader, conn.After, conn.Frames[0].Data)
		t.reset()
	} else if verdict.Verdict == protocol.ResumeGap {
		t.reset()
	} else if id, err := protocol.ParseStreamID(conn.After); err == nil {
		if t.started && t.last != id {
			t.report(ruleHole, "%s had read up to %v and resumed after %v", t.reader, t.last, id)
		}
		t.last, t.started, t.live = id, true, true
	}
	for _, f := range conn.Frames[1:] {
		t.frame(f)
	}
}

func (t *readerView) frame(f seenFrame) {
	part := partOf(f)
	switch {
	case part.Type == protocol.PartDataResume:
		t.report(ruleResumeResult, "%s got a second resume frame", t.reader)
		return
	case f.ID == "" && t.live:
		t.report(ruleRising, "%s saw a frame without an id: %s", t.reader, f.Data)
	case f.ID != "":
		t.position(f, part)
	}
	t.parts = append(t.parts, viewedPart{Part: part, raw: f.Data, id: f.ID})
}

func (t *readerView) position(f seenFrame, part protocol.Part) {
	id, err := protocol.ParseStreamID(f.ID)
	if err != nil {
		return // reported by collect
	}
	if t.started && compareIDs(id, t.last) <= 0 {
		t.report(ruleRising, "%s saw %v after %v", t.reader, id, t.last)
	}
	if t.started && t.live {
		if missing, hole := t.all.between(t.last, id); hole {
			t.report(ruleHole, "%s saw %v after %v; between them is %v", t.reader, id, t.last, missing)
		}
	}
	if part.Event == nil {
		t.live = true // a replay of finished events has no such frame with an id
	}
	t.last, t.started = id, true
}

func partOf(f seenFrame) protocol.Part {
	var p protocol.Part
	if err := json.Unmarshal([]byte(f.Data), &p); err != nil {
		return protocol.Part{Type: "unreadable"}
	}
	return p
}

func isResume(f seenFrame) bool { return partOf(f).Type == protocol.PartDataResume }

// end compares a turn that was read to its end with the journal.
func (t *readerView) end(r *reading) {
	if len(t.parts) == 0 && r.Turn == "" {
		return // it arrived too late to read the turn
	}
	last := slices.IndexFunc(t.parts, func(p viewedPart) bool { return p.Terminal() })
	if last < 0 {
		t.report(ruleTerminal, "%s got no terminal part in %d", t.reader, len(t.parts))
		return
	}
	behind := t.parts[last+1:]
	t.parts = t.parts[:last+1]
	t.behind(r, behind)
	finish := t.parts[len(t.parts)-1].Event
	if finish == nil {
		t.report(ruleTerminal, "%s: the terminal part names no event", t.reader)
		return
	}
	if r.Turn != "" && finish.TurnID != r.Turn {
		t.report(ruleCompleteTurn, "%s read turn %s and got the end of %s", t.reader, r.Turn, finish.TurnID)
		return
	}
	t.completeTurn(finish.TurnID)
	t.textsOf(finish.TurnID, r)
}

// behind checks the parts after the terminal one, which were not read any more. A replay
// continues with later turns; any other stream must end.
func (t *readerView) behind(r *reading, parts []viewedPart) {
	finish := t.parts[len(t.parts)-1].Event
	if len(parts) > 0 && r.Turn != "" {
		t.report(ruleTerminal, "%s got %s after the end of its turn", t.reader, parts[0].raw)
	}
	for _, p := range parts {
		if p.Event != nil && finish != nil && p.Event.TurnID == finish.TurnID {
			t.report(ruleTerminal, "%s got %s after the end of that turn", t.reader, p.raw)
		}
	}
}

// completeTurn expects every part that completes an event of the turn, and no other.
func (t *readerView) completeTurn(turn string) {
	var want, got []string
	for _, e := range t.Journal {
		if e.TurnID == turn && e.Part != "" {
			want = append(want, e.Part)
		}
	}
	for _, p := range t.parts {
		if p.Event != nil {
			got = append(got, p.raw)
		}
	}
	for i := range max(len(want), len(got)) {
		switch {
		case i >= len(got):
			t.report(ruleCompleteTurn, "%s did not get %s", t.reader, want[i])
			return
		case i >= len(want):
			t.report(ruleCompleteTurn, "%s also got %s", t.reader, got[i])
			return
		case want[i] != got[i]:
			t.report(ruleCompleteTurn, "%s got %s where %s is due", t.reader, got[i], want[i])
			return
		}
	}
}

// textsOf joins the deltas as a reader of raw frames does and compares the result with the
// journal, and likewise the texts of the client.
func (t *readerView) textsOf(turn string, r *reading) {
	open := map[string]string{}
	for _, p := range t.parts {
		switch p.Type {
		case protocol.PartTextStart:
			open[p.ID] = ""
		case protocol.PartTextDelta:
			open[p.ID] += *p.Text
		case protocol.PartTextEnd:
			e := t.byID[p.Event.ID]
			if e == nil {
				t.report(ruleStreamText, "%s: text %s is of no event", t.reader, p.ID)
			} else if text, _ := textOf(*e); text != open[p.ID] {
				t.report(ruleStreamText, "%s got %q, the journal has %q", t.reader, open[p.ID], text)
			}
			delete(open, p.ID)
		}
	}
	for id, text := range open {
		t.report(ruleStreamText, "%s: text %s (%q) has no end", t.reader, id, text)
	}
	var want []string
	for _, e := range t.Journal {
		if text, ok := textOf(e); ok && e.TurnID == turn && e.Part != "" {
			want = append(want, text)
		}
	}
	if !slices.Equal(want, r.Texts) {
		t.report(ruleStreamText, "%s: the client put together %q, journaled is %q", t.reader, r.Texts, want)
	}
}
