package journal

import (
	"encoding/json"
	"errors"
	"time"

	"bellhop/agenthost"
	"bellhop/internal/table"
	"bellhop/protocol"
)

var sessions = table.New("sessions",
	table.Text("id", func(s *agenthost.SessionRecord) *string { return &s.ID }).Key(),
	table.Text("broker_id", func(s *agenthost.SessionRecord) *string { return &s.BrokerID }),
	table.Text("key_hash", func(s *agenthost.SessionRecord) *string { return &s.KeyHash }),
	table.Text("owner_key_hash", func(s *agenthost.SessionRecord) *string { return &s.OwnerKeyHash }),
	table.Text("webhook_url", func(s *agenthost.SessionRecord) *string { return &s.WebhookURL }),
	table.Bool("basic", func(s *agenthost.SessionRecord) *bool { return &s.Basic }),
	table.Text("agent", func(s *agenthost.SessionRecord) *string { return &s.Agent }),
	table.Text("project", func(s *agenthost.SessionRecord) *string { return &s.Project }),
	table.Text("model", func(s *agenthost.SessionRecord) *string { return &s.Model }),
	table.Text("permission_mode", func(s *agenthost.SessionRecord) *protocol.PermissionMode { return &s.Mode }),
	table.Text("agent_session_id", func(s *agenthost.SessionRecord) *string { return &s.AgentSessionID }),
	table.Integer("epoch", func(s *agenthost.SessionRecord) *int64 { return &s.Cursor.Epoch }),
	table.Integer("seq", func(s *agenthost.SessionRecord) *int64 { return &s.Cursor.Seq }),
	table.Integer("acked_epoch", func(s *agenthost.SessionRecord) *int64 { return &s.Acked.Epoch }),
	table.Integer("acked_seq", func(s *agenthost.SessionRecord) *int64 { return &s.Acked.Seq }),
	table.Integer("offset_reserved", func(s *agenthost.SessionRecord) *int64 { return &s.OffsetReserved }),
	table.Text("status", func(s *agenthost.SessionRecord) *protocol.Status { return &s.Status }),
	table.Text("reason", func(s *agenthost.SessionRecord) *string { return &s.Reason }),
	table.JSONList("remembered", "[]", func(s *agenthost.SessionRecord) *[]string { return &s.Remembered }),
	table.Text("outbox_state", func(s *agenthost.SessionRecord) *agenthost.OutboxState { return &s.Outbox }),
	table.Text("outbox_error", func(s *agenthost.SessionRecord) *string { return &s.OutboxError }),
	moment("created_at", func(s *agenthost.SessionRecord) *time.Time { return &s.CreatedAt }),
	moment("active_at", func(s *agenthost.SessionRecord) *time.Time { return &s.ActiveAt }),
	table.Text("dir", func(s *agenthost.SessionRecord) *string { return &s.Dir }),
	table.Text("secret", func(s *agenthost.SessionRecord) *string { return &s.Secret }),
	table.Text("incarnation", func(s *agenthost.SessionRecord) *string { return &s.Incarnation }),
	table.Integer("resend_epoch", func(s *agenthost.SessionRecord) *int64 { return &s.Resend.Epoch }),
	table.Integer("resend_seq", func(s *agenthost.SessionRecord) *int64 { return &s.Resend.Seq }),
	table.Text("title", func(s *agenthost.SessionRecord) *string { return &s.Title }),
	table.Text("owner", func(s *agenthost.SessionRecord) *string { return &s.Owner }),
	table.Bool("named_answers", func(s *agenthost.SessionRecord) *bool { return &s.NamedAnswers }),
	table.Integer("announced_rev", func(s *agenthost.SessionRecord) *int64 { return &s.AnnouncedRev }),
)

var turns = table.New("turns",
	table.Text("session_id", func(t *agenthost.TurnRecord) *string { return &t.SessionID }).Key(),
	table.Text("id", func(t *agenthost.TurnRecord) *string { return &t.ID }).Key(),
	table.Text("state", func(t *agenthost.TurnRecord) *agenthost.TurnState { return &t.State }),
	table.Text("prompt_sha256", func(t *agenthost.TurnRecord) *string { return &t.PromptSHA256 }),
	moment("announced_at", func(t *agenthost.TurnRecord) *time.Time { return &t.Announced }),
	moment("expires_at", func(t *agenthost.TurnRecord) *time.Time { return &t.Expires }),
	moment("started_at", func(t *agenthost.TurnRecord) *time.Time { return &t.Started }),
	moment("finished_at", func(t *agenthost.TurnRecord) *time.Time { return &t.Finished }),
	table.Text("finish_reason", func(t *agenthost.TurnRecord) *protocol.FinishReason { return &t.FinishReason }),
	table.Text("reason", func(t *agenthost.TurnRecord) *string { return &t.Reason }),
	table.Integer("first_offset", func(t *agenthost.TurnRecord) *int64 { return &t.FirstOffset }),
	table.Integer("last_epoch", func(t *agenthost.TurnRecord) *int64 { return &t.LastID.Epoch }),
	table.Integer("last_offset", func(t *agenthost.TurnRecord) *int64 { return &t.LastID.Offset }),
	table.Text("message_id", func(t *agenthost.TurnRecord) *string { return &t.MessageID }),
)

