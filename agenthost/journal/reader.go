package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"bellhop/agenthost"
	"bellhop/protocol"
)

const (
	turnColumns = `session_id, id, state, prompt_sha256, announced_at, expires_at, started_at, finished_at,
		finish_reason, reason, first_offset, last_epoch, last_offset`
	eventColumns       = `session_id, epoch, seq, event_id, turn_id, type, body, frame_epoch, frame, part`
	interactionColumns = `session_id, id, turn_id, kind, state, question, answer, expires_at, created_at`
)

// rows runs a query and scans each row with scan.
func rows[T any](ctx context.Context, j *Journal, what string, scan func(scanner) (T, error), query string, args ...any) (_ []T, err error) {
	found, err := j.readers.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fault(what, err)
	}
	defer func() { err = errors.Join(err, found.Close()) }()
	var out []T
	for found.Next() {
		row, err := scan(found)
		if err != nil {
			return nil, fault(what, err)
		}
		out = append(out, row)
	}
	return out, fault(what, found.Err())
}

type scanner interface{ Scan(dest ...any) error }

// Turn returns a turn, CodeNotFound when there is none.
func (j *Journal) Turn(ctx context.Context, sessionID, turnID string) (*agenthost.TurnRecord, error) {
	t, err := scanTurn(j.readers.QueryRowContext(ctx,
		"SELECT "+turnColumns+" FROM turns WHERE session_id = ? AND id = ?", sessionID, turnID))
	if err != nil {
		return nil, fault("Turn", err)
	}
	return &t, nil
}

// TurnsFrom returns the started turns from the one that began at or before
// offset; -1 is the newest alone.
func (j *Journal) TurnsFrom(ctx context.Context, sessionID string, offset int64) ([]agenthost.TurnRecord, error) {
	query := "SELECT " + turnColumns + ` FROM turns WHERE session_id = ?1 AND started_at > 0 AND first_offset >=
		(SELECT max(first_offset) FROM turns WHERE session_id = ?1 AND started_at > 0 AND (?2 < 0 OR first_offset <= ?2))
		ORDER BY first_offset`
	return rows(ctx, j, "turns", scanTurn, query, sessionID, offset)
}

// Interaction returns a question, CodeNotFound when there is none.
func (j *Journal) Interaction(ctx context.Context, sessionID, interactionID string) (*agenthost.InteractionRecord, error) {
	i, err := scanInteraction(j.readers.QueryRowContext(ctx,
		"SELECT "+interactionColumns+" FROM interactions WHERE session_id = ? AND id = ?", sessionID, interactionID))
	if err != nil {
		return nil, fault("Interaction", err)
	}
	return &i, nil
}

// TurnEvents returns the events of a turn that have a part, in the order of
// their frames.
func (j *Journal) TurnEvents(ctx context.Context, sessionID, turnID string) ([]agenthost.EventRecord, error) {
	return rows(ctx, j, "events of a turn", scanEvent,
		"SELECT "+eventColumns+" FROM events WHERE session_id = ? AND turn_id = ? AND frame > 0 ORDER BY frame", sessionID, turnID)
}

// Events returns events of one epoch after a seq.
func (j *Journal) Events(ctx context.Context, sessionID string, epoch, after int64, limit int) ([]agenthost.EventRecord, error) {
	return rows(ctx, j, "events", scanEvent,
		"SELECT "+eventColumns+" FROM events WHERE session_id = ? AND epoch = ? AND seq > ? ORDER BY seq LIMIT ?",
		sessionID, epoch, after, limit)
}

// Pending returns events after a cursor.
func (j *Journal) Pending(ctx context.Context, sessionID string, after protocol.Cursor, limit int) ([]agenthost.EventRecord, error) {
	return rows(ctx, j, "pending events", scanEvent,
		"SELECT "+eventColumns+" FROM events WHERE session_id = ? AND (epoch, seq) > (?, ?) ORDER BY epoch, seq LIMIT ?",
		sessionID, after.Epoch, after.Seq, limit)
}

