package store

import (
	"context"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"bellhop/internal/database"
	"bellhop/notebook"
)

type sessionRow struct {
	ID              string
	UserID          string
	AgentName       string
	AgentIdentifier string
	AgentIcon       string
	Disconnected    bool
	WebhookURL      string
	EndpointID      string
	Metadata        string
	Rev             int64
	Event           string
	EventSource     string
	ChangedAt       time.Time
	LastActivity    time.Time
	CreatedAt       time.Time
}

func (sessionRow) TableName() string { return "agent_sessions" }

func rowOfSession(s *notebook.Session) (*sessionRow, error) {
	metadata, err := toJSON(s.Metadata)
	if err != nil {
		return nil, err
	}
	return &sessionRow{
		ID: s.ID, UserID: s.UserID, AgentName: s.AgentName, AgentIdentifier: s.AgentIdentifier, AgentIcon: s.AgentIcon,
		Disconnected: s.Disconnected, WebhookURL: s.WebhookURL, EndpointID: s.EndpointID, Metadata: metadata,
		Rev: s.Rev, Event: s.Event, EventSource: s.EventSource, ChangedAt: s.ChangedAt.UTC(),
		LastActivity: s.LastActivity.UTC(), CreatedAt: s.CreatedAt.UTC(),
	}, nil
}

func (r *sessionRow) session() (*notebook.Session, error) {
	s := &notebook.Session{
		ID: r.ID, UserID: r.UserID, AgentName: r.AgentName, AgentIdentifier: r.AgentIdentifier, AgentIcon: r.AgentIcon,
		Disconnected: r.Disconnected, WebhookURL: r.WebhookURL, EndpointID: r.EndpointID,
		Rev: r.Rev, Event: r.Event, EventSource: r.EventSource, ChangedAt: r.ChangedAt.UTC(),
		LastActivity: r.LastActivity.UTC(), CreatedAt: r.CreatedAt.UTC(),
	}
	return s, fromJSON("metadata", r.ID, r.Metadata, &s.Metadata)
}

func sessionsOf(rows []sessionRow) ([]notebook.Session, error) {
	sessions := make([]notebook.Session, len(rows))
	for i := range rows {
		s, err := rows[i].session()
		if err != nil {
			return nil, err
		}
		sessions[i] = *s
	}
	return sessions, nil
}

// InsertSession implements notebook.SessionStore.
func (s *Store) InsertSession(ctx context.Context, session *notebook.Session) error {
	row, err := rowOfSession(session)
	if err != nil {
		return err
	}
	_, err = s.exec(ctx, "Agent session", session.ID, func(db *gorm.DB) *gorm.DB {
		return db.Clauses(clause.OnConflict{
			Columns: []clause.Column{{Name: "user_id"}, {Name: "agent_identifier"}}, DoNothing: true,
		}).Create(row)
	})
	return err
}

// LockSession implements notebook.SessionStore.
func (s *Store) LockSession(ctx context.Context, userID, id string) (*notebook.Session, error) {
	return s.sessionWhere(ctx, "user_id = ? AND id = ?"+s.forUpdate(), userID, id)
}

// LockIdentifier implements notebook.SessionStore.
func (s *Store) LockIdentifier(ctx context.Context, userID, identifier string) (*notebook.Session, error) {
	return s.sessionWhere(ctx, "user_id = ? AND agent_identifier = ?"+s.forUpdate(), userID, identifier)
}

// Session implements notebook.SessionStore.
func (s *Store) Session(ctx context.Context, userID, id string) (*notebook.Session, error) {
	return s.sessionWhere(ctx, "user_id = ? AND id = ?", userID, id)
}

func (s *Store) sessionWhere(ctx context.Context, where, userID, key string) (*notebook.Session, error) {
	var row sessionRow
	err := first(s.conn(ctx).Raw("SELECT * FROM agent_sessions WHERE "+where, userID, key), &row, "Agent session", key)
	if err != nil {
		return nil, err
	}
	return row.session()
}

// Sessions implements notebook.SessionStore.
func (s *Store) Sessions(ctx context.Context, userID, identifier string) ([]notebook.Session, error) {
	db := s.conn(ctx).Where("user_id = ?", userID)
	if identifier != "" {
		db = db.Where("agent_identifier = ?", identifier)
	}
	var rows []sessionRow
	if err := db.Order("created_at DESC, id DESC").Find(&rows).Error; err != nil {
		return nil, database.Fault(err, "Agent sessions of user", userID)
	}
	return sessionsOf(rows)
}

// ChangedSessions implements notebook.SessionStore.
func (s *Store) ChangedSessions(ctx context.Context, userIDs []string, since time.Time) ([]notebook.Session, error) {
	var rows []sessionRow
	err := s.conn(ctx).Where("user_id IN ? AND changed_at >= ?", userIDs, since.UTC()).Find(&rows).Error
	if err != nil {
		return nil, database.Fault(err, "Agent sessions", "changed")
	}
	return sessionsOf(rows)
}

// SaveSession implements notebook.SessionStore.
func (s *Store) SaveSession(ctx context.Context, session *notebook.Session) error {
	row, err := rowOfSession(session)
	if err != nil {
		return err
	}
	return s.must(ctx, "Agent session", session.ID, func(db *gorm.DB) *gorm.DB {
		return db.Model(&sessionRow{}).Where("id = ?", row.ID).
			Select("*").Omit("id", "user_id", "agent_identifier", "created_at").Updates(row)
	})
}
