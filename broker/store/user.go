package store

import (
	"context"
	"strings"
	"time"

	"gorm.io/gorm"

	"bellhop/broker"
	"bellhop/internal/database"
)

type userRow struct {
	ID           string
	Email        string
	PasswordHash string
	Admin        bool
	CreatedAt    time.Time
}

func (userRow) TableName() string { return "users" }

func (r *userRow) user() *broker.User {
	return &broker.User{
		ID: r.ID, Email: r.Email, PasswordHash: r.PasswordHash, Admin: r.Admin, CreatedAt: r.CreatedAt.UTC(),
	}
}

// CreateUser implements broker.UserStore.
func (s *Store) CreateUser(ctx context.Context, u *broker.User) error {
	row := userRow{ID: u.ID, Email: strings.ToLower(u.Email), PasswordHash: u.PasswordHash, Admin: u.Admin, CreatedAt: u.CreatedAt.UTC()}
	_, err := s.exec(ctx, "User", u.ID, func(db *gorm.DB) *gorm.DB { return db.Create(&row) })
	return err
}

// User implements broker.UserStore.
func (s *Store) User(ctx context.Context, id string) (*broker.User, error) {
	return s.userWhere(ctx, "id = ?", id)
}

// UserByEmail implements broker.UserStore.
func (s *Store) UserByEmail(ctx context.Context, email string) (*broker.User, error) {
	return s.userWhere(ctx, "email = ?", strings.ToLower(email))
}

func (s *Store) userWhere(ctx context.Context, where, arg string) (*broker.User, error) {
	var row userRow
	if err := s.conn(ctx).Where(where, arg).Take(&row).Error; err != nil {
		return nil, database.Fault(err, "User", "")
	}
	return row.user(), nil
}

// UpdatePassword implements broker.UserStore.
func (s *Store) UpdatePassword(ctx context.Context, id, hash string) error {
	return s.must(ctx, "User", id, func(db *gorm.DB) *gorm.DB {
		return db.Model(&userRow{}).Where("id = ?", id).Update("password_hash", hash)
	})
}
