package store

import (
	"context"
	"time"

	"bellhop/internal/database"
	"bellhop/internal/table"
	"bellhop/notebook"
)

var sessions = table.New("agent_sessions",
	table.Text("id", func(s *notebook.Session) *string { return &s.ID }).Key(),
	table.Text("user_id", func(s *notebook.Session) *string { return &s.UserID }).Fixed(),
	table.Text("agent_name", func(s *notebook.Session) *string { return &s.AgentName }),
	table.Text("agent_identifier", func(s *notebook.Session) *string { return &s.AgentIdentifier }).Fixed(),
	table.Text("agent_icon", func(s *notebook.Session) *string { return &s.AgentIcon }),
	table.Bool("disconnected", func(s *notebook.Session) *bool { return &s.Disconnected }),
	table.Text("webhook_url", func(s *notebook.Session) *string { return &s.WebhookURL }),
	table.Text("endpoint_id", func(s *notebook.Session) *string { return &s.EndpointID }),
	table.JSON("metadata", func(s *notebook.Session) *map[string]any { return &s.Metadata }),
	table.Integer("rev", func(s *notebook.Session) *int64 { return &s.Rev }),
	table.Text("event", func(s *notebook.Session) *string { return &s.Event }),
	table.Text("event_source", func(s *notebook.Session) *string { return &s.EventSource }),
	table.Time("changed_at", func(s *notebook.Session) *time.Time { return &s.ChangedAt }),
	table.Time("last_activity", func(s *notebook.Session) *time.Time { return &s.LastActivity }),
	table.Time("created_at", func(s *notebook.Session) *time.Time { return &s.CreatedAt }).Fixed(),
)

func (s *Store) InsertSession(ctx context.Context, session *notebook.Session) error {
	st := sessions.Insert(*session)
	_, err := s.db.Exec(ctx, "Agent session", session.ID,
		st.SQL+" ON CONFLICT (user_id, agent_identifier) DO NOTHING", st.Args...)
	return err
}

func (s *Store) LockSession(ctx context.Context, userID, id string) (*notebook.Session, error) {
	return s.sessionWhere(ctx, "user_id = ? AND id = ?"+s.forUpdate(), userID, id)
}

func (s *Store) LockIdentifier(ctx context.Context, userID, identifier string) (*notebook.Session, error) {
	return s.sessionWhere(ctx, "user_id = ? AND agent_identifier = ?"+s.forUpdate(), userID, identifier)
}

func (s *Store) Session(ctx context.Context, userID, id string) (*notebook.Session, error) {
	return s.sessionWhere(ctx, "user_id = ? AND id = ?", userID, id)
}

func (s *Store) sessionWhere(ctx context.Context, where, userID, key string) (*notebook.Session, error) {
	return database.FindOne(ctx, s.db, sessions, "Agent session", key, "WHERE "+where, userID, key)
}

func (s *Store) Sessions(ctx context.Context, userID, identifier string) ([]notebook.Session, error) {
	where, args := "user_id = ?", []any{userID}
	if identifier != "" {
		where, args = where+" AND agent_identifier = ?", append(args, identifier)
	}
	return database.Find(ctx, s.db, sessions, "Agent sessions of user", userID,
		"WHERE "+where+" ORDER BY created_at DESC, id DESC", args...)
}

func (s *Store) ChangedSessions(ctx context.Context, userIDs []string, since time.Time) ([]notebook.Session, error) {
	return database.Find(ctx, s.db, sessions, "Agent sessions", "changed",
		"WHERE user_id IN ? AND changed_at >= ?", userIDs, since.UTC())
}

func (s *Store) SaveSession(ctx context.Context, session *notebook.Session) error {
	return s.db.RunOne(ctx, "Agent session", session.ID, sessions.Update(session))
}
