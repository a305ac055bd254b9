package store

import (
	"context"
	"time"

	"bellhop/internal/database"
	"bellhop/internal/table"
	"bellhop/notebook"
)

var sources = table.New("sources",
	table.Text("id", func(s *notebook.Source) *string { return &s.ID }).Key(),
	table.Text("user_id", func(s *notebook.Source) *string { return &s.UserID }).Fixed(),
	table.Text("notebook_id", func(s *notebook.Source) *string { return &s.NotebookID }).Fixed(),
	table.Text("agent_session_id", func(s *notebook.Source) *string { return &s.SessionID }).Fixed(),
	table.Text("title", func(s *notebook.Source) *string { return &s.Title }).Fixed(),
	table.Text("language", func(s *notebook.Source) *string { return &s.Language }).Fixed(),
	table.Text("context", func(s *notebook.Source) *string { return &s.Context }).Fixed(),
	table.JSON("metadata", func(s *notebook.Source) *map[string]any { return &s.Metadata }).Fixed(),
	table.Integer("version", func(s *notebook.Source) *int64 { return &s.Version }),
	table.Integer("last_seq", func(s *notebook.Source) *int64 { return &s.LastSeq }),
	table.OptionalTime("last_message_at", func(s *notebook.Source) **time.Time { return &s.LastMessageAt }),
	table.Time("created_at", func(s *notebook.Source) *time.Time { return &s.CreatedAt }).Fixed(),
)

func (s *Store) CountSources(ctx context.Context, notebookID string) (int, error) {
	var n int
	err := s.conn(ctx).Raw(`SELECT count(*) FROM sources WHERE notebook_id = ?`, notebookID).Row().Scan(&n)
	return n, database.Fault(err, "Sources of notebook", notebookID)
}

func (s *Store) InsertSource(ctx context.Context, source *notebook.Source) error {
	return s.db.Run(ctx, "Source", source.ID, sources.Insert(*source))
}

func (s *Store) Source(ctx context.Context, userID, id string) (*notebook.Source, error) {
	return database.FindOne(ctx, s.db, sources, "Source", id, "WHERE user_id = ? AND id = ?", userID, id)
}

func (s *Store) Sources(ctx context.Context, userID string, in notebook.SourceFilter) ([]notebook.Source, error) {
	where, args := "user_id = ?", []any{userID}
	if in.NotebookID != "" {
		where, args = where+" AND notebook_id = ?", append(args, in.NotebookID)
	}
	if in.SessionID != "" {
		where, args = where+" AND agent_session_id = ?", append(args, in.SessionID)
	}
	return database.Find(ctx, s.db, sources, "Sources of user", userID,
		"WHERE "+where+" ORDER BY created_at DESC, id DESC", args...)
}

func (s *Store) SaveSource(ctx context.Context, source *notebook.Source) error {
	return s.db.RunOne(ctx, "Source", source.ID, sources.Update(source))
}

// DeleteSource implements notebook.SourceStore. Foreign keys delete the rows that
// belong to it.
func (s *Store) DeleteSource(ctx context.Context, userID, id string) error {
	return s.db.ExecOne(ctx, "Source", id, `DELETE FROM sources WHERE user_id = ? AND id = ?`, userID, id)
}
