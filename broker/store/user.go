package store

import (
	"context"
	"slices"
	"strings"
	"time"

	"bellhop/broker"
	"bellhop/internal/database"
	"bellhop/internal/table"
	"bellhop/protocol"
)

var users = table.New("users",
	table.Text("id", func(u *broker.User) *string { return &u.ID }).Key(),
	table.Text("email", func(u *broker.User) *string { return &u.Email }),
	table.Text("password_hash", func(u *broker.User) *string { return &u.PasswordHash }),
	table.Bool("admin", func(u *broker.User) *bool { return &u.Admin }),
	table.Time("created_at", func(u *broker.User) *time.Time { return &u.CreatedAt }),
	table.OptionalTime("sessions_after", func(u *broker.User) **time.Time { return &u.SessionsAfter }),
	table.OptionalTime("disabled_at", func(u *broker.User) **time.Time { return &u.DisabledAt }),
	table.OptionalTime("deleted_at", func(u *broker.User) **time.Time { return &u.DeletedAt }),
)

// readUsers is users with what other tables say about them.
var readUsers = table.New("users", append(slices.Clone(users.Columns),
	table.Bool("EXISTS (SELECT 1 FROM second_factors f WHERE f.user_id = users.id AND f.confirmed_at IS NOT NULL)",
		func(u *broker.User) *bool { return &u.SecondFactor }))...)

func (s *Store) CreateUser(ctx context.Context, u *broker.User) error {
	row := *u
	row.Email = strings.ToLower(u.Email)
	return s.db.Run(ctx, "User", u.ID, users.Insert(row))
}

func (s *Store) User(ctx context.Context, id string) (*broker.User, error) {
	return database.FindOne(ctx, s.db, readUsers, "User", "", "WHERE id = ?", id)
}

func (s *Store) UserByEmail(ctx context.Context, email string) (*broker.User, error) {
	return database.FindOne(ctx, s.db, readUsers, "User", "", "WHERE email = ?", strings.ToLower(email))
}

func (s *Store) UpdatePassword(ctx context.Context, id, hash string, at time.Time) error {
	return s.db.Write(ctx, func(ctx context.Context) error {
		err := s.db.ExecOne(ctx, "User", id, `UPDATE users SET password_hash = ?, sessions_after = ? WHERE id = ?`,
			hash, at.UTC(), id)
		if err != nil {
			return err
		}
		_, err = s.endLogins(ctx, at, "user_id = ? AND began_at < ?", id, at.UTC())
		return err
	})
}

func (s *Store) Users(ctx context.Context, after string, limit int) ([]broker.User, error) {
	return database.Find(ctx, s.db, readUsers, "Users", "",
		"WHERE email > ? AND deleted_at IS NULL ORDER BY email LIMIT ?", after, limit)
}

// UpdateUser locks the administrators first: two of them who disable
// each other at once must not both succeed.
func (s *Store) UpdateUser(ctx context.Context, id string, change func(*broker.User) error) (*broker.User, error) {
	var user *broker.User
	err := s.db.Write(ctx, func(ctx context.Context) error {
		admins, err := database.Find(ctx, s.db, users, "Administrators", "",
			"WHERE admin AND disabled_at IS NULL AND deleted_at IS NULL ORDER BY id"+s.lock("FOR UPDATE"))
		if err != nil {
			return err
		}
		if user, err = database.FindOne(ctx, s.db, readUsers, "User", "",
			"WHERE id = ?"+s.lock("FOR UPDATE"), id); err != nil {
			return err
		}
		last := len(admins) == 1 && admins[0].ID == id
		if err := change(user); err != nil {
			return err
		}
		if last && (!user.Admin || !user.Active()) {
			return &protocol.Error{
				Code: protocol.CodeConflict, Message: "This is the last administrator who can sign in",
				Hint: "Make another administrator first: bellhop users add --admin",
			}
		}
		return s.db.Run(ctx, "User", id, users.Update(user))
	})
	if err != nil {
		return nil, err
	}
	return user, nil
}

// credentialTables have what ends with its user.
var credentialTables = []string{"logins", "login_links", "api_tokens", "shares", "forge_tokens"}

func (s *Store) RevokeUser(ctx context.Context, id string, now time.Time) error {
	return s.db.Write(ctx, func(ctx context.Context) error {
		for _, table := range credentialTables {
			if _, err := s.db.Exec(ctx, "User", id, "DELETE FROM "+table+" WHERE user_id = ?", id); err != nil {
				return err
			}
		}
		return s.oweRevocations(ctx, id, now)
	})
}
