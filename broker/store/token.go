package store

import (
	"context"
	"time"

	"bellhop/broker"
	"bellhop/internal/database"
	"bellhop/internal/table"
)

var tokens = table.New("api_tokens",
	table.Text("id", func(t *broker.APIToken) *string { return &t.ID }).Key(),
	table.Text("user_id", func(t *broker.APIToken) *string { return &t.UserID }),
	table.Text("name", func(t *broker.APIToken) *string { return &t.Name }),
	table.Text("kind", func(t *broker.APIToken) *broker.TokenKind { return &t.Kind }),
	table.Text("agent_identifier", func(t *broker.APIToken) *string { return &t.AgentIdentifier }),
	table.JSONList("scopes", "[]", func(t *broker.APIToken) *[]broker.Scope { return &t.Scopes }),
	table.Bytes("hash", func(t *broker.APIToken) *[]byte { return &t.Hash }),
	table.OptionalTime("expires_at", func(t *broker.APIToken) **time.Time { return &t.ExpiresAt }),
	table.OptionalTime("last_used_at", func(t *broker.APIToken) **time.Time { return &t.LastUsedAt }),
	table.Time("created_at", func(t *broker.APIToken) *time.Time { return &t.CreatedAt }),
)

func (s *Store) CreateToken(ctx context.Context, t *broker.APIToken) error {
	return s.db.Run(ctx, "Token", t.ID, tokens.Insert(*t))
}

// Tokens implements auth.TokenStore; newest first.
func (s *Store) Tokens(ctx context.Context, userID string) ([]broker.APIToken, error) {
	return database.Find(ctx, s.db, tokens, "Tokens of user", userID,
		"WHERE user_id = ? ORDER BY created_at DESC, id DESC", userID)
}

func (s *Store) TokenByHash(ctx context.Context, hash []byte) (*broker.APIToken, error) {
	return database.FindOne(ctx, s.db, tokens, "Token", "", "WHERE hash = ?", hash)
}

func (s *Store) TouchToken(ctx context.Context, id string, at time.Time) error {
	return s.db.ExecOne(ctx, "Token", id, `UPDATE api_tokens SET last_used_at = ? WHERE id = ?`, at.UTC(), id)
}

func (s *Store) DeleteToken(ctx context.Context, userID, id string, now time.Time) error {
	return s.db.Write(ctx, func(ctx context.Context) error {
		if err := s.db.ExecOne(ctx, "Token", id, `DELETE FROM api_tokens WHERE user_id = ? AND id = ?`,
			userID, id); err != nil {
			return err
		}
		return s.oweCredential(ctx, userID, id, now)
	})
}
