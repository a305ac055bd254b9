package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"bellhop/broker"
	"bellhop/internal/database"
	"bellhop/internal/table"
	"bellhop/protocol"
)

// messageRow is a message as it is read: with the body of its text event.
type messageRow struct {
	broker.Message
	body json.RawMessage
}

// messageColumns has the columns of a message that are the same in rows that are written, which are rows of the
// log, and in rows that are read. A new column of messages is one row here.
func messageColumns[R any](of func(*R) *broker.Message) []table.Column[R] {
	return []table.Column[R]{
		table.OptionalText("id", func(r *R) *string { return &of(r).ID }),
		table.Integer("seq", func(r *R) *int64 { return &of(r).Seq }),
		table.Integer("rev", func(r *R) *int64 { return &of(r).Rev }),
		table.Text("role", func(r *R) *protocol.Role { return &of(r).Role }),
		table.Text("status", func(r *R) *protocol.MessageStatus { return &of(r).Status }),
		table.OptionalText("tool_call_id", func(r *R) *string { return &of(r).ToolCallID }),
		table.OptionalText("phase", func(r *R) *broker.ToolPhase { return &of(r).Phase }),
		table.OptionalText("body_hash", func(r *R) *string { return &of(r).BodyHash }),
	}
}

// messageRows has the columns of a message in rows of the log.
func messageRows(name string) *table.Table[messageRow] {
	return table.New(name, append(messageColumns(func(m *messageRow) *broker.Message { return &m.Message }),
		table.Text("turn_id", func(m *messageRow) *string { return &m.TurnID }),
		table.OptionalText("message", func(m *messageRow) *string { return &m.Message.Message.Message }),
		table.JSON("COALESCE(artifacts, '[]')", func(m *messageRow) *[]protocol.Artifact { return &m.Artifacts }),
		table.OptionalText("event_id", func(m *messageRow) *string { return &m.EventID }),
		table.Time("created_at", func(m *messageRow) *time.Time { return &m.CreatedAt }),
		table.OptionalTextBytes("CASE WHEN type = 'text' THEN body END",
			func(m *messageRow) *json.RawMessage { return &m.body }),
	)...)
}

var messages = messageRows("log")

// selection selects messages of a task.
type selection struct {
	condition   string
	args        []any
	newestFirst bool
	unordered   bool // at most one row has the condition, so no index may be chosen for its order
	limit       int  // 0 = all
}

// rest returns the part after FROM log.
func (q selection) rest() string {
	rest := "WHERE " + ofTask + " AND seq IS NOT NULL AND " + q.condition
	if !q.unordered {
		rest += " ORDER BY seq"
	}
	if q.newestFirst {
		rest += " DESC"
	}
	if q.limit > 0 {
		rest += " LIMIT ?"
	}
	return rest
}

// values returns the values of rest's placeholders.
func (q selection) values(taskID string) []any {
	values := append([]any{taskID}, q.args...)
	if q.limit > 0 {
		values = append(values, q.limit)
	}
	return values
}

// messages returns the selected messages of a task, by seq.
func (s *Store) messages(ctx context.Context, taskID string, q selection) ([]broker.Message, error) {
	found, err := database.Find(ctx, s.db, messages, "Messages of task", taskID, q.rest(), q.values(taskID)...)
	if err != nil {
		return nil, err
	}
	return read(taskID, found)
}

// read completes messages with what their rows do not have.
func read(taskID string, rows []messageRow) ([]broker.Message, error) {
	all := make([]broker.Message, len(rows))
	for i := range rows {
		all[i] = rows[i].Message
		all[i].TaskID = taskID
		if rows[i].body == nil {
			continue
		}
		event, err := protocol.ParseEvent(rows[i].body)
		if err != nil || event.Text == nil {
			return nil, fmt.Errorf("task %s: the event of message %d cannot be read: %w", taskID, rows[i].Seq, err)
		}
		all[i].Message.Message = *event.Text
		all[i].Describe(event)
	}
	return all, nil
}

func (s *Store) oneMessage(ctx context.Context, taskID string, q selection) (*broker.Message, error) {
	q.limit = 1
	found, err := s.messages(ctx, taskID, q)
	if err == nil && len(found) == 0 {
		err = protocol.Errorf(protocol.CodeNotFound, "Message not found")
	}
	if err != nil {
		return nil, err
	}
	return &found[0], nil
}

func (s *Store) Message(ctx context.Context, taskID, id string) (*broker.Message, error) {
	return s.oneMessage(ctx, taskID, selection{condition: "role = 'USER' AND id = ?", args: []any{id}, unordered: true})
}

