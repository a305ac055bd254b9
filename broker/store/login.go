package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"bellhop/internal/database"
)

// FindLogin implements auth.LoginStore. The caller checks whether the login has
// expired, because the time is part of the data.
func (s *Store) FindLogin(ctx context.Context, token string) ([]byte, bool, error) {
	var data []byte
	err := s.conn(ctx).Raw(`SELECT data FROM logins WHERE token = ?`, token).Row().Scan(&data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, false, nil
	}
	return data, err == nil, database.Fault(err, "Login", "")
}

// CommitLogin implements auth.LoginStore.
func (s *Store) CommitLogin(ctx context.Context, token string, data []byte, expiry time.Time) error {
	_, err := s.db.Exec(ctx, "Login", "", `INSERT INTO logins (token, data, expires_at) VALUES (?, ?, ?)
		ON CONFLICT (token) DO UPDATE SET data = excluded.data, expires_at = excluded.expires_at`, token, data, expiry.UTC())
	return err
}

// DeleteLogin implements auth.LoginStore; an unknown login is no error.
func (s *Store) DeleteLogin(ctx context.Context, token string) error {
	_, err := s.db.Exec(ctx, "Login", "", `DELETE FROM logins WHERE token = ?`, token)
	return err
}

// CreateLink implements auth.LinkStore.
func (s *Store) CreateLink(ctx context.Context, hash []byte, userID string, expires time.Time) error {
	_, err := s.db.Exec(ctx, "Sign-in link", "", `INSERT INTO login_links (user_id, hash, expires_at) VALUES (?, ?, ?)`,
		userID, hash, expires.UTC())
	return err
}

// UseLink implements auth.LinkStore: only one caller can delete the row.
func (s *Store) UseLink(ctx context.Context, hash []byte, now time.Time) (userID string, err error) {
	err = s.db.Write(ctx, func(ctx context.Context) error {
		row := s.conn(ctx).Raw(`DELETE FROM login_links WHERE hash = ? AND expires_at > ? RETURNING user_id`, hash, now.UTC()).Row()
		return database.Fault(row.Scan(&userID), "Sign-in link", "")
	})
	return userID, err
}

// PruneLogins implements broker.MaintenanceStore.
func (s *Store) PruneLogins(ctx context.Context, now time.Time) (int64, error) {
	total, err := s.db.Exec(ctx, "Expired sign-in attempts", "",
		`DELETE FROM sign_in_attempts WHERE paid_at <= ?`, now.UnixMilli())
	if err != nil {
		return 0, err
	}
	for _, expired := range []string{`DELETE FROM logins WHERE expires_at <= ?`, `DELETE FROM login_links WHERE expires_at <= ?`} {
		n, err := s.db.Exec(ctx, "Expired logins", "", expired, now.UTC())
		if err != nil {
			return total, err
		}
		total += n
	}
	return total, nil
}
