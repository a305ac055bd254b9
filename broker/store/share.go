package store

import (
	"context"
	"time"

	"bellhop/broker"
	"bellhop/internal/database"
	"bellhop/internal/table"
)

var shares = table.New("shares",
	table.Text("id", func(s *broker.Share) *string { return &s.ID }).Key(),
	table.Text("user_id", func(s *broker.Share) *string { return &s.UserID }),
	table.Text("task_id", func(s *broker.Share) *string { return &s.TaskID }),
	table.Bytes("hash", func(s *broker.Share) *[]byte { return &s.Hash }),
	table.Text("title", func(s *broker.Share) *string { return &s.Title }),
	table.Integer("last_seq", func(s *broker.Share) *int64 { return &s.LastSeq }),
	table.Integer("rev", func(s *broker.Share) *int64 { return &s.Rev }),
	table.Time("created_at", func(s *broker.Share) *time.Time { return &s.CreatedAt }),
	table.Time("expires_at", func(s *broker.Share) *time.Time { return &s.ExpiresAt }),
	table.OptionalTime("last_used_at", func(s *broker.Share) **time.Time { return &s.LastUsedAt }),
)

// titledShares adds the title of the task now.
var titledShares = table.New("shares JOIN tasks ON tasks.id = shares.task_id",
	append(shares.Qualified(), table.Text("tasks.title", func(s *broker.Share) *string { return &s.TaskTitle }))...)

func (s *Store) CreateShare(ctx context.Context, share *broker.Share) error {
	return s.db.Run(ctx, "Share link", share.ID, shares.Insert(*share))
}

func (s *Store) Shares(ctx context.Context, userID, taskID string, now time.Time) ([]broker.Share, error) {
	rest, args := "WHERE shares.user_id = ? AND shares.expires_at > ?", []any{userID, now.UTC()}
	if taskID != "" {
		rest, args = rest+" AND shares.task_id = ?", append(args, taskID)
	}
	return database.Find(ctx, s.db, titledShares, "Share links of user", userID,
		rest+" AND tasks.deleted_at IS NULL ORDER BY shares.created_at DESC, shares.id DESC", args...)
}

func (s *Store) ShareByHash(ctx context.Context, hash []byte) (*broker.Share, error) {
	return database.FindOne(ctx, s.db, titledShares, "Share link", "", `WHERE shares.hash = ? AND tasks.deleted_at IS NULL
		AND EXISTS (SELECT 1 FROM users u WHERE u.id = shares.user_id AND u.disabled_at IS NULL AND u.deleted_at IS NULL)`,
		hash)
}

func (s *Store) TouchShare(ctx context.Context, id string, at time.Time) error {
	return s.db.ExecOne(ctx, "Share link", id, `UPDATE shares SET last_used_at = ? WHERE id = ?`, at.UTC(), id)
}

func (s *Store) DeleteShare(ctx context.Context, userID, id string) error {
	return s.db.ExecOne(ctx, "Share link", id, `DELETE FROM shares WHERE user_id = ? AND id = ?`, userID, id)
}

func (s *Store) DeleteShares(ctx context.Context, taskID string) error {
	_, err := s.db.Exec(ctx, "Share links of task", taskID, `DELETE FROM shares WHERE task_id = ?`, taskID)
	return err
}

func (s *Store) PruneShares(ctx context.Context, now time.Time) (int64, error) {
	return s.db.Exec(ctx, "Share links", "", `DELETE FROM shares WHERE expires_at <= ?`, now.UTC())
}
