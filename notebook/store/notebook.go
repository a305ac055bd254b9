package store

import (
	"context"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"bellhop/internal/database"
	"bellhop/notebook"
)

type notebookRow struct {
	ID             string
	UserID         string
	AgentSessionID string
	Title          string
	Description    string
	CreatedAt      time.Time
}

func (notebookRow) TableName() string { return "notebooks" }

func (r *notebookRow) notebook() *notebook.Notebook {
	return &notebook.Notebook{
		ID: r.ID, UserID: r.UserID, SessionID: r.AgentSessionID, Title: r.Title, Description: r.Description, CreatedAt: r.CreatedAt.UTC(),
	}
}

// InsertNotebook implements notebook.SessionStore.
func (s *Store) InsertNotebook(ctx context.Context, n *notebook.Notebook) (bool, error) {
	row := notebookRow{
		ID: n.ID, UserID: n.UserID, AgentSessionID: n.SessionID, Title: n.Title, Description: n.Description, CreatedAt: n.CreatedAt.UTC(),
	}
	rows, err := s.exec(ctx, "Notebook", n.ID, func(db *gorm.DB) *gorm.DB {
		return db.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "agent_session_id"}}, DoNothing: true}).Create(&row)
	})
	return rows > 0, err
}

// Notebook implements notebook.SessionStore.
func (s *Store) Notebook(ctx context.Context, userID, id string) (*notebook.Notebook, error) {
	return s.notebookWhere(ctx, "user_id = ? AND id = ?", userID, id)
}

// NotebookOf implements notebook.SessionStore.
func (s *Store) NotebookOf(ctx context.Context, userID, sessionID string) (*notebook.Notebook, error) {
	return s.notebookWhere(ctx, "user_id = ? AND agent_session_id = ?", userID, sessionID)
}

func (s *Store) notebookWhere(ctx context.Context, where, userID, key string) (*notebook.Notebook, error) {
	var row notebookRow
	if err := s.conn(ctx).Where(where, userID, key).Take(&row).Error; err != nil {
		return nil, database.Fault(err, "Notebook", key)
	}
	return row.notebook(), nil
}

// Notebooks implements notebook.SessionStore.
func (s *Store) Notebooks(ctx context.Context, userID string) ([]notebook.Notebook, error) {
	var rows []notebookRow
	if err := s.conn(ctx).Where("user_id = ?", userID).Order("created_at DESC, id DESC").Find(&rows).Error; err != nil {
		return nil, database.Fault(err, "Notebooks of user", userID)
	}
	notebooks := make([]notebook.Notebook, len(rows))
	for i := range rows {
		notebooks[i] = *rows[i].notebook()
	}
	return notebooks, nil
}

// DeleteNotebook implements notebook.SessionStore; foreign keys take the rest.
func (s *Store) DeleteNotebook(ctx context.Context, userID, id string) error {
	return s.must(ctx, "Notebook", id, func(db *gorm.DB) *gorm.DB {
		return db.Where("user_id = ? AND id = ?", userID, id).Delete(&notebookRow{})
	})
}
