package store

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"bellhop/internal/database"
	"bellhop/internal/table"
	"bellhop/notebook"
	"bellhop/protocol"
)

var messages = table.New("source_messages",
	table.Text("id", func(m *notebook.Message) *string { return &m.ID }).Key(),
	table.Text("source_id", func(m *notebook.Message) *string { return &m.SourceID }).Fixed(),
	table.Integer("seq", func(m *notebook.Message) *int64 { return &m.Seq }).Fixed(),
	table.Text("role", func(m *notebook.Message) *protocol.FollowupRole { return &m.Role }).Fixed(),
	table.Text("content", func(m *notebook.Message) *string { return &m.Content }).Fixed(),
	table.JSONList("attachments",
		"", func(m *notebook.Message) *[]protocol.FollowupAttachment { return &m.Attachments }).Fixed(),
	table.Integer("version", func(m *notebook.Message) *int64 { return &m.Version }).Fixed(),
	table.Text("reply_to", func(m *notebook.Message) *string { return &m.ReplyTo }).Fixed(),
	table.Text("state", func(m *notebook.Message) *notebook.MessageState { return &m.State }),
	table.Text("failure", func(m *notebook.Message) *string { return &m.Failure }),
	table.OptionalTime("delivered_at", func(m *notebook.Message) **time.Time { return &m.DeliveredAt }),
	table.OptionalTime("read_at", func(m *notebook.Message) **time.Time { return &m.ReadAt }),
	table.OptionalTime("seen_at", func(m *notebook.Message) **time.Time { return &m.SeenAt }),
	table.Time("created_at", func(m *notebook.Message) *time.Time { return &m.CreatedAt }).Fixed(),
)

const joinVersion = `LEFT JOIN source_versions v ON source_messages.version > 0
	AND v.source_id = source_messages.source_id AND v.version = source_messages.version`

// conversation adds the texts of a message's version.
var conversation = table.New("source_messages JOIN sources s ON s.id = source_messages.source_id "+joinVersion, append(
	table.Lift(messages.Qualified(), func(f *notebook.Followup) *notebook.Message { return &f.Message }),
	table.Text("COALESCE(v.description, '')", func(f *notebook.Followup) *string { return &f.Description }),
	table.Text("COALESCE(v.diff, '')", func(f *notebook.Followup) *string { return &f.Diff }),
)...)

// followups adds what an agent must know of the source.
var followups = table.New(conversation.Name, append(
	slices.Clone(conversation.Columns),
	table.Text("s.title", func(f *notebook.Followup) *string { return &f.SourceTitle }),
	table.Text("s.language", func(f *notebook.Followup) *string { return &f.SourceLanguage }),
	table.Text("s.context", func(f *notebook.Followup) *string { return &f.SourceContext }),
	table.Integer("s.version", func(f *notebook.Followup) *int64 { return &f.SourceVersion }),
)...)

func (s *Store) InsertMessage(ctx context.Context, m *notebook.Message) error {
	return s.db.Run(ctx, "Message", m.ID, messages.Insert(*m))
}

func (s *Store) SaveMessage(ctx context.Context, m *notebook.Message) error {
	return s.db.RunOne(ctx, "Message", m.ID, messages.Update(m))
}

func (s *Store) Message(ctx context.Context, userID, id string) (*notebook.Message, error) {
	found, err := database.FindOne(ctx, s.db, conversation, "Message", id,
		"WHERE source_messages.id = ? AND s.user_id = ?", id, userID)
	if err != nil {
		return nil, err
	}
	return &found.Message, nil
}

func (s *Store) Messages(
	ctx context.Context, sourceID string, before int64, limit int, budget int64) ([]notebook.Message, error,
) {
	if before <= 0 {
		before = math.MaxInt64
	}
	first, err := s.firstWithin(ctx, sourceID, before, limit, budget)
	if err != nil {
		return nil, err
	}
	found, err := database.Find(ctx, s.db, conversation, "Messages of source", sourceID,
		"WHERE source_messages.source_id = ? AND source_messages.seq >= ? AND source_messages.seq < ? ORDER BY "+
			"source_messages.seq",
		sourceID, first, before)
	if err != nil {
		return nil, err
	}
	list := make([]notebook.Message, len(found))
	for i := range found {
		list[i] = found[i].Message
	}
	return list, nil
}

type messageSize struct{ seq, size int64 }

var messageSizes = table.New("source_messages "+joinVersion,
	table.Integer("source_messages.seq", func(m *messageSize) *int64 { return &m.seq }),
	table.Integer("LENGTH(content) + LENGTH(attachments) + COALESCE(LENGTH(v.diff), 0)", func(m *messageSize) *int64 {
		return &m.size
	}),
)

// firstWithin returns the seq of the oldest message that limit and budget allow.
func (s *Store) firstWithin(
	ctx context.Context, sourceID string, before int64, limit int, budget int64) (int64, error,
) {
	sizes, err := database.Find(ctx, s.db, messageSizes, "Messages of source", sourceID,
		"WHERE source_messages.source_id = ? AND seq < ? ORDER BY seq DESC LIMIT ?", sourceID, before, limit)
	if err != nil {
		return 0, err
	}
	first := before
	for i, m := range sizes {
		if budget -= m.size; i > 0 && budget < 0 {
			break
		}
		first = m.seq
	}
	return first, nil
}