func (s *Store) TurnMessage(ctx context.Context, taskID, turnID string) (*broker.Message, error) {
	return s.oneMessage(ctx, taskID, selection{
		condition: "turn_id = ? AND role = 'USER'", args: []any{turnID}, unordered: true,
	})
}

// isDiff selects messages that hold a diff, in the words of their index. The hash begins with broker.DiffHash.
const isDiff = "substr(body_hash, 1, 5) = 'diff:'"

func (s *Store) LastDiff(ctx context.Context, taskID string) (*broker.Message, error) {
	return s.oneMessage(ctx, taskID, selection{condition: isDiff, newestFirst: true})
}

func (s *Store) Messages(ctx context.Context, taskID string, q broker.MessageQuery) ([]broker.Message, error) {
	if q.Since != nil && q.Limit > 0 {
		seqs, known, err := s.changedSince(ctx, taskID, q)
		switch {
		case err != nil || known && len(seqs) == 0:
			return nil, err
		case known:
			return s.MessagesBySeq(ctx, taskID, seqs)
		}
	}
	wanted := selection{newestFirst: q.Before != nil && q.After == nil, limit: q.Limit}
	var condition strings.Builder
	for _, bound := range []struct {
		condition string
		value     *int64
	}{{"seq > ?", q.After}, {"seq < ?", q.Before}, {"rev > ?", q.Since}} {
		if bound.value != nil {
			condition.WriteString(bound.condition + " AND ")
			wanted.args = append(wanted.args, *bound.value)
		}
	}
	wanted.condition = condition.String() + "TRUE"
	found, err := s.messages(ctx, taskID, wanted)
	if wanted.newestFirst {
		slices.Reverse(found)
	}
	return found, err
}

func (s *Store) MessagesBySeq(ctx context.Context, taskID string, seqs []int64) ([]broker.Message, error) {
	return s.messagesAmong(ctx, taskID, "seq", s.numbered, s.numbers(slices.Clone(seqs)))
}

func (s *Store) ToolMessages(ctx context.Context, taskID string, toolCallIDs []string) ([]broker.Message, error) {
	return s.messagesAmong(ctx, taskID, "tool_call_id", s.db.In, s.db.Texts(toolCallIDs))
}

// RunningTools implements broker.UpdateStore. The rows of a turn come after its
// user's message, so only those are read.
func (s *Store) RunningTools(ctx context.Context, taskID, turnID string) ([]broker.Message, error) {
	var after int64
	first, err := s.TurnMessage(ctx, taskID, turnID)
	switch {
	case err == nil:
		after = first.Seq
	case protocol.CodeOf(err) != protocol.CodeNotFound:
		return nil, err
	}
	return s.messages(ctx, taskID, selection{
		condition: "seq > ? AND turn_id = ? AND phase = 'call'", args: []any{after, turnID},
	})
}

func (s *Store) LastAnswer(ctx context.Context, taskID string) (*broker.Message, error) {
	return s.oneMessage(ctx, taskID, selection{condition: "role = 'ASSISTANT'", newestFirst: true})
}

var texts = table.New("log",
	table.Integer("seq", func(m *broker.StoredText) *int64 { return &m.Seq }),
	table.Text("event_id", func(m *broker.StoredText) *string { return &m.EventID }),
	table.OptionalText("message", func(m *broker.StoredText) *string { return &m.Text }),
	table.Bool("type = 'text'", func(m *broker.StoredText) *bool { return &m.OfEvent }),
)

// Texts reads no bodies: the events have them.
func (s *Store) Texts(ctx context.Context, taskID string, after int64, limit int) ([]broker.StoredText, error) {
	q := selection{condition: "seq > ? AND event_id <> '' AND tool_call_id IS NULL", args: []any{after}, limit: limit}
	return database.Find(ctx, s.db, texts, "Messages of task", taskID, q.rest(), q.values(taskID)...)
}

// StuckMessages implements broker.MaintenanceStore. For a message that was checked
// in again, the time counts from the announcement of its last turn.
func (s *Store) StuckMessages(ctx context.Context, before time.Time, limit int) ([]broker.StuckMessage, error) {
	var stuck []broker.StuckMessage
	err := s.conn(ctx).Raw(`SELECT tasks.id AS task_id, m.id AS message_id
		FROM log m JOIN tasks ON tasks.no = m.task_no JOIN turns ON turns.task_id = tasks.id AND turns.id = m.turn_id
		WHERE m.status = 'SENDING' AND turns.announced_at <= ? AND tasks.deleted_at IS NULL
		AND NOT EXISTS (SELECT 1 FROM queued_messages q WHERE q.task_id = tasks.id AND q.id = m.id)
		ORDER BY m.created_at LIMIT ?`, before.UTC(), limit).Scan(&stuck).Error
	return stuck, database.Fault(err, "Messages", "")
}