// Newest returns events before a cursor, the newest first.
func (j *Journal) Newest(ctx context.Context, sessionID string, before protocol.Cursor, limit int) ([]agenthost.EventRecord, error) {
	return rows(ctx, j, "newest events", scanEvent,
		"SELECT "+eventColumns+" FROM events WHERE session_id = ? AND (epoch, seq) < (?, ?) ORDER BY epoch DESC, seq DESC LIMIT ?",
		sessionID, before.Epoch, before.Seq, limit)
}

// Prompt returns what a turn was asked, "" when that was not kept.
func (j *Journal) Prompt(ctx context.Context, sessionID, turnID string) (text string, err error) {
	err = j.readers.QueryRowContext(ctx,
		"SELECT text FROM prompts WHERE session_id = ? AND turn_id = ?", sessionID, turnID).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return text, fault("prompt", err)
}

// CountPending counts what Pending would return.
func (j *Journal) CountPending(ctx context.Context, sessionID string, after protocol.Cursor) (int64, error) {
	var n int64
	err := j.readers.QueryRowContext(ctx,
		"SELECT count(*) FROM events WHERE session_id = ? AND (epoch, seq) > (?, ?)", sessionID, after.Epoch, after.Seq).Scan(&n)
	return n, fault("pending events", err)
}

// Token finds a token by its hash, CodeUnauthorized when it is unknown.
func (j *Journal) Token(ctx context.Context, hash []byte) (*agenthost.TokenRecord, error) {
	t := agenthost.TokenRecord{Hash: hash}
	err := j.readers.QueryRowContext(ctx,
		"SELECT session_id, turn_id, attach, expires_at FROM tokens WHERE hash = ?", hash).
		Scan(&t.SessionID, &t.TurnID, &t.Attach, moment{&t.ExpiresAt})
	if errors.Is(err, sql.ErrNoRows) {
		return nil, &protocol.Error{Code: protocol.CodeUnauthorized, Message: "Invalid or expired token"}
	}
	return &t, fault("token", err)
}

// DeadLetters returns the newest ones.
func (j *Journal) DeadLetters(ctx context.Context, limit int) ([]agenthost.DeadLetter, error) {
	return rows(ctx, j, "dead letters", func(s scanner) (d agenthost.DeadLetter, err error) {
		var body []byte
		err = s.Scan(&d.SessionID, &d.Cursor.Epoch, &d.Cursor.Seq, &d.EventID, &d.Reason, &body, moment{&d.At})
		d.Body = string(body)
		return d, err
	}, "SELECT session_id, epoch, seq, event_id, reason, body, at FROM dead_letters ORDER BY id DESC LIMIT ?", limit)
}

func scanTurn(s scanner) (t agenthost.TurnRecord, err error) {
	err = s.Scan(&t.SessionID, &t.ID, &t.State, &t.PromptSHA256, moment{&t.Announced}, moment{&t.Expires}, moment{&t.Started},
		moment{&t.Finished}, &t.FinishReason, &t.Reason, &t.FirstOffset, &t.LastID.Epoch, &t.LastID.Offset)
	return t, err
}

func scanEvent(s scanner) (e agenthost.EventRecord, err error) {
	var body []byte
	err = s.Scan(&e.SessionID, &e.Cursor.Epoch, &e.Cursor.Seq, &e.EventID, &e.TurnID, &e.Type, &body,
		&e.Frame.Epoch, &e.Frame.Offset, &e.Part)
	e.Body = body
	return e, err
}

func scanInteraction(s scanner) (i agenthost.InteractionRecord, err error) {
	var question, answer string
	if err = s.Scan(&i.SessionID, &i.ID, &i.TurnID, &i.Kind, &i.State, &question, &answer,
		moment{&i.ExpiresAt}, moment{&i.CreatedAt}); err != nil {
		return i, err
	}
	if err = json.Unmarshal([]byte(question), &i.Question); err == nil && answer != "" {
		err = json.Unmarshal([]byte(answer), &i.Answer)
	}
	return i, err
}

// moment scans Unix milliseconds; 0 is the zero time.
type moment struct{ dst *time.Time }

// Scan implements sql.Scanner.
func (m moment) Scan(src any) error {
	ms, ok := src.(int64)
	if !ok {
		return errors.New("a time must be an integer")
	}
	*m.dst = time.Time{}
	if ms != 0 {
		*m.dst = time.UnixMilli(ms).UTC()
	}
	return nil
}
