package store

import (
	"context"
	"time"

	"bellhop/internal/database"
	"bellhop/internal/table"
	"bellhop/notebook"
)

var notebooks = table.New("notebooks",
	table.Text("id", func(n *notebook.Notebook) *string { return &n.ID }).Key(),
	table.Text("user_id", func(n *notebook.Notebook) *string { return &n.UserID }),
	table.Text("agent_session_id", func(n *notebook.Notebook) *string { return &n.SessionID }),
	table.Text("title", func(n *notebook.Notebook) *string { return &n.Title }),
	table.Text("description", func(n *notebook.Notebook) *string { return &n.Description }),
	table.Time("created_at", func(n *notebook.Notebook) *time.Time { return &n.CreatedAt }),
)

func (s *Store) InsertNotebook(ctx context.Context, n *notebook.Notebook) (bool, error) {
	st := notebooks.Insert(*n)
	rows, err := s.db.Exec(ctx, "Notebook", n.ID, st.SQL+" ON CONFLICT (agent_session_id) DO NOTHING", st.Args...)
	return rows > 0, err
}

func (s *Store) Notebook(ctx context.Context, userID, id string) (*notebook.Notebook, error) {
	return database.FindOne(ctx, s.db, notebooks, "Notebook", id, "WHERE user_id = ? AND id = ?", userID, id)
}

func (s *Store) NotebookOf(ctx context.Context, userID, sessionID string) (*notebook.Notebook, error) {
	return database.FindOne(ctx, s.db, notebooks, "Notebook", sessionID,
		"WHERE user_id = ? AND agent_session_id = ?", userID, sessionID)
}

func (s *Store) Notebooks(ctx context.Context, userID string) ([]notebook.Notebook, error) {
	return database.Find(ctx, s.db, notebooks, "Notebooks of user", userID,
		"WHERE user_id = ? ORDER BY created_at DESC, id DESC", userID)
}

// DeleteNotebook implements notebook.SessionStore. Foreign keys delete the rows
// that belong to it.
func (s *Store) DeleteNotebook(ctx context.Context, userID, id string) error {
	return s.db.ExecOne(ctx, "Notebook", id, `DELETE FROM notebooks WHERE user_id = ? AND id = ?`, userID, id)
}
