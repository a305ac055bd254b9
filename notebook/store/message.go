package store

import (
	"context"
	"math"
	"time"

	"gorm.io/gorm"

	"bellhop/internal/database"
	"bellhop/notebook"
	"bellhop/protocol"
)

type messageRow struct {
	ID          string
	SourceID    string
	Seq         int64
	Role        string
	Content     string
	Attachments string
	Version     int64
	ReplyTo     string
	State       string
	Failure     string
	DeliveredAt *time.Time
	ReadAt      *time.Time
	CreatedAt   time.Time
}

func (messageRow) TableName() string { return "source_messages" }

// wholeMessage is a row with what its version adds to it.
type wholeMessage struct {
	Row         messageRow `gorm:"embedded"`
	Description string
	Diff        string
	SourceTitle string
}

const selectMessage = `SELECT m.*, COALESCE(v.description, '') AS description, COALESCE(v.diff, '') AS diff, s.title AS source_title
	FROM source_messages m JOIN sources s ON s.id = m.source_id
	LEFT JOIN source_versions v ON m.version > 0 AND v.source_id = m.source_id AND v.version = m.version `

func (w *wholeMessage) message() (*notebook.Message, error) {
	r := &w.Row
	m := &notebook.Message{
		ID: r.ID, SourceID: r.SourceID, Seq: r.Seq, Role: protocol.FollowupRole(r.Role), Content: r.Content, ReplyTo: r.ReplyTo,
		State: notebook.MessageState(r.State), Failure: r.Failure, DeliveredAt: utc(r.DeliveredAt), ReadAt: utc(r.ReadAt),
		CreatedAt: r.CreatedAt.UTC(), Version: r.Version, Description: w.Description, Diff: w.Diff,
	}
	return m, fromJSON("attachments", r.ID, r.Attachments, &m.Attachments)
}

// InsertMessage implements notebook.MessageStore.
func (s *Store) InsertMessage(ctx context.Context, m *notebook.Message) error {
	attachments := ""
	if len(m.Attachments) > 0 {
		var err error
		if attachments, err = toJSON(m.Attachments); err != nil {
			return err
		}
	}
	row := messageRow{
		ID: m.ID, SourceID: m.SourceID, Seq: m.Seq, Role: string(m.Role), Content: m.Content, Attachments: attachments,
		Version: m.Version, ReplyTo: m.ReplyTo, State: string(m.State), Failure: m.Failure,
		DeliveredAt: utc(m.DeliveredAt), ReadAt: utc(m.ReadAt), CreatedAt: m.CreatedAt.UTC(),
	}
	_, err := s.exec(ctx, "Message", m.ID, func(db *gorm.DB) *gorm.DB { return db.Create(&row) })
	return err
}

// SaveMessage implements notebook.MessageStore.
func (s *Store) SaveMessage(ctx context.Context, m *notebook.Message) error {
	return s.must(ctx, "Message", m.ID, func(db *gorm.DB) *gorm.DB {
		return db.Model(&messageRow{}).Where("id = ?", m.ID).Updates(map[string]any{
			"state": string(m.State), "failure": m.Failure, "delivered_at": utc(m.DeliveredAt), "read_at": utc(m.ReadAt),
		})
	})
}

// Message implements notebook.MessageStore.
func (s *Store) Message(ctx context.Context, userID, id string) (*notebook.Message, error) {
	var row wholeMessage
	err := first(s.conn(ctx).Raw(selectMessage+"WHERE m.id = ? AND s.user_id = ?", id, userID), &row, "Message", id)
	if err != nil {
		return nil, err
	}
	return row.message()
}

// Messages implements notebook.MessageStore.
func (s *Store) Messages(ctx context.Context, sourceID string, before int64, limit int, budget int64) ([]notebook.Message, error) {
	if before <= 0 {
		before = math.MaxInt64
	}
	first, err := s.firstWithin(ctx, sourceID, before, limit, budget)
	if err != nil {
		return nil, err
	}
	var rows []wholeMessage
	err = s.conn(ctx).Raw(selectMessage+"WHERE m.source_id = ? AND m.seq >= ? AND m.seq < ? ORDER BY m.seq", sourceID, first, before).
		Scan(&rows).Error
	if err != nil {
		return nil, database.Fault(err, "Messages of source", sourceID)
	}
	messages := make([]notebook.Message, len(rows))
	for i := range rows {
		m, err := rows[i].message()
		if err != nil {
			return nil, err
		}
		messages[i] = *m
	}
	return messages, nil
}

// firstWithin is the seq of the oldest message that limit and budget let in.
func (s *Store) firstWithin(ctx context.Context, sourceID string, before int64, limit int, budget int64) (int64, error) {
	var sizes []struct{ Seq, Size int64 }
	err := s.conn(ctx).Raw(`SELECT m.seq, LENGTH(m.content) + LENGTH(m.attachments) + COALESCE(LENGTH(v.diff), 0) AS size
		FROM source_messages m LEFT JOIN source_versions v ON m.version > 0 AND v.source_id = m.source_id AND v.version = m.version
		WHERE m.source_id = ? AND m.seq < ? ORDER BY m.seq DESC LIMIT ?`, sourceID, before, limit).Scan(&sizes).Error
	if err != nil {
		return 0, database.Fault(err, "Messages of source", sourceID)
	}
	first := before
	for i, m := range sizes {
		if budget -= m.Size; i > 0 && budget < 0 {
			break
		}
		first = m.Seq
	}
	return first, nil
}

// OpenFollowups implements notebook.MessageStore.
func (s *Store) OpenFollowups(ctx context.Context, sessionID string, limit int) ([]notebook.Followup, error) {
	var rows []wholeMessage
	err := s.conn(ctx).Raw(selectMessage+`WHERE s.agent_session_id = ? AND m.role = 'user' AND m.state <> 'answered' AND m.state <> 'refused'
		ORDER BY m.created_at, m.id LIMIT ?`, sessionID, limit).Scan(&rows).Error
	if err != nil {
		return nil, database.Fault(err, "Messages of agent session", sessionID)
	}
	open := make([]notebook.Followup, len(rows))
	for i := range rows {
		m, err := rows[i].message()
		if err != nil {
			return nil, err
		}
		open[i] = notebook.Followup{Message: *m, SourceTitle: rows[i].SourceTitle}
	}
	return open, nil
}

// MarkDelivered implements notebook.MessageStore.
func (s *Store) MarkDelivered(ctx context.Context, ids []string, now time.Time) error {
	_, err := s.exec(ctx, "Messages", len(ids), func(db *gorm.DB) *gorm.DB {
		return db.Model(&messageRow{}).Where("id IN ? AND delivered_at IS NULL", ids).
			Updates(map[string]any{"state": string(notebook.Delivered), "failure": "", "delivered_at": now.UTC()})
	})
	return err
}

// MarkRead implements notebook.MessageStore.
func (s *Store) MarkRead(ctx context.Context, sourceID string, now time.Time) (int64, error) {
	return s.exec(ctx, "Messages of source", sourceID, func(db *gorm.DB) *gorm.DB {
		return db.Model(&messageRow{}).Where("source_id = ? AND role = ? AND read_at IS NULL", sourceID, string(protocol.FollowupAgent)).
			Update("read_at", now.UTC())
	})
}
