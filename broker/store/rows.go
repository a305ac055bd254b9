package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"bellhop/broker"
)

func insertEvents(events []broker.StoredEvent) statement {
	rows := make([][]any, len(events))
	for i, e := range events {
		var epoch, seq *int64
		if e.Epoch > 0 {
			epoch, seq = &events[i].Epoch, &events[i].Seq
		}
		rows[i] = []any{
			e.TaskID, e.EventID, epoch, seq, e.TurnID, string(e.Type), string(e.Body), e.Digest, e.Late, e.ReceivedAt.UTC(),
		}
	}
	return insert("events", "task_id, event_id, epoch, seq, turn_id, type, body, digest, late, received_at", "", rows)
}

func insertMessages(all []broker.Message) (statement, error) {
	rows := make([][]any, len(all))
	for i := range all {
		m := &all[i]
		artifacts, err := artifactsJSON(m)
		if err != nil {
			return statement{}, err
		}
		rows[i] = []any{
			m.TaskID, m.ID, m.Seq, m.Rev, m.TurnID, string(m.Role), string(m.Status), m.Message.Message, artifacts,
			m.EventID, orNull(m.ToolCallID), string(m.Phase), m.BodyHash, m.CreatedAt.UTC(),
		}
	}
	return insert("messages", "task_id, id, seq, rev, turn_id, role, status, message, artifacts, "+
		"event_id, tool_call_id, phase, body_hash, created_at", "", rows), nil
}

func updateMessage(m *broker.Message) (statement, error) {
	artifacts, err := artifactsJSON(m)
	if err != nil {
		return statement{}, err
	}
	return statement{
		sql:  `UPDATE messages SET rev = ?, turn_id = ?, status = ?, artifacts = ?, phase = ? WHERE task_id = ? AND id = ?`,
		args: []any{m.Rev, m.TurnID, string(m.Status), artifacts, string(m.Phase), m.TaskID, m.ID},
	}, nil
}

func upsertTurns(all []broker.Turn) statement {
	rows := make([][]any, len(all))
	for i, t := range all {
		rows[i] = []any{
			t.TaskID, t.ID, t.MessageID, string(t.State), string(t.FinishReason), t.Reason, textOf(t.Usage),
			t.AnnouncedAt.UTC(), utc(t.FinishedAt),
		}
	}
	return insert("turns", "task_id, id, message_id, state, finish_reason, reason, usage, announced_at, finished_at",
		` ON CONFLICT (task_id, id) DO UPDATE SET state = excluded.state, finish_reason = excluded.finish_reason,
		reason = excluded.reason, usage = excluded.usage, finished_at = excluded.finished_at`, rows)
}

func upsertInteractions(all []broker.Interaction) (statement, error) {
	rows := make([][]any, len(all))
	for i, q := range all {
		options, err := optionalJSON(q.Options, q.Options != nil)
		if err != nil {
			return statement{}, fmt.Errorf("interaction %s: options: %w", q.ID, err)
		}
		answer, err := optionalJSON(q.Answer, q.Answer != nil)
		if err != nil {
			return statement{}, fmt.Errorf("interaction %s: answer: %w", q.ID, err)
		}
		rows[i] = []any{
			q.TaskID, q.ID, q.TurnID, string(q.State), string(q.Kind), q.Prompt, q.ToolCallID, q.ToolName, textOf(q.Args),
			q.Level, q.Default, options, q.ExpiresAt, answer, q.CreatedAt.UTC(),
		}
	}
	return insert("interactions", "task_id, id, turn_id, state, kind, prompt, tool_call_id, tool_name, args, "+
		"level, default_answer, options, expires_at, answer, created_at",
		` ON CONFLICT (task_id, id) DO UPDATE SET turn_id = excluded.turn_id, state = excluded.state, kind = excluded.kind,
		prompt = excluded.prompt, tool_call_id = excluded.tool_call_id, tool_name = excluded.tool_name, args = excluded.args,
		level = excluded.level, default_answer = excluded.default_answer, options = excluded.options,
		expires_at = excluded.expires_at, answer = excluded.answer`, rows), nil
}

func insertChanges(taskID string, changes []broker.ChangeRef) statement {
	rows := make([][]any, len(changes))
	for i, c := range changes {
		rows[i] = []any{taskID, c.Rev, string(c.Kind), c.RefID}
	}
	return insert("changes", "task_id, rev, kind, ref_id", "", rows)
}

func updateTask(t *broker.Task) (statement, error) {
	lastTurn, err := optionalJSON(t.LastTurn, t.LastTurn != nil)
	if err != nil {
		return statement{}, fmt.Errorf("task %s: last turn: %w", t.ID, err)
	}
	return statement{
		sql: `UPDATE tasks SET title = ?, agent = ?, project = ?, host_id = ?, agent_url = ?, guarded = ?, agent_status = ?,
			reason = ?, open_turn = ?, last_turn = ?, epoch = ?, seq = ?, host_events = ?, rev = ?, read_rev = ?, last_seq = ?,
			open_questions = ?, archived = ?, last_activity_at = ?, last_event_at = ?, changed_at = ?, deleted_at = ?
			WHERE id = ?`,
		args: []any{
			t.Title, t.Agent, t.Project, orNull(t.HostID), t.AgentURL, t.Guarded, string(t.AgentStatus),
			t.Reason, t.OpenTurn, lastTurn, t.Cursor.Epoch, t.Cursor.Seq, t.HostEvents, t.Rev, t.ReadRev, t.LastSeq,
			t.OpenQuestions, t.Archived, t.LastActivityAt.UTC(), utc(t.LastEventAt), t.ChangedAt.UTC(), utc(t.DeletedAt),
			t.ID,
		},
	}, nil
}

func textOf(raw json.RawMessage) *string {
	if raw == nil {
		return nil
	}
	s := string(raw)
	return &s
}

// toJSON leaves <, > and & as they came.
func toJSON(v any) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

func optionalJSON(v any, present bool) (*string, error) {
	if !present {
		return nil, nil
	}
	s, err := toJSON(v)
	return &s, err
}
