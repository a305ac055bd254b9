package store

import (
	"context"
	"time"

	"bellhop/broker"
	"bellhop/internal/database"
)

// TakeAttempt implements auth.AttemptStore by the generic cell rate algorithm (GCRA). It stores one
// number per key: paid_at, the time at which the key may use its full burst again. Each attempt
// moves it by limit.Every into the future. An attempt that would move it further than the burst
// allows is refused, and TakeAttempt returns how long to wait. One statement checks and writes, so
// that replicas agree.
func (s *Store) TakeAttempt(
	ctx context.Context, key []byte, limit broker.AttemptLimit, now time.Time,
) (time.Duration, error) {
	// gorm expands a slice directly after a parenthesis into a list, so the key is the second value.
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

func (s *Store) ForgetAttempts(ctx context.Context, key []byte) error {
	_, err := s.db.Exec(ctx, "Sign-in attempt", "", `DELETE FROM sign_in_attempts WHERE key = ?`, key)
	return err
}
