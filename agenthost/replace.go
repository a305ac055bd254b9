package agenthost

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"bellhop/protocol"
)

// refused: the event at index bad is not taken, now or ever. What precedes it is
// sent alone first; then a dropped event goes in its place.
func (s *session) refused(p *parcel, a *answer, bad int) time.Duration {
	if len(p.events) > 1 && !p.basic {
		return s.fewer(p, bad)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.version != s.outbox.version {
		return 0
	}
	old := p.events[len(p.events)-1]
	reason := fmt.Sprintf("%d %s", a.status, protocol.CutText(protocol.SanitizeText(a.message), 1<<10))
	if old.Type == protocol.EventDropped {
		return s.failedLocked("the broker refuses a dropped event: "+reason, nil, maxBackoff)
	}
	b := s.begin()
	b.replace(old, protocol.Event{
		SessionID: s.id, Type: protocol.EventDropped, EventID: protocol.NewID(),
		Epoch: old.Cursor.Epoch, Seq: old.Cursor.Seq, TurnID: old.TurnID,
		Timestamp: strconv.AppendInt(nil, b.now.UnixMilli(), 10), Reason: reason,
	}, old.Cursor)
	b.w.DeadLetters = append(b.w.DeadLetters, DeadLetter{
		SessionID: s.id, Cursor: old.Cursor, EventID: old.EventID, Reason: reason, Body: string(old.Body), At: b.now,
	})
	if p.basic { // such a broker knows no dropped events
		b.rec.Acked = old.Cursor
		b.then(func() { s.pending -= int64(len(p.events)) })
	}
	if err := b.commit(); err != nil {
		return s.failedLocked("the journal cannot be written", err, 0)
	}
	s.host.opts.Log.Warn("the broker refused an event", "session", s.id, "event", old.EventID, "reason", reason)
	return 0
}

// replace puts an event in the place of old, perhaps at another position.
func (b *batch) replace(old EventRecord, e protocol.Event, at protocol.Cursor) {
	b.w.DropEvents = append(b.w.DropEvents, old.Cursor)
	row := old
	row.Cursor, row.EventID, row.Type, row.Body = at, e.EventID, e.Type, b.encode(&e)
	b.w.Events = append(b.w.Events, row)
}

// diverged: under its (epoch,seq) the broker has another event. All that is
// unacknowledged gets new positions in a new epoch; the events stay the same.
func (s *session) diverged(ctx context.Context, p *parcel) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.version != s.outbox.version {
		return 0
	}
	rows, err := s.host.opts.Journal.Pending(ctx, s.id, s.rec.Acked, -1)
	if err != nil {
		return s.failedLocked("the journal cannot be read", err, 0)
	}
	b := s.begin()
	at := protocol.Cursor{Epoch: b.rec.Cursor.Epoch + 1}
	for _, row := range rows {
		var e protocol.Event
		if err := json.Unmarshal(row.Body, &e); err != nil {
			return s.failedLocked("the journal holds an event that cannot be read", err, maxBackoff)
		}
		at.Seq++
		e.Epoch, e.Seq = at.Epoch, at.Seq
		b.replace(row, e, at)
	}
	b.rec.Cursor, b.rec.Acked = at, protocol.Cursor{Epoch: at.Epoch}
	b.then(s.outbox.rewind)
	if err := b.commit(); err != nil {
		return s.failedLocked("the journal cannot be written", err, 0)
	}
	s.host.opts.Log.Warn("the broker has other events: going on in a new epoch", "session", s.id, "epoch", at.Epoch)
	return 0
}
