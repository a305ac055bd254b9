package journal

import (
	"context"
	"database/sql"
	"errors"

	"bellhop/agenthost"
	"bellhop/internal/table"
	"bellhop/protocol"
)

// find reads rows of t; rest is the part after FROM and the table's name.
func find[R any](ctx context.Context, j *Journal, t *table.Table[R], what, rest string, args ...any) ([]R, error) {
	rows, err := j.readers.QueryContext(ctx, t.Select(rest), args...)
	if err != nil {
		return nil, fault(what, err)
	}
	all, err := t.Read(rows)
	return all, fault(what, err)
}

func findOne[R any](ctx context.Context, j *Journal, t *table.Table[R], what, rest string, args ...any) (*R, error) {
	all, err := find(ctx, j, t, what, rest, args...)
	if err == nil && len(all) == 0 {
		err = fault(what, sql.ErrNoRows)
	}
	if err != nil {
		return nil, err
	}
	return &all[0], nil
}

// Turn returns a turn, or CodeNotFound.
func (j *Journal) Turn(ctx context.Context, sessionID, turnID string) (*agenthost.TurnRecord, error) {
	return findOne(ctx, j, turns, "Turn", "WHERE session_id = ? AND id = ?", sessionID, turnID)
}

// TurnsFrom returns the started turns, beginning with the last one that began at or
// before offset. For -1 it returns only the newest turn.
func (j *Journal) TurnsFrom(ctx context.Context, sessionID string, offset int64) ([]agenthost.TurnRecord, error) {
	return find(ctx, j, turns, "turns", `WHERE session_id = ?1 AND started_at > 0 AND first_offset >=
		(SELECT max(first_offset) FROM turns WHERE session_id = ?1 AND started_at > 0 AND (?2 < 0 OR first_offset <= ?2))
		ORDER BY first_offset`, sessionID, offset)
}

// Interaction returns a question, or CodeNotFound.
func (j *Journal) Interaction(
	ctx context.Context, sessionID, interactionID string,
) (*agenthost.InteractionRecord, error) {
	return findOne(ctx, j, interactions, "Interaction", "WHERE session_id = ? AND id = ?", sessionID, interactionID)
}

// TurnEvents returns the events of a turn that have a part, in the order of their
// frames.
func (j *Journal) TurnEvents(ctx context.Context, sessionID, turnID string) ([]agenthost.EventRecord, error) {
	return find(ctx, j, events, "events of a turn",
		"WHERE session_id = ? AND turn_id = ? AND frame > 0 ORDER BY frame", sessionID, turnID)
}

// Events returns events of one epoch after a seq.
func (j *Journal) Events(
	ctx context.Context, sessionID string, epoch, after int64, limit int,
) ([]agenthost.EventRecord, error) {
	return find(ctx, j, events, "events",
		"WHERE session_id = ? AND epoch = ? AND seq > ? ORDER BY seq LIMIT ?", sessionID, epoch, after, limit)
}

// Pending returns events after a cursor.
func (j *Journal) Pending(
	ctx context.Context, sessionID string, after protocol.Cursor, limit int,
) ([]agenthost.EventRecord, error) {
	return find(ctx, j, events, "pending events",
		"WHERE session_id = ? AND (epoch, seq) > (?, ?) ORDER BY epoch, seq LIMIT ?",
		sessionID, after.Epoch, after.Seq, limit)
}

// Newest returns events before a cursor, the newest first.
func (j *Journal) Newest(
	ctx context.Context, sessionID string, before protocol.Cursor, limit int,
) ([]agenthost.EventRecord, error) {
	return find(ctx, j, events, "newest events",
		"WHERE session_id = ? AND (epoch, seq) < (?, ?) ORDER BY epoch DESC, seq DESC LIMIT ?",
		sessionID, before.Epoch, before.Seq, limit)
}

// Prompt returns the prompt of a turn, or "" if it was not stored.
func (j *Journal) Prompt(ctx context.Context, sessionID, turnID string) (text string, err error) {
	err = j.readers.QueryRowContext(ctx,
		"SELECT text FROM prompts WHERE session_id = ? AND turn_id = ?", sessionID, turnID).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return text, fault("prompt", err)
}

// CountPending returns how many events Pending would return without a limit.
func (j *Journal) CountPending(ctx context.Context, sessionID string, after protocol.Cursor) (int64, error) {
	var n int64
	err := j.readers.QueryRowContext(ctx,
		"SELECT count(*) FROM events WHERE session_id = ? AND (epoch, seq) > (?, ?)",
		sessionID, after.Epoch, after.Seq).Scan(&n)
	return n, fault("pending events", err)
}

// Act finds an act of a session, or returns CodeNotFound.
func (j *Journal) Act(ctx context.Context, sessionID, id string) (*agenthost.ActRecord, error) {
	return findOne(ctx, j, acts, "act", "WHERE session_id = ? AND id = ?", sessionID, id)
}

// LatestAct finds the act of a session that began last, or returns CodeNotFound.
func (j *Journal) LatestAct(ctx context.Context, sessionID string) (*agenthost.ActRecord, error) {
	return findOne(ctx, j, acts, "act", "WHERE session_id = ? ORDER BY no DESC LIMIT 1", sessionID)
}

// Token finds a token by its hash, or returns CodeUnauthorized.
func (j *Journal) Token(ctx context.Context, hash []byte) (*agenthost.TokenRecord, error) {
	token, err := findOne(ctx, j, tokens, "token", "WHERE hash = ?", hash)
	if protocol.CodeOf(err) == protocol.CodeNotFound {
		return nil, &protocol.Error{Code: protocol.CodeUnauthorized, Message: "Invalid or expired token"}
	}
	return token, err
}

// DeadLetters returns the newest dead letters.
func (j *Journal) DeadLetters(ctx context.Context, limit int) ([]agenthost.DeadLetter, error) {
	return find(ctx, j, deadLetters, "dead letters", "ORDER BY id DESC LIMIT ?", limit)
}
