package store

import (
	"context"
	"strings"
	"time"

	"bellhop/broker"
	"bellhop/internal/database"
	"bellhop/internal/table"
)

var users = table.New("users",
	table.Text("id", func(u *broker.User) *string { return &u.ID }).Key(),
	table.Text("email", func(u *broker.User) *string { return &u.Email }),
	table.Text("password_hash", func(u *broker.User) *string { return &u.PasswordHash }),
	table.Bool("admin", func(u *broker.User) *bool { return &u.Admin }),
	table.Time("created_at", func(u *broker.User) *time.Time { return &u.CreatedAt }),
)

// CreateUser implements auth.UserStore.
func (s *Store) CreateUser(ctx context.Context, u *broker.User) error {
	row := *u
	row.Email = strings.ToLower(u.Email)
	return s.db.Run(ctx, "User", u.ID, users.Insert(row))
}

// User implements auth.UserStore.
func (s *Store) User(ctx context.Context, id string) (*broker.User, error) {
	return database.FindOne(ctx, s.db, users, "User", "", "WHERE id = ?", id)
}

// UserByEmail implements auth.UserStore.
func (s *Store) UserByEmail(ctx context.Context, email string) (*broker.User, error) {
	return database.FindOne(ctx, s.db, users, "User", "", "WHERE email = ?", strings.ToLower(email))
}

// UpdatePassword implements auth.UserStore.
func (s *Store) UpdatePassword(ctx context.Context, id, hash string) error {
	return s.db.ExecOne(ctx, "User", id, `UPDATE users SET password_hash = ? WHERE id = ?`, hash, id)
}
