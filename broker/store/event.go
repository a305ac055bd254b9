package store

import (
	"context"

	"gorm.io/gorm"

	"bellhop/broker"
	"bellhop/internal/database"
)

// KnownEvents implements broker.EventStore. Bodies are left behind.
func (s *Store) KnownEvents(ctx context.Context, taskID string, ids []string) ([]broker.StoredEvent, error) {
	var rows []struct {
		EventID string
		Digest  string
		Late    bool
	}
	err := s.conn(ctx).Raw(`SELECT event_id, digest, late FROM events WHERE task_id = ? AND event_id IN ?`, taskID, ids).
		Scan(&rows).Error
	if err != nil {
		return nil, database.Fault(err, "Events of task", taskID)
	}
	known := make([]broker.StoredEvent, len(rows))
	for i, r := range rows {
		known[i] = broker.StoredEvent{TaskID: taskID, EventID: r.EventID, Digest: r.Digest, Late: r.Late}
	}
	return known, nil
}

// Audit implements broker.EventStore.
func (s *Store) Audit(ctx context.Context, a *broker.AuditEntry) error {
	_, err := s.exec(ctx, "Audit entry", a.ID, func(db *gorm.DB) *gorm.DB {
		return db.Exec(`INSERT INTO audit (id, task_id, what, event_id, body, at) VALUES (?, ?, ?, ?, ?, ?)`,
			a.ID, a.TaskID, a.What, a.EventID, string(a.Body), a.At.UTC())
	})
	return err
}
