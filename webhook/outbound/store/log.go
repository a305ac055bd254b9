package store

import (
	"context"
	"strings"
	"time"

	"bellhop/internal/database"
	"bellhop/webhook/outbound"
)

func (s *Store) Deliveries(ctx context.Context, f outbound.Filter) ([]outbound.Delivery, error) {
	where, args := []string{"user_id = ?"}, []any{f.OwnerID}
	for _, c := range []struct{ clause, value string }{
		{"endpoint_id = ?", f.EndpointID}, {"state = ?", string(f.State)}, {"id < ?", f.Before},
	} {
		if c.value != "" {
			where, args = append(where, c.clause), append(args, c.value)
		}
	}
	if f.MessageIDs != nil {
		where, args = append(where, "message_id IN ?"), append(args, f.MessageIDs)
	}
	list, err := database.Find(ctx, s.db, summaries, "Deliveries", "",
		"WHERE "+strings.Join(where, " AND ")+" ORDER BY id DESC LIMIT ?", append(args, f.Limit)...)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return list, s.addAttempts(ctx, list)
}

func (s *Store) Delivery(ctx context.Context, ownerID, id string) (*outbound.Delivery, error) {
	d, err := s.findDelivery(ctx, ownerID, id, "")
	if err != nil {
		return nil, err
	}
	one := []outbound.Delivery{*d}
	return &one[0], s.addAttempts(ctx, one)
}

func (s *Store) LockDelivery(ctx context.Context, ownerID, id string) (*outbound.Delivery, error) {
	return s.findDelivery(ctx, ownerID, id, s.lock("FOR UPDATE"))
}

func (s *Store) findDelivery(ctx context.Context, ownerID, id, lock string) (*outbound.Delivery, error) {
	return database.FindOne(ctx, s.db, summaries, "Delivery", id, "WHERE id = ? AND user_id = ?"+lock, id, ownerID)
}

func (s *Store) addAttempts(ctx context.Context, list []outbound.Delivery) error {
	at := make(map[string]*outbound.Delivery, len(list))
	ids := make([]string, len(list))
	for i := range list {
		ids[i] = list[i].ID
		at[list[i].ID] = &list[i]
	}
	found, err := database.Find(ctx, s.db, attempts, "Attempts", "",
		"WHERE delivery_id IN ? ORDER BY delivery_id, number", ids)
	for _, a := range found {
		at[a.DeliveryID].Log = append(at[a.DeliveryID].Log, a)
	}
	return err
}

// Reopen implements outbound.LogStore. position orders the deliveries of an order key: a
// delivery that had ended goes behind all that are open.
func (s *Store) Reopen(ctx context.Context, d *outbound.Delivery) error {
	_, err := s.db.Exec(ctx, "Delivery", d.ID, `UPDATE deliveries SET state = ?, reason = ?, next_at = ?, expires_at = ?,
		position = CASE WHEN finished_at IS NULL THEN position ELSE (SELECT COALESCE(max(o.position), 0) + 1 FROM deliveries o
			WHERE o.endpoint_id = deliveries.endpoint_id AND o.order_key = deliveries.order_key AND o.finished_at IS NULL) END,
		finished_at = NULL WHERE id = ? AND lease = ''`,
		string(d.State), d.Reason, d.NextAt.UTC(), d.ExpiresAt.UTC(), d.ID)
	return err
}

// ExpireHeld makes the deliveries due; the worker that
// claims them sees that they have expired.
func (s *Store) ExpireHeld(ctx context.Context, now time.Time) (int64, error) {
	return s.db.Exec(ctx, "Deliveries", "", `UPDATE deliveries SET state = 'queued', next_at = ?
		WHERE state = 'held' AND expires_at <= ?`, now.UTC(), now.UTC())
}

// HastenFar implements outbound.LogStore.
func (s *Store) HastenFar(ctx context.Context, far, at time.Time) (int64, error) {
	return s.db.Exec(ctx, "Deliveries", "", `UPDATE deliveries SET next_at = ? WHERE state = 'queued' AND next_at > ?`,
		at.UTC(), far.UTC())
}

func (s *Store) Prune(ctx context.Context, before time.Time) (int64, error) {
	return s.db.DeleteChunks(ctx, "Deliveries", "", database.Chunks{
		Table: "deliveries", Key: "finished_at", Where: "finished_at IS NOT NULL AND finished_at < ?",
		Args: []any{before.UTC()}, Rows: deliveriesAtOnce,
	})
}
