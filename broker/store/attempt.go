package store

import (
	"context"
	"time"

	"bellhop/broker"
	"bellhop/internal/database"
)

// TakeAttempt implements auth.AttemptStore by the generic cell rate algorithm: one number per key,
// the time at which all counted attempts are paid for. An attempt adds its price, unless that
// would move the time further into the future than the burst allows. One statement does it, so
// that replicas agree.
func (s *Store) TakeAttempt(
	ctx context.Context, key []byte, limit broker.AttemptLimit, now time.Time,
) (time.Duration, error) {
	// The key is the second value, since gorm takes a slice after a parenthesis for a list.
	present, price := now.UnixMilli(), limit.Every.Milliseconds()
	latest := present + int64(limit.Burst-1)*price
	var wait time.Duration
	err := s.db.Write(ctx, func(ctx context.Context) error {
		taken, err := s.db.Exec(ctx, "Sign-in attempt", "", `INSERT INTO sign_in_attempts (paid_at, key) VALUES (?, ?)
			ON CONFLICT (key) DO UPDATE
			SET paid_at = CASE WHEN sign_in_attempts.paid_at < ? THEN ? ELSE sign_in_attempts.paid_at END + ?
			WHERE sign_in_attempts.paid_at <= ?`, present+price, key, present, present, price, latest)
		if err != nil || taken > 0 {
			return err
		}
		var paidAt int64
		err = s.conn(ctx).Raw(`SELECT paid_at FROM sign_in_attempts WHERE key = ?`, key).Row().Scan(&paidAt)
		wait = time.Duration(paidAt-latest) * time.Millisecond
		return database.Fault(err, "Sign-in attempt", "")
	})
	return wait, err
}

// ForgetAttempts implements auth.AttemptStore.
func (s *Store) ForgetAttempts(ctx context.Context, key []byte) error {
	_, err := s.db.Exec(ctx, "Sign-in attempt", "", `DELETE FROM sign_in_attempts WHERE key = ?`, key)
	return err
}
