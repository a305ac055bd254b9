package store

import (
	"context"
	"time"

	"bellhop/broker"
	"bellhop/internal/database"
	"bellhop/internal/table"
	"bellhop/protocol"
)

const announcement = "Announcement"

var announcements = table.New("announcements",
	table.Text("id", func(a *broker.Announcement) *string { return &a.ID }).Key(),
	table.Text("text", func(a *broker.Announcement) *string { return &a.Text }),
	table.Text("level", func(a *broker.Announcement) *protocol.AnnouncementLevel { return &a.Level }),
	table.Time("created_at", func(a *broker.Announcement) *time.Time { return &a.CreatedAt }),
	table.Time("expires_at", func(a *broker.Announcement) *time.Time { return &a.ExpiresAt }),
	table.OptionalTime("cancelled_at", func(a *broker.Announcement) **time.Time { return &a.CancelledAt }),
)

// LockAnnouncements implements broker.AnnouncementStore. On SQLite it does nothing: there is one write
// transaction at a time. Reading is not delayed.
func (s *Store) LockAnnouncements(ctx context.Context) error {
	if !s.postgres() {
		return nil
	}
	_, err := s.db.Exec(ctx, "Announcements", "", `LOCK TABLE announcements IN SHARE ROW EXCLUSIVE MODE`)
	return err
}

func (s *Store) CreateAnnouncement(ctx context.Context, a *broker.Announcement) error {
	return s.db.Run(ctx, announcement, a.ID, announcements.Insert(*a))
}

func (s *Store) Announcement(ctx context.Context, id string) (*broker.Announcement, error) {
	return database.FindOne(ctx, s.db, announcements, announcement, id, "WHERE id = ?", id)
}

func (s *Store) ActiveAnnouncements(ctx context.Context, now time.Time) ([]broker.Announcement, error) {
	return database.Find(ctx, s.db, announcements, "Announcements", "",
		"WHERE expires_at > ? AND cancelled_at IS NULL ORDER BY created_at, id", now.UTC())
}

func (s *Store) CancelAnnouncement(ctx context.Context, id string, now time.Time) error {
	return s.db.ExecOne(ctx, announcement, id,
		`UPDATE announcements SET cancelled_at = COALESCE(cancelled_at, ?) WHERE id = ?`, now.UTC(), id)
}

func (s *Store) PruneAnnouncements(ctx context.Context, before time.Time) (int64, error) {
	return s.db.Exec(ctx, "Announcements", "", `DELETE FROM announcements WHERE expires_at < ?`, before.UTC())
}
