package agenthost

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"bellhop/agenthost/stream"
	"bellhop/internal/failpoint"
	"bellhop/protocol"
)

// offsetBlock is how many offsets one reservation covers. A restart begins at the
// reserved bound, so no offset names two frames.
const offsetBlock = 4096

// batch collects one durable step of a session: the rows to write, the frames to
// announce once they are written, and the memory to change then. The session's
// lock is held from begin to commit.
type batch struct {
	s      *session
	now    time.Time
	rec    SessionRecord
	next   int64
	w      Write
	frames []stream.Frame
	after  []func()
	touch  bool // rec has changes of its own
	err    error
}

func (s *session) begin() *batch {
	return &batch{
		s: s, now: s.host.opts.Now().UTC(), rec: s.rec, next: s.next,
		w: Write{SessionID: s.id},
	}
}

// then runs f after the commit, still under the lock.
func (b *batch) then(f func()) { b.after = append(b.after, f) }

// frame adds a part to the stream. It belongs to the open turn.
func (b *batch) frame(p *protocol.Part, boundary bool) stream.Frame {
	return b.rawFrame(b.encode(p), boundary)
}

func (b *batch) rawFrame(part []byte, boundary bool) stream.Frame {
	f := stream.NewFrame(protocol.StreamID{Epoch: b.rec.Cursor.Epoch, Offset: b.next}, part, boundary)
	b.next++
	b.frames = append(b.frames, f)
	return f
}

// event appends an event and, if it has one, the part that announces it. The
// part's frame is returned.
func (b *batch) event(turnID string, e protocol.Event, p *protocol.Part, boundary bool) stream.Frame {
	b.rec.Cursor.Seq++
	e.SessionID, e.TurnID, e.EventID = b.s.id, turnID, protocol.NewID()
	e.Epoch, e.Seq = b.rec.Cursor.Epoch, b.rec.Cursor.Seq
	e.Timestamp = strconv.AppendInt(nil, b.now.UnixMilli(), 10)
	row := EventRecord{
		SessionID: b.s.id, Cursor: b.rec.Cursor, EventID: e.EventID, TurnID: turnID, Type: e.Type, Body: b.encode(&e),
	}
	var f stream.Frame
	if p != nil {
		p.Event = &protocol.PartEvent{ID: e.EventID, Seq: e.Seq, TurnID: turnID}
		row.Part = b.encode(p)
		f = b.rawFrame(row.Part, boundary)
		row.Frame = f.ID
	}
	b.w.Events = append(b.w.Events, row)
	return f
}

// status tells the broker what the agent does, when that has changed.
func (b *batch) status(turnID string, status protocol.Status, reason string) {
	if b.rec.Status == status && b.rec.Reason == reason {
		return
	}
	b.rec.Status, b.rec.Reason = status, reason
	b.event(turnID, protocol.Event{Type: protocol.EventStatus, Status: status, Reason: reason}, nil, false)
}

func (b *batch) encode(v any) []byte {
	raw, err := protocol.Marshal(v)
	if err != nil && b.err == nil {
		b.err = err
	}
	return raw
}

// commit writes, then announces. On an error nothing has changed, in memory
// neither. Frames alone are announced without a write while offsets are left.
func (b *batch) commit() error {
	if b.err != nil {
		return fmt.Errorf("encode: %w", b.err)
	}
	if b.s.gone { // its row must not come back
		return &protocol.Error{Code: protocol.CodeNotFound, Message: "Session not found"}
	}
	if b.rec.Outbox == OutboxNone { // there is nobody to acknowledge anything
		b.rec.Acked = b.rec.Cursor
	}
	reserve := b.next > b.rec.OffsetReserved
	if reserve {
		b.rec.OffsetReserved = b.next + offsetBlock
	}
	if reserve || b.durable() {
		b.rec.ActiveAt = b.now
		b.w.Session = &b.rec
		// A caller who has gone must not leave memory and journal at odds.
		if err := b.s.host.opts.Journal.Write(context.WithoutCancel(b.s.host.work), &b.w); err != nil {
			return err
		}
		b.s.outbox.unsaved = false
	}
	if b.rec.OffsetReserved != b.s.rec.OffsetReserved {
		failpoint.Hit("offset-block-reserved")
	}
	if len(b.w.Events) > 0 {
		failpoint.Hit("after-journal-append")
		failpoint.Hit("before-announce")
	}
	b.announce()
	return nil
}

// durable reports whether there is more than frames: most steps are text deltas,
// which cost no write.
func (b *batch) durable() bool {
	w := &b.w
	return b.touch || len(w.Events)+len(w.Turns)+len(w.Interactions)+len(w.Tokens)+len(w.DeadLetters)+len(w.DropEvents) > 0 ||
		w.DropAllTokens
}

// record is the session's row, to be changed.
func (b *batch) record() *SessionRecord {
	b.touch = true
	return &b.rec
}

func (b *batch) announce() {
	s := b.s
	changed := s.rec.Status != b.rec.Status || s.rec.Reason != b.rec.Reason || s.rec.Outbox != b.rec.Outbox || !s.durable.Load()
	s.rec, s.next = b.rec, b.next
	added := int64(len(b.w.Events) - len(b.w.DropEvents))
	if s.pending = max(s.pending+added, added); s.rec.Outbox == OutboxNone {
		s.pending = 0
	}
	s.durable.Store(true)
	for _, f := range b.frames {
		s.stream.Publish(f)
	}
	for _, f := range b.after {
		f()
	}
	if len(b.w.Events) > 0 {
		s.wakeOutbox()
	}
	if changed {
		s.host.changed()
	}
}