var events = table.New("events",
	table.Text("session_id", func(e *agenthost.EventRecord) *string { return &e.SessionID }),
	table.Integer("epoch", func(e *agenthost.EventRecord) *int64 { return &e.Cursor.Epoch }),
	table.Integer("seq", func(e *agenthost.EventRecord) *int64 { return &e.Cursor.Seq }),
	table.Text("event_id", func(e *agenthost.EventRecord) *string { return &e.EventID }),
	table.Text("turn_id", func(e *agenthost.EventRecord) *string { return &e.TurnID }),
	table.Text("type", func(e *agenthost.EventRecord) *protocol.EventType { return &e.Type }),
	blob("body", func(e *agenthost.EventRecord) *json.RawMessage { return &e.Body }),
	table.Integer("frame_epoch", func(e *agenthost.EventRecord) *int64 { return &e.Frame.Epoch }),
	table.Integer("frame", func(e *agenthost.EventRecord) *int64 { return &e.Frame.Offset }),
	blob("part", func(e *agenthost.EventRecord) *[]byte { return &e.Part }),
)

var interactions = table.New("interactions",
	table.Text("session_id", func(i *agenthost.InteractionRecord) *string { return &i.SessionID }).Key(),
	table.Text("id", func(i *agenthost.InteractionRecord) *string { return &i.ID }).Key(),
	table.Text("turn_id", func(i *agenthost.InteractionRecord) *string { return &i.TurnID }),
	table.Text("kind", func(i *agenthost.InteractionRecord) *protocol.InteractionKind { return &i.Kind }),
	table.Text("state", func(i *agenthost.InteractionRecord) *protocol.InteractionState { return &i.State }),
	table.JSON("question", func(i *agenthost.InteractionRecord) *protocol.Event { return &i.Question }),
	table.JSONPointer("answer", "",
		func(i *agenthost.InteractionRecord) **protocol.InteractionAnswer { return &i.Answer }),
	moment("expires_at", func(i *agenthost.InteractionRecord) *time.Time { return &i.ExpiresAt }),
	moment("created_at", func(i *agenthost.InteractionRecord) *time.Time { return &i.CreatedAt }),
)

var prompts = table.New("prompts",
	table.Text("session_id", func(p *agenthost.PromptRecord) *string { return &p.SessionID }).Key(),
	table.Text("turn_id", func(p *agenthost.PromptRecord) *string { return &p.TurnID }).Key(),
	table.Text("text", func(p *agenthost.PromptRecord) *string { return &p.Text }),
)

var tokens = table.New("tokens",
	blob("hash", func(t *agenthost.TokenRecord) *[]byte { return &t.Hash }),
	table.Text("session_id", func(t *agenthost.TokenRecord) *string { return &t.SessionID }),
	table.Text("turn_id", func(t *agenthost.TokenRecord) *string { return &t.TurnID }),
	table.Bool("attach", func(t *agenthost.TokenRecord) *bool { return &t.Attach }),
	moment("expires_at", func(t *agenthost.TokenRecord) *time.Time { return &t.ExpiresAt }),
	table.Text("credential", func(t *agenthost.TokenRecord) *string { return &t.Credential }),
)

var acts = table.New("acts",
	table.Text("session_id", func(a *agenthost.ActRecord) *string { return &a.SessionID }).Key(),
	table.Text("id", func(a *agenthost.ActRecord) *string { return &a.ID }).Key(),
	blob("digest", func(a *agenthost.ActRecord) *[]byte { return &a.Digest }),
	moment("seen_at", func(a *agenthost.ActRecord) *time.Time { return &a.Seen }),
	table.Integer("status", func(a *agenthost.ActRecord) *int { return &a.Status }),
	blob("answer", func(a *agenthost.ActRecord) *[]byte { return &a.Answer }),
)

var deadLetters = table.New("dead_letters",
	table.Text("session_id", func(d *agenthost.DeadLetter) *string { return &d.SessionID }),
	table.Integer("epoch", func(d *agenthost.DeadLetter) *int64 { return &d.Cursor.Epoch }),
	table.Integer("seq", func(d *agenthost.DeadLetter) *int64 { return &d.Cursor.Seq }),
	table.Text("event_id", func(d *agenthost.DeadLetter) *string { return &d.EventID }),
	table.Text("reason", func(d *agenthost.DeadLetter) *string { return &d.Reason }),
	blob("body", func(d *agenthost.DeadLetter) *string { return &d.Body }),
	moment("at", func(d *agenthost.DeadLetter) *time.Time { return &d.At }),
)

// blob stores bytes; nil becomes an empty blob.
func blob[R any, B ~[]byte | ~string](name string, field func(*R) *B) table.Column[R] {
	return table.Column[R]{
		Name:   name,
		Value:  func(r *R) any { return []byte(*field(r)) },
		Target: func(r *R) any { return field(r) },
	}
}

// moment stores Unix milliseconds; 0 is the zero time.
func moment[R any](name string, field func(*R) *time.Time) table.Column[R] {
	return table.Column[R]{
		Name:   name,
		Value:  func(r *R) any { return millis(*field(r)) },
		Target: func(r *R) any { return unixMilli{field(r)} },
	}
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

type unixMilli struct{ to *time.Time }

// Scan implements sql.Scanner.
func (m unixMilli) Scan(src any) error {
	ms, ok := src.(int64)
	if !ok {
		return errors.New("a time must be an integer")
	}
	*m.to = time.Time{}
	if ms != 0 {
		*m.to = time.UnixMilli(ms).UTC()
	}
	return nil
}
