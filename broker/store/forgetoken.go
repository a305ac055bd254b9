package store

import (
	"context"
	"time"

	"bellhop/broker"
	"bellhop/internal/database"
	"bellhop/internal/table"
	"bellhop/protocol"
)

// sealedForgeToken is a token for a forge as stored.
type sealedForgeToken struct {
	broker.ForgeToken
	token []byte
}

var forgeTokens = table.New("forge_tokens",
	table.Text("id", func(t *sealedForgeToken) *string { return &t.ID }).Key(),
	table.Text("user_id", func(t *sealedForgeToken) *string { return &t.UserID }),
	table.Text("forge", func(t *sealedForgeToken) *string { return &t.Forge }),
	table.Text("kind", func(t *sealedForgeToken) *protocol.ForgeKind { return &t.Kind }),
	table.Bytes("token", func(t *sealedForgeToken) *[]byte { return &t.token }),
	table.Time("created_at", func(t *sealedForgeToken) *time.Time { return &t.CreatedAt }),
	table.OptionalTime("last_used_at", func(t *sealedForgeToken) **time.Time { return &t.LastUsedAt }),
)

func (s *Store) PutForgeToken(ctx context.Context, t *broker.ForgeToken) error {
	sealed, err := s.seal("forge_tokens", "token", t.ID, t.Token)
	if err != nil {
		return err
	}
	return s.db.Write(ctx, func(ctx context.Context) error {
		if _, err := s.db.Exec(ctx, "Token", t.ID, `DELETE FROM forge_tokens WHERE user_id = ? AND forge = ?`,
			t.UserID, t.Forge); err != nil {
			return err
		}
		return s.db.Run(ctx, "Token", t.ID, forgeTokens.Insert(sealedForgeToken{*t, sealed}))
	})
}

func (s *Store) ForgeTokens(ctx context.Context, userID string) ([]broker.ForgeToken, error) {
	rows, err := database.Find(ctx, s.db, forgeTokens, "Tokens of user", userID,
		"WHERE user_id = ? ORDER BY forge", userID)
	all := make([]broker.ForgeToken, len(rows))
	for i := range rows {
		all[i] = rows[i].ForgeToken
	}
	return all, err
}

func (s *Store) OpenForgeToken(ctx context.Context, userID, id string) (*broker.ForgeToken, error) {
	row, err := database.FindOne(ctx, s.db, forgeTokens, "Token", id, "WHERE user_id = ? AND id = ?", userID, id)
	if err != nil {
		return nil, err
	}
	row.Token, err = s.open("forge_tokens", "token", id, row.token)
	return &row.ForgeToken, err
}

func (s *Store) TouchForgeToken(ctx context.Context, id string, at time.Time) error {
	_, err := s.db.Exec(ctx, "Token", id, `UPDATE forge_tokens SET last_used_at = ? WHERE id = ?`, at.UTC(), id)
	return err
}

func (s *Store) DeleteForgeToken(ctx context.Context, userID, id string) error {
	return s.db.ExecOne(ctx, "Token", id, `DELETE FROM forge_tokens WHERE user_id = ? AND id = ?`, userID, id)
}
