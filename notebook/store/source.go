package store

import (
	"context"
	"time"

	"gorm.io/gorm"

	"bellhop/internal/database"
	"bellhop/notebook"
)

type sourceRow struct {
	ID             string
	UserID         string
	NotebookID     string
	AgentSessionID string
	Title          string
	Language       string
	Context        string
	Metadata       string
	Version        int64
	LastSeq        int64
	LastMessageAt  *time.Time
	CreatedAt      time.Time
}

func (sourceRow) TableName() string { return "sources" }

func (r *sourceRow) source() (*notebook.Source, error) {
	s := &notebook.Source{
		ID: r.ID, UserID: r.UserID, NotebookID: r.NotebookID, SessionID: r.AgentSessionID, Title: r.Title, Language: r.Language,
		Context: r.Context, Version: r.Version, LastSeq: r.LastSeq, LastMessageAt: utc(r.LastMessageAt), CreatedAt: r.CreatedAt.UTC(),
	}
	return s, fromJSON("metadata", r.ID, r.Metadata, &s.Metadata)
}

// CountSources implements notebook.SourceStore.
func (s *Store) CountSources(ctx context.Context, notebookID string) (int, error) {
	var n int64
	err := s.conn(ctx).Model(&sourceRow{}).Where("notebook_id = ?", notebookID).Count(&n).Error
	return int(n), database.Fault(err, "Sources of notebook", notebookID)
}

// InsertSource implements notebook.SourceStore.
func (s *Store) InsertSource(ctx context.Context, source *notebook.Source) error {
	metadata, err := toJSON(source.Metadata)
	if err != nil {
		return err
	}
	row := sourceRow{
		ID: source.ID, UserID: source.UserID, NotebookID: source.NotebookID, AgentSessionID: source.SessionID, Title: source.Title,
		Language: source.Language, Context: source.Context, Metadata: metadata, Version: source.Version, LastSeq: source.LastSeq,
		LastMessageAt: utc(source.LastMessageAt), CreatedAt: source.CreatedAt.UTC(),
	}
	_, err = s.exec(ctx, "Source", source.ID, func(db *gorm.DB) *gorm.DB { return db.Create(&row) })
	return err
}

// Source implements notebook.SourceStore.
func (s *Store) Source(ctx context.Context, userID, id string) (*notebook.Source, error) {
	var row sourceRow
	if err := s.conn(ctx).Where("user_id = ? AND id = ?", userID, id).Take(&row).Error; err != nil {
		return nil, database.Fault(err, "Source", id)
	}
	return row.source()
}

// Sources implements notebook.SourceStore.
func (s *Store) Sources(ctx context.Context, userID string, in notebook.SourceFilter) ([]notebook.Source, error) {
	db := s.conn(ctx).Where("user_id = ?", userID)
	if in.NotebookID != "" {
		db = db.Where("notebook_id = ?", in.NotebookID)
	}
	if in.SessionID != "" {
		db = db.Where("agent_session_id = ?", in.SessionID)
	}
	var rows []sourceRow
	if err := db.Order("created_at DESC, id DESC").Find(&rows).Error; err != nil {
		return nil, database.Fault(err, "Sources of user", userID)
	}
	sources := make([]notebook.Source, len(rows))
	for i := range rows {
		source, err := rows[i].source()
		if err != nil {
			return nil, err
		}
		sources[i] = *source
	}
	return sources, nil
}

// SaveSource implements notebook.SourceStore.
func (s *Store) SaveSource(ctx context.Context, source *notebook.Source) error {
	return s.must(ctx, "Source", source.ID, func(db *gorm.DB) *gorm.DB {
		return db.Model(&sourceRow{}).Where("id = ?", source.ID).Updates(map[string]any{
			"version": source.Version, "last_seq": source.LastSeq, "last_message_at": utc(source.LastMessageAt),
		})
	})
}

// DeleteSource implements notebook.SourceStore; foreign keys take the rest.
func (s *Store) DeleteSource(ctx context.Context, userID, id string) error {
	return s.must(ctx, "Source", id, func(db *gorm.DB) *gorm.DB {
		return db.Where("user_id = ? AND id = ?", userID, id).Delete(&sourceRow{})
	})
}
