package agenthost

import (
	"context"
	"encoding/json"
	"fmt"

	"bellhop/protocol"
)

// recover takes over what the journal holds and closes what a crash left open.
func (h *Host) recover() error {
	ctx := context.Background()
	loaded, err := h.opts.Journal.Load(ctx)
	if err != nil {
		return fmt.Errorf("load the journal: %w", err)
	}
	for i := range loaded {
		s := newSession(h, loaded[i].Session.ID)
		h.sessions[s.id] = s
		s.mu.Lock()
		err := s.recover(ctx, &loaded[i])
		s.mu.Unlock()
		if err != nil {
			return fmt.Errorf("recover session %s: %w", s.id, err)
		}
	}
	for _, notice := range h.opts.Journal.Notices() {
		h.opts.Log.Error("journal", "notice", notice)
	}
	return nil
}

func (s *session) recover(ctx context.Context, in *Loaded) error {
	s.durable.Store(true)
	s.rec, s.pending, s.secret = in.Session, in.Pending, in.Session.Secret
	s.prove()
	s.next = max(1, s.rec.OffsetReserved)
	last := protocol.StreamID{Epoch: s.rec.Cursor.Epoch, Offset: s.next - 1}
	if in.LastFrame.Offset > 0 {
		last = in.LastFrame
	}
	s.stream.ContinueAfter(last)
	for i := range in.Turns {
		rec := in.Turns[i]
		if rec.State == TurnOpen {
			if err := s.recoverOpen(ctx, rec, in.Interactions); err != nil {
				return err
			}
			continue
		}
		if err := s.recoverAnnounced(rec); err != nil {
			return err
		}
	}
	if s.rec.Status == protocol.StatusBusy || s.rec.Reason != "" {
		b := s.begin()
		b.status("", protocol.StatusIdle, "")
		return b.commit()
	}
	return nil
}

// recoverOpen ends a turn whose agent died with the host.
func (s *session) recoverOpen(ctx context.Context, rec TurnRecord, questions []InteractionRecord) error {
	s.stream.RecoverTurn(rec.FirstOffset)
	t := s.newTurn(rec)
	t.stop = protocol.ReasonHostRestarted
	defer t.cancel()
	s.turn = t
	for _, q := range questions {
		if q.TurnID == rec.ID {
			s.questions[q.ID] = &question{rec: q, answer: make(chan Answer, 1)}
		}
	}
	if err := t.recoverCalls(ctx); err != nil {
		return err
	}
	b := s.begin()
	t.finish(b, Outcome{})
	return b.commit()
}

// recoverCalls finds the calls that have no result.
func (t *turn) recoverCalls(ctx context.Context) error {
	events, err := t.s.host.opts.Journal.TurnEvents(ctx, t.s.id, t.rec.ID)
	if err != nil {
		return err
	}
	for i := range events {
		var e protocol.Event
		if err := json.Unmarshal(events[i].Body, &e); err != nil {
			return err
		}
		switch e.Type {
		case protocol.EventToolCall:
			t.calls[e.ToolCallID] = &call{name: e.ToolName, input: e.Input, number: len(t.calls)}
		case protocol.EventToolResult:
			if known := t.calls[e.ToolCallID]; known != nil {
				known.done = true
			}
		}
	}
	return nil
}

func (s *session) recoverAnnounced(rec TurnRecord) error {
	if s.host.opts.Now().Before(rec.Expires) {
		former := s.announced
		s.setAnnounced(&rec)
		if former == nil {
			return nil
		}
		return s.neverStarted(*former) // the older one was queued, and its prompt is gone
	}
	return s.neverStarted(rec)
}

func (s *session) neverStarted(rec TurnRecord) error {
	b := s.begin()
	s.notStarted(b, rec)
	return b.commit()
}
