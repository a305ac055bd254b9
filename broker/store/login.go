package store

import (
	"context"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"bellhop/internal/database"
)

type loginRow struct {
	Token     string `gorm:"primaryKey"`
	Data      []byte
	ExpiresAt time.Time
}

func (loginRow) TableName() string { return "logins" }

type linkRow struct {
	Hash      []byte `gorm:"primaryKey"`
	UserID    string
	ExpiresAt time.Time
}

func (linkRow) TableName() string { return "login_links" }

// FindLogin implements broker.LoginStore. Expired sessions are the reader's
// business: their deadline is in the data.
func (s *Store) FindLogin(ctx context.Context, token string) ([]byte, bool, error) {
	var rows []loginRow
	if err := s.conn(ctx).Where("token = ?", token).Limit(1).Find(&rows).Error; err != nil {
		return nil, false, database.Fault(err, "Login", "")
	}
	if len(rows) == 0 {
		return nil, false, nil
	}
	return rows[0].Data, true, nil
}

// CommitLogin implements broker.LoginStore.
func (s *Store) CommitLogin(ctx context.Context, token string, data []byte, expiry time.Time) error {
	row := loginRow{Token: token, Data: data, ExpiresAt: expiry.UTC()}
	_, err := s.exec(ctx, "Login", "", func(db *gorm.DB) *gorm.DB {
		return db.Clauses(clause.OnConflict{
			Columns:   []clause.Column{{Name: "token"}},
			DoUpdates: clause.AssignmentColumns([]string{"data", "expires_at"}),
		}).Create(&row)
	})
	return err
}

// DeleteLogin implements broker.LoginStore; an unknown one is deleted already.
func (s *Store) DeleteLogin(ctx context.Context, token string) error {
	_, err := s.exec(ctx, "Login", "", func(db *gorm.DB) *gorm.DB {
		return db.Where("token = ?", token).Delete(&loginRow{})
	})
	return err
}

// CreateLink implements broker.LinkStore.
func (s *Store) CreateLink(ctx context.Context, hash []byte, userID string, expires time.Time) error {
	row := linkRow{Hash: hash, UserID: userID, ExpiresAt: expires.UTC()}
	_, err := s.exec(ctx, "Sign-in link", "", func(db *gorm.DB) *gorm.DB { return db.Create(&row) })
	return err
}

// UseLink implements broker.LinkStore: the row that is deleted is the proof.
func (s *Store) UseLink(ctx context.Context, hash []byte, now time.Time) (string, error) {
	var rows []linkRow
	err := s.must(ctx, "Sign-in link", "", func(db *gorm.DB) *gorm.DB {
		return db.Clauses(clause.Returning{}).Where("hash = ? AND expires_at > ?", hash, now.UTC()).Delete(&rows)
	})
	if err != nil {
		return "", err
	}
	return rows[0].UserID, nil
}

// PruneLogins implements broker.PruneStore.
func (s *Store) PruneLogins(ctx context.Context, now time.Time) (int64, error) {
	var total int64
	for _, row := range []any{&loginRow{}, &linkRow{}} {
		n, err := s.exec(ctx, "Expired logins", "", func(db *gorm.DB) *gorm.DB {
			return db.Where("expires_at <= ?", now.UTC()).Delete(row)
		})
		if err != nil {
			return total, err
		}
		total += n
	}
	return total, nil
}
