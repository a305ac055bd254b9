package agenthost

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"time"

	"bellhop/protocol"
)

// recount mends a count that an answer has put off.
func (s *session) recount(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n, err := s.host.opts.Journal.CountPending(ctx, s.id, s.rec.Acked); err == nil {
		s.pending = n
	}
}

// savePosition journals how far the broker is, after a turn. During a turn the
// next event's write says it. A crash before that repeats deliveries, which the
// broker takes for duplicates.
func (s *session) savePosition() time.Duration {
	if err := s.save(); err != nil {
		return maxBackoff
	}
	return 0
}

func (s *session) save() error {
	b := s.begin()
	b.record()
	return b.commit()
}

// pack takes the events of the first one's epoch, as many as a request may hold.
func pack(events []EventRecord) *parcel {
	n, size := 0, 0
	for i := range events {
		size += len(events[i].Body) + 1
		if i > 0 && (size > maxPostBytes || events[i].Cursor.Epoch != events[0].Cursor.Epoch) {
			break
		}
		n++
	}
	return &parcel{events: events[:n]}
}

// forBasic keeps what goes to a broker of the original contract: it knows three
// types and takes one event a request.
func (p *parcel) forBasic() {
	for i := range p.events {
		switch p.events[i].Type {
		case protocol.EventText, protocol.EventToolCall, protocol.EventToolResult:
			p.events = p.events[:i+1]
			return
		}
	}
	p.skip = true
}

func (p *parcel) body(sessionID string) ([]byte, error) {
	if p.basic || len(p.events) == 1 {
		return p.events[len(p.events)-1].Body, nil
	}
	batch := protocol.WebhookBatch{SessionID: sessionID, Events: make([]json.RawMessage, len(p.events))}
	for i := range p.events {
		batch.Events[i] = p.events[i].Body
	}
	return protocol.Marshal(&batch)
}

// acknowledge moves the position to c, but never past the last event of the
// request. A broker can be ahead of the host, because it pulled events or
// because the host's journal is an older copy. Only sending the next events
// shows whether the broker holds the same ones.
func (s *session) acknowledge(p *parcel, c protocol.Cursor) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := &s.outbox
	if p.version != o.version {
		return 0
	}
	if last := p.last(); last.Less(c) {
		c = last
	}
	for i := range p.events {
		if !c.Less(p.events[i].Cursor) {
			s.pending--
		}
	}
	if s.rec.Acked.Less(c) {
		s.rec.Acked = c
	}
	o.failures, o.renewed, o.unsaved = 0, false, true
	o.limit = min(o.limit*2, maxPostEvents)
	if s.rec.Outbox != OutboxStopped {
		s.rec.Outbox, s.rec.OutboxError = OutboxOK, ""
	}
	s.host.changed()
	return 0
}

// failed keeps everything and waits.
func (s *session) failed(what string, err error, retryAfter time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failedLocked(what, err, retryAfter)
}

func (s *session) failedLocked(what string, err error, retryAfter time.Duration) time.Duration {
	o := &s.outbox
	o.failures++
	wait := min(firstBackoff<<min(o.failures-1, 10), maxBackoff)
	wait = wait/2 + rand.N(wait/2+1)
	wait = max(wait, min(retryAfter, maxBackoff))
	s.host.opts.Log.Warn("events could not be delivered", "session", s.id, "why", what, "error", err, "again_in", wait)
	s.rec.Outbox, s.rec.OutboxError = OutboxRetrying, what
	s.host.changed()
	return wait
}
