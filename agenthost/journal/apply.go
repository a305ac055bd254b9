package journal

import (
	"context"
	"errors"

	"github.com/ncruces/go-sqlite3"

	"bellhop/agenthost"
	"bellhop/internal/table"
)

// applyWrite adds the rows of one write to the open transaction. It stops at the
// first error, which may have ended the transaction.
func (w *writer) applyWrite(in *agenthost.Write) error {
	if in.DropSession {
		return w.dropSession(in.SessionID)
	}
	if in.Session != nil {
		if err := put(w, sessions.UpsertOne(), sessions, in.Session); err != nil {
			return err
		}
	}
	if err := putAll(w, turns.UpsertOne(), turns, in.Turns); err != nil {
		return err
	}
	for _, at := range in.DropEvents {
		if err := w.run(
			"DELETE FROM events WHERE session_id = ? AND epoch = ? AND seq = ?", in.SessionID, at.Epoch, at.Seq,
		); err != nil {
			return err
		}
	}
	if err := putAll(w, events.InsertOne(), events, in.Events); err != nil {
		return err
	}
	if err := putAll(w, prompts.UpsertOne(), prompts, in.Prompts); err != nil {
		return err
	}
	if err := putAll(w, interactions.UpsertOne(), interactions, in.Interactions); err != nil {
		return err
	}
	if err := w.putTokens(in); err != nil {
		return err
	}
	if err := w.putActs(in); err != nil {
		return err
	}
	return putAll(w, deadLetters.InsertOne(), deadLetters, in.DeadLetters)
}

func (w *writer) putTokens(in *agenthost.Write) error {
	if !in.DropTokens.IsZero() {
		if err := w.run(
			"DELETE FROM tokens WHERE session_id = ? AND expires_at < ?", in.SessionID, in.DropTokens,
		); err != nil {
			return err
		}
	}
	if in.DropAllTokens {
		if err := w.run("DELETE FROM tokens WHERE session_id = ?", in.SessionID); err != nil {
			return err
		}
	}
	return putAll(w, tokens.InsertOne(), tokens, in.Tokens)
}

func (w *writer) putActs(in *agenthost.Write) error {
	if !in.DropActs.IsZero() {
		if err := w.run("DELETE FROM acts WHERE seen_at < ?", in.DropActs); err != nil {
			return err
		}
	}
	if in.DropAct != "" {
		if err := w.run("DELETE FROM acts WHERE session_id = ? AND id = ?", in.SessionID, in.DropAct); err != nil {
			return err
		}
	}
	return putAll(w, acts.UpsertOne(), acts, in.Acts)
}

// DropTokens implements agenthost.Journal.
func (j *Journal) DropTokens(ctx context.Context, brokerID, credential string) error {
	return j.exec(ctx, func(c *sqlite3.Conn) error {
		stmt, _, err := c.Prepare(`DELETE FROM tokens WHERE credential = ?
			AND session_id IN (SELECT id FROM sessions WHERE broker_id = ?)`)
		if err != nil {
			return err
		}
		return errors.Join(stmt.BindText(1, credential), stmt.BindText(2, brokerID), stmt.Exec(), stmt.Close())
	})
}

func putAll[R any](w *writer, statement string, t *table.Table[R], rows []R) error {
	for i := range rows {
		if err := put(w, statement, t, &rows[i]); err != nil {
			return err
		}
	}
	return nil
}

func put[R any](w *writer, statement string, t *table.Table[R], row *R) error {
	w.args = t.AppendValues(w.args[:0], row)
	return w.run(statement, w.args...)
}

func (w *writer) dropSession(id string) error {
	for _, query := range []string{
		"DELETE FROM events WHERE session_id = ?",
		"DELETE FROM turns WHERE session_id = ?",
		"DELETE FROM prompts WHERE session_id = ?",
		"DELETE FROM interactions WHERE session_id = ?",
		"DELETE FROM tokens WHERE session_id = ?",
		"DELETE FROM dead_letters WHERE session_id = ?",
		"DELETE FROM sessions WHERE id = ?",
	} {
		if err := w.run(query, id); err != nil {
			return err
		}
	}
	return nil
}
