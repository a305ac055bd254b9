package agenthost

import (
	"context"

	"bellhop/agenthost/core"
	"bellhop/agenthost/stream"
	"bellhop/protocol"
)

// Attach streams from a cursor, "" for none. A nil Stream means that the session is idle
// and has nothing newer. A stream ends with the open turn unless follow is set.
func (h *Host) Attach(ctx context.Context, sessionID, cursor string, follow bool) (*Stream, error) {
	s, err := h.session(sessionID)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stream.Attach(ctx, streamJournal{s}, s.streamState(), cursor, follow)
}

// replayFinished answers a request to start a turn that is over, or can no longer be
// started. The session's lock is held.
func (s *session) replayFinished(ctx context.Context, turnID string) (*Stream, error) {
	rec, err := s.host.opts.Journal.Turn(ctx, s.id, turnID)
	if protocol.CodeOf(err) == protocol.CodeNotFound || err == nil && rec.Started.IsZero() {
		return nil, core.ErrSuperseded()
	}
	if err != nil {
		return nil, err
	}
	return s.replay(ctx, rec)
}

func (s *session) replay(ctx context.Context, rec *TurnRecord) (*Stream, error) {
	return s.stream.Replay(ctx, streamJournal{s}, s.streamState(), streamTurn(rec))
}

// streamState describes the session to a new reader. The session's lock is held.
func (s *session) streamState() stream.State {
	now := stream.State{Epoch: s.state.Record.Cursor.Epoch, Next: s.state.Next}
	if t := s.state.Turn; t != nil {
		open := streamTurn(&t.Record)
		now.Open = &open
	}
	for i := range s.state.Questions {
		now.Questions = append(now.Questions, s.state.Questions[i].ID)
	}
	return now
}

func streamTurn(rec *TurnRecord) stream.Turn {
	return stream.Turn{ID: rec.ID, First: rec.FirstOffset, Last: rec.LastID, Open: rec.State == TurnOpen}
}

// streamJournal reads a session's turns and events for its stream.
type streamJournal struct{ s *session }

func (j streamJournal) TurnsFrom(ctx context.Context, offset int64) ([]stream.Turn, error) {
	rows, err := j.s.host.opts.Journal.TurnsFrom(ctx, j.s.id, offset)
	turns := make([]stream.Turn, len(rows))
	for i := range rows {
		turns[i] = streamTurn(&rows[i])
	}
	return turns, err
}

func (j streamJournal) Events(ctx context.Context, turnID string) ([]stream.Event, error) {
	rows, err := j.s.host.opts.Journal.TurnEvents(ctx, j.s.id, turnID)
	events := make([]stream.Event, len(rows))
	for i := range rows {
		row := &rows[i]
		events[i] = stream.Event{ID: row.Frame, Type: row.Type, Part: row.Part, Body: row.Body}
	}
	return events, err
}
