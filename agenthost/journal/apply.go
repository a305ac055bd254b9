package journal

import (
	"encoding/json"

	"bellhop/agenthost"
)

// applyWrite puts the rows of one write into the open transaction.
func (w *writer) applyWrite(in *agenthost.Write) error {
	if in.DropSession {
		return w.dropSession(in.SessionID)
	}
	if in.Session != nil {
		if err := w.putSession(in.Session); err != nil {
			return err
		}
	}
	for i := range in.Turns {
		if err := w.putTurn(&in.Turns[i]); err != nil {
			return err
		}
	}
	for _, at := range in.DropEvents {
		if err := w.run("DELETE FROM events WHERE session_id = ? AND epoch = ? AND seq = ?", in.SessionID, at.Epoch, at.Seq); err != nil {
			return err
		}
	}
	for i := range in.Events {
		if err := w.putEvent(&in.Events[i]); err != nil {
			return err
		}
	}
	for _, p := range in.Prompts {
		if err := w.run("INSERT OR REPLACE INTO prompts (session_id, turn_id, text) VALUES (?, ?, ?)", p.SessionID, p.TurnID, p.Text); err != nil {
			return err
		}
	}
	for i := range in.Interactions {
		if err := w.putInteraction(&in.Interactions[i]); err != nil {
			return err
		}
	}
	return w.putRest(in)
}

func (w *writer) putRest(in *agenthost.Write) error {
	if !in.DropTokens.IsZero() {
		if err := w.run("DELETE FROM tokens WHERE session_id = ? AND expires_at < ?", in.SessionID, in.DropTokens); err != nil {
			return err
		}
	}
	if in.DropAllTokens {
		if err := w.run("DELETE FROM tokens WHERE session_id = ?", in.SessionID); err != nil {
			return err
		}
	}
	for _, t := range in.Tokens {
		if err := w.run("INSERT INTO tokens (hash, session_id, turn_id, attach, expires_at) VALUES (?, ?, ?, ?, ?)",
			t.Hash, t.SessionID, t.TurnID, t.Attach, t.ExpiresAt); err != nil {
			return err
		}
	}
	for _, d := range in.DeadLetters {
		if err := w.run("INSERT INTO dead_letters (session_id, epoch, seq, event_id, reason, body, at) VALUES (?, ?, ?, ?, ?, ?, ?)",
			d.SessionID, d.Cursor.Epoch, d.Cursor.Seq, d.EventID, d.Reason, []byte(d.Body), d.At); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) putSession(s *agenthost.SessionRecord) error {
	remembered, err := json.Marshal(s.Remembered)
	if err != nil {
		return err
	}
	return w.run(`INSERT OR REPLACE INTO sessions (id, broker_id, webhook_url, basic, agent, project, model, native,
		epoch, seq, acked_epoch, acked_seq, offset_reserved, status, reason, remembered, outbox_state, outbox_error,
		created_at, active_at, dir, secret) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		s.ID, s.BrokerID, s.WebhookURL, s.Basic, s.Agent, s.Project, s.Model, s.Native,
		s.Cursor.Epoch, s.Cursor.Seq, s.Acked.Epoch, s.Acked.Seq, s.OffsetReserved, string(s.Status), s.Reason,
		string(remembered), string(s.Outbox), s.OutboxError, s.CreatedAt, s.ActiveAt, s.Dir, s.Secret)
}

func (w *writer) putTurn(t *agenthost.TurnRecord) error {
	return w.run(`INSERT OR REPLACE INTO turns (session_id, id, state, prompt_sha256, announced_at, expires_at,
		started_at, finished_at, finish_reason, reason, first_offset, last_epoch, last_offset)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		t.SessionID, t.ID, string(t.State), t.PromptSHA256, t.Announced, t.Expires,
		t.Started, t.Finished, string(t.FinishReason), t.Reason, t.FirstOffset, t.LastID.Epoch, t.LastID.Offset)
}

func (w *writer) putEvent(e *agenthost.EventRecord) error {
	return w.run(`INSERT INTO events (session_id, epoch, seq, event_id, turn_id, type, body, frame_epoch, frame, part)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		e.SessionID, e.Cursor.Epoch, e.Cursor.Seq, e.EventID, e.TurnID, string(e.Type), []byte(e.Body),
		e.Frame.Epoch, e.Frame.Offset, e.Part)
}

func (w *writer) putInteraction(i *agenthost.InteractionRecord) error {
	question, err := json.Marshal(i.Question)
	if err != nil {
		return err
	}
	answer := ""
	if i.Answer != nil {
		raw, err := json.Marshal(i.Answer)
		if err != nil {
			return err
		}
		answer = string(raw)
	}
	return w.run(`INSERT OR REPLACE INTO interactions (session_id, id, turn_id, kind, state, question, answer, expires_at, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		i.SessionID, i.ID, i.TurnID, string(i.Kind), string(i.State), string(question), answer, i.ExpiresAt, i.CreatedAt)
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
