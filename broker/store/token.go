package store

import (
	"context"
	"time"

	"gorm.io/gorm"

	"bellhop/broker"
	"bellhop/internal/database"
)

type tokenRow struct {
	ID              string
	UserID          string
	Name            string
	Kind            string
	AgentIdentifier string
	Hash            []byte
	ExpiresAt       *time.Time
	LastUsedAt      *time.Time
	CreatedAt       time.Time
}

func (tokenRow) TableName() string { return "api_tokens" }

func (r *tokenRow) token() *broker.APIToken {
	return &broker.APIToken{
		ID: r.ID, UserID: r.UserID, Name: r.Name, Kind: broker.TokenKind(r.Kind), AgentIdentifier: r.AgentIdentifier,
		Hash: r.Hash, ExpiresAt: utc(r.ExpiresAt), LastUsedAt: utc(r.LastUsedAt), CreatedAt: r.CreatedAt.UTC(),
	}
}

func utc(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	u := t.UTC()
	return &u
}

// CreateToken implements broker.TokenStore.
func (s *Store) CreateToken(ctx context.Context, t *broker.APIToken) error {
	row := tokenRow{
		ID: t.ID, UserID: t.UserID, Name: t.Name, Kind: string(t.Kind), AgentIdentifier: t.AgentIdentifier,
		Hash: t.Hash, ExpiresAt: utc(t.ExpiresAt), LastUsedAt: utc(t.LastUsedAt), CreatedAt: t.CreatedAt.UTC(),
	}
	_, err := s.exec(ctx, "Token", t.ID, func(db *gorm.DB) *gorm.DB { return db.Create(&row) })
	return err
}

// Tokens implements broker.TokenStore; newest first.
func (s *Store) Tokens(ctx context.Context, userID string) ([]broker.APIToken, error) {
	var rows []tokenRow
	err := s.conn(ctx).Where("user_id = ?", userID).Order("created_at DESC, id DESC").Find(&rows).Error
	if err != nil {
		return nil, database.Fault(err, "Tokens of user", userID)
	}
	tokens := make([]broker.APIToken, len(rows))
	for i := range rows {
		tokens[i] = *rows[i].token()
	}
	return tokens, nil
}

// TokenByHash implements broker.TokenStore.
func (s *Store) TokenByHash(ctx context.Context, hash []byte) (*broker.APIToken, error) {
	var row tokenRow
	if err := s.conn(ctx).Where("hash = ?", hash).Take(&row).Error; err != nil {
		return nil, database.Fault(err, "Token", "")
	}
	return row.token(), nil
}

// TouchToken implements broker.TokenStore.
func (s *Store) TouchToken(ctx context.Context, id string, at time.Time) error {
	return s.must(ctx, "Token", id, func(db *gorm.DB) *gorm.DB {
		return db.Model(&tokenRow{}).Where("id = ?", id).Update("last_used_at", at.UTC())
	})
}

// DeleteToken implements broker.TokenStore.
func (s *Store) DeleteToken(ctx context.Context, userID, id string) error {
	return s.must(ctx, "Token", id, func(db *gorm.DB) *gorm.DB {
		return db.Where("user_id = ? AND id = ?", userID, id).Delete(&tokenRow{})
	})
}