func (s *Store) OpenFollowups(ctx context.Context, sessionID string, limit int) ([]notebook.Followup, error) {
	return database.Find(ctx, s.db, followups, "Messages of agent session", sessionID, `WHERE s.agent_session_id = ?
		AND role = 'user' AND state <> 'answered' AND state <> 'refused'
		ORDER BY source_messages.created_at, source_messages.id LIMIT ?`, sessionID, limit)
}

// exchanges reads the messages of histories, whose texts are cut.
var exchanges = table.New("source_messages "+joinVersion, append(
	table.New("source_messages", messages.Without("content", "attachments")...).Qualified(),
	table.Text(fmt.Sprintf("substr(source_messages.content, 1, %d)", notebook.HistoryText+1),
		func(m *notebook.Message) *string { return &m.Content }),
	table.Text("COALESCE(v.description, '')", func(m *notebook.Message) *string { return &m.Description }),
)...)

const (
	openQuestion = `q.role = 'user' AND q.state <> 'answered' AND q.state <> 'refused'`

	closedBeforeOpen = `WHERE source_messages.source_id IN ? AND (source_messages.role = 'agent'
			OR source_messages.state = 'answered' OR source_messages.state = 'refused')
		AND EXISTS (SELECT 1 FROM source_messages q WHERE q.source_id = source_messages.source_id
			AND q.seq > source_messages.seq AND ` + openQuestion + `
			AND NOT EXISTS (SELECT 1 FROM source_messages a WHERE a.source_id = q.source_id AND a.role = 'agent'
				AND a.seq > source_messages.seq AND a.seq < q.seq))
		ORDER BY source_messages.created_at DESC, source_messages.seq DESC LIMIT ?`
)

func (s *Store) Exchanges(ctx context.Context, sourceIDs []string, limit int) (map[string][]notebook.Message, error) {
	if len(sourceIDs) == 0 {
		return nil, nil
	}
	found, err := database.Find(ctx, s.db, exchanges, "Messages of sources", len(sourceIDs),
		closedBeforeOpen, sourceIDs, limit)
	if err != nil {
		return nil, err
	}
	bySource := make(map[string][]notebook.Message, len(sourceIDs))
	for _, m := range slices.Backward(found) {
		bySource[m.SourceID] = append(bySource[m.SourceID], m)
	}
	return bySource, nil
}

func (s *Store) MarkDelivered(ctx context.Context, ids []string, now time.Time) error {
	_, err := s.db.Exec(ctx, "Messages", len(ids), `UPDATE source_messages SET state = ?, failure = '', delivered_at = ?
		WHERE id IN ? AND delivered_at IS NULL`, string(notebook.Delivered), now.UTC(), ids)
	return err
}

// isUnread is the condition of the index source_messages_unread.
const isUnread = `((role = 'agent' AND read_at IS NULL) OR (failure <> '' AND seen_at IS NULL))`

func (s *Store) MarkRead(ctx context.Context, sourceID string, through int64, now time.Time) (int64, error) {
	return s.db.Exec(ctx, "Messages of source", sourceID, `UPDATE source_messages SET
		read_at = CASE WHEN role = 'agent' THEN COALESCE(read_at, ?) ELSE read_at END,
		seen_at = CASE WHEN failure <> '' THEN COALESCE(seen_at, ?) ELSE seen_at END
		WHERE source_id = ? AND seq <= ? AND `+isUnread, now.UTC(), now.UTC(), sourceID, through)
}

// unread begins with the index of unread messages: SQLite reads the left side of a CROSS JOIN first.
var unread = table.New("source_messages CROSS JOIN sources s",
	table.Text("s.id", func(u *notebook.Unread) *string { return &u.SourceID }),
	table.Text("s.notebook_id", func(u *notebook.Unread) *string { return &u.NotebookID }),
	table.Integer("count(*)", func(u *notebook.Unread) *int { return &u.Messages }),
)

func (s *Store) Unread(ctx context.Context, userID string) ([]notebook.Unread, error) {
	return database.Find(ctx, s.db, unread, "Messages of user", userID,
		"WHERE s.id = source_messages.source_id AND "+isUnread+" AND s.user_id = ? GROUP BY s.id, s.notebook_id", userID)
}

const questionShown = 200 // characters

var subjects = table.New("source_messages JOIN sources s ON s.id = source_messages.source_id "+
	"JOIN agent_sessions a ON a.id = s.agent_session_id",
	table.Text("source_messages.id", func(q *notebook.Subject) *string { return &q.MessageID }),
	table.Text(fmt.Sprintf("substr(source_messages.content, 1, %d)", questionShown),
		func(q *notebook.Subject) *string { return &q.Question }),
	table.Text("s.id", func(q *notebook.Subject) *string { return &q.SourceID }),
	table.Text("s.title", func(q *notebook.Subject) *string { return &q.SourceTitle }),
	table.Text("a.id", func(q *notebook.Subject) *string { return &q.AgentSessionID }),
	table.Text("a.agent_name", func(q *notebook.Subject) *string { return &q.AgentName }),
)

func (s *Store) Subjects(ctx context.Context, userID string, messageIDs []string) ([]notebook.Subject, error) {
	return database.Find(ctx, s.db, subjects, "Messages", len(messageIDs),
		"WHERE source_messages.id IN ? AND s.user_id = ?", messageIDs, userID)
}
