package store

import (
	"context"
	"strings"
	"time"

	"gorm.io/gorm"

	"bellhop/internal/database"
	"bellhop/webhook/outbound"
)

// logColumns leave out the body.
const logColumns = `id, endpoint_id, user_id, kind, host, message_id, event, order_key, state, reason, attempts, attempted_at,
	lease, next_at, expires_at, created_at, finished_at`

// Deliveries implements outbound.LogStore.
func (s *Store) Deliveries(ctx context.Context, f outbound.Filter) ([]outbound.Delivery, error) {
	where, args := []string{"user_id = ?"}, []any{f.OwnerID}
	for _, c := range []struct{ clause, value string }{
		{"endpoint_id = ?", f.EndpointID}, {"state = ?", string(f.State)}, {"id < ?", f.Before},
	} {
		if c.value != "" {
			where, args = append(where, c.clause), append(args, c.value)
		}
	}
	list, err := s.query(ctx, `SELECT `+logColumns+` FROM deliveries WHERE `+strings.Join(where, " AND ")+
		` ORDER BY id DESC LIMIT ?`, append(args, f.Limit)...)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return list, s.addAttempts(ctx, list)
}

// Delivery implements outbound.LogStore.
func (s *Store) Delivery(ctx context.Context, ownerID, id string) (*outbound.Delivery, error) {
	d, err := s.findDelivery(ctx, ownerID, id, "")
	if err != nil {
		return nil, err
	}
	one := []outbound.Delivery{*d}
	return &one[0], s.addAttempts(ctx, one)
}

// LockDelivery implements outbound.LogStore.
func (s *Store) LockDelivery(ctx context.Context, ownerID, id string) (*outbound.Delivery, error) {
	return s.findDelivery(ctx, ownerID, id, s.lock("FOR UPDATE"))
}

func (s *Store) findDelivery(ctx context.Context, ownerID, id, lock string) (*outbound.Delivery, error) {
	list, err := s.query(ctx, `SELECT `+logColumns+` FROM deliveries WHERE id = ? AND user_id = ?`+lock, id, ownerID)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, database.Fault(gorm.ErrRecordNotFound, "Delivery", id)
	}
	return &list[0], nil
}

func (s *Store) addAttempts(ctx context.Context, list []outbound.Delivery) error {
	at := make(map[string]*outbound.Delivery, len(list))
	ids := make([]string, len(list))
	for i := range list {
		ids[i] = list[i].ID
		at[list[i].ID] = &list[i]
	}
	var rows []attemptRow
	err := s.conn(ctx).Raw(`SELECT * FROM delivery_attempts WHERE delivery_id IN ? ORDER BY delivery_id, number`, ids).Scan(&rows).Error
	if err != nil {
		return database.Fault(err, "Attempts", "")
	}
	for i := range rows {
		d := at[rows[i].DeliveryID]
		d.Log = append(d.Log, rows[i].attempt())
	}
	return nil
}

// Reopen implements outbound.LogStore.
func (s *Store) Reopen(ctx context.Context, d *outbound.Delivery) error {
	_, err := s.exec(ctx, "Delivery", d.ID, `UPDATE deliveries SET state = ?, reason = ?, next_at = ?, expires_at = ?,
		position = CASE WHEN finished_at IS NULL THEN position ELSE (SELECT COALESCE(max(o.position), 0) + 1 FROM deliveries o
			WHERE o.endpoint_id = deliveries.endpoint_id AND o.order_key = deliveries.order_key AND o.finished_at IS NULL) END,
		finished_at = NULL WHERE id = ? AND lease = ''`,
		string(d.State), d.Reason, d.NextAt.UTC(), d.ExpiresAt.UTC(), d.ID)
	return err
}

// ExpireHeld implements outbound.LogStore.
func (s *Store) ExpireHeld(ctx context.Context, now time.Time) (int64, error) {
	return s.exec(ctx, "Deliveries", "", `UPDATE deliveries SET state = 'queued', next_at = ?
		WHERE state = 'held' AND expires_at <= ?`, now.UTC(), now.UTC())
}

// Prune implements outbound.LogStore.
func (s *Store) Prune(ctx context.Context, before time.Time, limit int) (int64, error) {
	return s.exec(ctx, "Deliveries", "", `DELETE FROM deliveries WHERE id IN (SELECT id FROM deliveries
		WHERE finished_at IS NOT NULL AND finished_at < ? ORDER BY finished_at LIMIT ?)`, before.UTC(), limit)
}
