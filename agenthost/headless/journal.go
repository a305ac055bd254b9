package headless

import (
	"context"
	"math"

	"bellhop/agenthost/core"
	"bellhop/protocol"
)

const (
	historyPage = 500 // events of one read of ReadHistory
	lookBack    = 200 // events that Input reads to find the input of a headless turn
)

// Journal is what lines need of a host's journal. Turn, event and interaction are those of one session.
type Journal interface {
	// Interaction returns CodeNotFound when there is none.
	Interaction(ctx context.Context, sessionID, interactionID string) (*core.InteractionRecord, error)
	// TurnsFrom returns the started turns, ascending, beginning with the one that held offset.
	TurnsFrom(ctx context.Context, sessionID string, offset int64) ([]core.TurnRecord, error)
	// Events returns events of one epoch with a seq above after.
	Events(ctx context.Context, sessionID string, epoch, after int64, limit int) ([]core.EventRecord, error)
	// Pending returns events after the cursor, over all epochs, ascending.
	Pending(ctx context.Context, sessionID string, after protocol.Cursor, limit int) ([]core.EventRecord, error)
	// Newest returns events before the cursor, descending, over all epochs.
	Newest(ctx context.Context, sessionID string, before protocol.Cursor, limit int) ([]core.EventRecord, error)
	// Prompt returns the prompt of a turn, "" if it was not stored.
	Prompt(ctx context.Context, sessionID, turnID string) (string, error)
}

// NewSource returns the Source of a session in a journal.
func NewSource(journal Journal, sessionID string) Source { return source{journal, sessionID} }

type source struct {
	journal   Journal
	sessionID string
}

func (s source) Event(ctx context.Context, at protocol.Cursor) (*protocol.Event, error) {
	rows, err := s.journal.Events(ctx, s.sessionID, at.Epoch, at.Seq-1, 1)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 || rows[0].Cursor != at {
		return nil, protocol.Errorf(protocol.CodeNotFound, "No event at %d-%d", at.Epoch, at.Seq)
	}
	return rows[0].Event()
}

func (s source) Question(ctx context.Context, interactionID string) (*protocol.Event, error) {
	rec, err := s.journal.Interaction(ctx, s.sessionID, interactionID)
	if err != nil {
		return nil, err
	}
	q := rec.Question
	q.State, q.Answer = rec.State, rec.Answer
	return &q, nil
}

// Input reads the prompts of a broker's session, or the events of another one.
func (s source) Input(ctx context.Context, offset int64) (*protocol.Event, error) {
	turns, err := s.journal.TurnsFrom(ctx, s.sessionID, offset)
	if err != nil || len(turns) == 0 {
		return nil, err
	}
	text, err := s.journal.Prompt(ctx, s.sessionID, turns[0].ID)
	if err != nil || text != "" {
		return &protocol.Event{Type: core.EventInput, Text: &text}, err
	}
	rows, err := s.journal.Newest(ctx, s.sessionID, protocol.Cursor{Epoch: math.MaxInt64}, lookBack)
	for i := range rows {
		if rows[i].Type == core.EventInput && rows[i].TurnID == turns[0].ID {
			return rows[i].Event()
		}
	}
	return nil, err
}

// ReadHistory returns the lines of all events of a session, in order.
func ReadHistory(ctx context.Context, journal Journal, sessionID string) ([]protocol.Line, error) {
	lines := []protocol.Line{}
	var at protocol.Cursor
	for {
		rows, err := journal.Pending(ctx, sessionID, at, historyPage)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			e, err := rows[i].Event()
			if err != nil {
				return nil, err
			}
			lines = append(lines, History(sessionID, e)...)
			at = rows[i].Cursor
		}
		if len(rows) < historyPage {
			return lines, nil
		}
	}
}
