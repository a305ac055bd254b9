package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"bellhop/broker"
	"bellhop/internal/database"
	"bellhop/internal/table"
	"bellhop/protocol"
)

var signIns = table.New("logins",
	table.Text("id", func(i *broker.SignIn) *string { return &i.ID }).Key(),
	table.Text("user_id", func(i *broker.SignIn) *string { return &i.UserID }),
	table.Text("user_agent", func(i *broker.SignIn) *string { return &i.UserAgent }),
	table.Text("address", func(i *broker.SignIn) *string { return &i.Address }),
	table.Time("began_at", func(i *broker.SignIn) *time.Time { return &i.BeganAt }),
	table.Time("last_used_at", func(i *broker.SignIn) *time.Time { return &i.LastUsedAt }),
	table.Time("expires_at", func(i *broker.SignIn) *time.Time { return &i.ExpiresAt }),
)

// FindLogin implements auth.LoginStore. The caller checks whether the login has
// expired, because the time is part of the data.
func (s *Store) FindLogin(ctx context.Context, token string) (data []byte, used *time.Time, found bool, err error) {
	var at sql.NullTime
	err = s.conn(ctx).Raw(`SELECT data, last_used_at FROM logins WHERE token = ?`, token).Row().Scan(&data, &at)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil, false, nil
	}
	if at.Valid {
		used = &at.Time
	}
	return data, used, err == nil, database.Fault(err, "Login", "")
}

func (s *Store) CommitLogin(ctx context.Context, token string, data []byte, expiry time.Time) error {
	_, err := s.db.Exec(ctx, "Login", "", `INSERT INTO logins (token, data, expires_at) VALUES (?, ?, ?)
		ON CONFLICT (token) DO UPDATE SET data = excluded.data, expires_at = excluded.expires_at`,
		token, data, expiry.UTC())
	return err
}

func (s *Store) TouchLogin(ctx context.Context, token string, in *broker.SignIn) error {
	_, err := s.db.Exec(ctx, "Login", "", `UPDATE logins
		SET id = ?, user_id = ?, user_agent = ?, address = ?, began_at = ?, last_used_at = ? WHERE token = ?`,
		in.ID, in.UserID, in.UserAgent, in.Address, in.BeganAt.UTC(), in.LastUsedAt.UTC(), token)
	return err
}

func (s *Store) SignIns(ctx context.Context, userID string, now time.Time) ([]broker.SignIn, error) {
	return database.Find(ctx, s.db, signIns, "Sign-ins of user", userID,
		"WHERE user_id = ? AND expires_at > ? ORDER BY last_used_at DESC, id", userID, now.UTC())
}

func (s *Store) EndSignIn(ctx context.Context, userID, id string, now time.Time) error {
	n, err := s.endLogins(ctx, now, "user_id = ? AND id = ?", userID, id)
	if err == nil && n == 0 {
		return protocol.Errorf(protocol.CodeNotFound, "Sign-in not found")
	}
	return err
}

func (s *Store) DeleteLogin(ctx context.Context, token string, now time.Time) error {
	_, err := s.endLogins(ctx, now, "token = ?", token)
	return err
}

// endLogins deletes logins, and stores that hosts have to end their stream tokens and streams. No host
// knows of a login without an id.
func (s *Store) endLogins(ctx context.Context, now time.Time, where string, args ...any) (n int64, err error) {
	err = s.db.Write(ctx, func(ctx context.Context) error {
		var ended []broker.SignIn
		err := s.conn(ctx).Raw(`DELETE FROM logins WHERE `+where+` RETURNING id, user_id`, args...).Scan(&ended).Error
		if err != nil {
			return database.Fault(err, "Login", "")
		}
		n = int64(len(ended))
		for i := range ended {
			if ended[i].ID == "" {
				continue
			}
			if err := s.oweCredential(ctx, ended[i].UserID, ended[i].ID, now); err != nil {
				return err
			}
		}
		return nil
	})
	return n, err
}

func (s *Store) HasCredential(ctx context.Context, userID, id string) (has bool, err error) {
	err = s.conn(ctx).Raw(`SELECT EXISTS (SELECT 1 FROM logins WHERE user_id = ? AND id = ?)
		OR EXISTS (SELECT 1 FROM api_tokens WHERE user_id = ? AND id = ?)`, userID, id, userID, id).Row().Scan(&has)
	return has, database.Fault(err, "Credential", "")
}

func (s *Store) CreateLink(ctx context.Context, hash []byte, userID string, expires time.Time) error {
	_, err := s.db.Exec(ctx, "Sign-in link", "", `INSERT INTO login_links (user_id, hash, expires_at) VALUES (?, ?, ?)`,
		userID, hash, expires.UTC())
	return err
}

// UseLink implements auth.LinkStore: only one caller can delete the row.
func (s *Store) UseLink(ctx context.Context, hash []byte, now time.Time) (userID string, err error) {
	err = s.db.Write(ctx, func(ctx context.Context) error {
		row := s.conn(ctx).Raw(`DELETE FROM login_links WHERE hash = ? AND expires_at > ? RETURNING user_id`,
			hash, now.UTC()).Row()
		return database.Fault(row.Scan(&userID), "Sign-in link", "")
	})
	return userID, err
}

func (s *Store) PruneLogins(ctx context.Context, now time.Time) (int64, error) {
	total, err := s.db.Exec(ctx, "Expired sign-in attempts", "",
		`DELETE FROM sign_in_attempts WHERE paid_at <= ?`, now.UnixMilli())
	logins, loginsErr := s.endLogins(ctx, now, "expires_at <= ?", now.UTC())
	links, linksErr := s.db.Exec(ctx, "Expired sign-in links", "",
		`DELETE FROM login_links WHERE expires_at <= ?`, now.UTC())
	return total + logins + links, errors.Join(err, loginsErr, linksErr)
}
