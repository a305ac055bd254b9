package store

import (
	"context"

	"bellhop/internal/database"
)

// maxOriginsKept is how many origins an owner may have. At the limit all are
// deleted; those still in use are added again at the next check-in.
const maxOriginsKept = 32

// AddStreamOrigin runs at every check-in, and the
// origin is almost always known: reading first keeps SQLite's only writer free.
func (s *Store) AddStreamOrigin(ctx context.Context, owner, origin string) error {
	var known int64
	err := s.conn(ctx).Raw(`SELECT count(*) FROM stream_origins WHERE owner = ? AND origin = ?`, owner,
		origin).Scan(&known).Error
	if err == nil && known == 0 {
		err = s.db.Write(ctx, func(ctx context.Context) error {
			err := s.conn(ctx).Exec(`DELETE FROM stream_origins WHERE owner = ? AND (SELECT count(*) FROM stream_origins WHERE owner = ?) >= ?`,
				owner, owner, maxOriginsKept).Error
			if err != nil {
				return err
			}
			return s.conn(ctx).Exec(`INSERT INTO stream_origins (owner, origin) VALUES (?, ?) ON CONFLICT DO NOTHING`,
				owner, origin).Error
		})
	}
	return database.Fault(err, "Stream origin", origin)
}

func (s *Store) StreamOrigins(ctx context.Context, userID string) ([]string, error) {
	origins := []string{}
	err := s.conn(ctx).Raw(`SELECT DISTINCT origin FROM stream_origins WHERE owner = ? OR owner IN (SELECT id FROM hosts)`,
		userID).
		Scan(&origins).Error
	return origins, database.Fault(err, "Stream origins of user", userID)
}
