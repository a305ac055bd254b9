package store

import (
	"context"
	"time"

	"bellhop/broker"
	"bellhop/internal/database"
	"bellhop/internal/table"
	"bellhop/protocol"
)

// sealedFactor is a second factor as stored.
type sealedFactor struct {
	broker.SecondFactor
	secret []byte
}

var factors = table.New("second_factors",
	table.Text("user_id", func(f *sealedFactor) *string { return &f.UserID }).Key(),
	table.Bytes("secret", func(f *sealedFactor) *[]byte { return &f.secret }),
	table.Integer("last_step", func(f *sealedFactor) *int64 { return &f.LastStep }),
	table.Time("created_at", func(f *sealedFactor) *time.Time { return &f.CreatedAt }),
	table.OptionalTime("confirmed_at", func(f *sealedFactor) **time.Time { return &f.ConfirmedAt }),
)

var readFactors = table.New("second_factors", append(factors.Columns[:len(factors.Columns):len(factors.Columns)],
	table.Integer("(SELECT count(*) FROM recovery_codes c WHERE c.user_id = second_factors.user_id)",
		func(f *sealedFactor) *int { return &f.RecoveryCodes }))...)

func (s *Store) SecondFactor(ctx context.Context, userID string) (*broker.SecondFactor, error) {
	row, err := database.FindOne(ctx, s.db, readFactors, "Second factor", "", "WHERE user_id = ?", userID)
	if err != nil {
		return nil, err
	}
	if row.Secret, err = s.open("second_factors", "secret", userID, row.secret); err != nil {
		return nil, err
	}
	return &row.SecondFactor, nil
}

func (s *Store) BeginSecondFactor(ctx context.Context, f *broker.SecondFactor) error {
	sealed, err := s.seal("second_factors", "secret", f.UserID, f.Secret)
	if err != nil {
		return err
	}
	n, err := s.db.Exec(ctx, "Second factor", f.UserID,
		`INSERT INTO second_factors (user_id, secret, last_step, created_at) VALUES (?, ?, 0, ?) ON CONFLICT (user_id) DO UPDATE SET secret = excluded.secret, created_at = excluded.created_at
		WHERE second_factors.confirmed_at IS NULL`, f.UserID, sealed, f.CreatedAt.UTC())
	if err == nil && n == 0 {
		return protocol.Errorf(protocol.CodeConflict, "The second factor is on already")
	}
	return err
}

func (s *Store) ConfirmSecondFactor(ctx context.Context, f *broker.SecondFactor, step int64, at time.Time) error {
	return s.changedFactor(s.db.Exec(ctx, "Second factor", f.UserID, `UPDATE second_factors
		SET confirmed_at = ?, last_step = ? WHERE user_id = ? AND created_at = ? AND confirmed_at IS NULL`, at.UTC(), step, f.UserID, f.CreatedAt.UTC()))
}

// UseStep implements auth.FactorStore. Of two transactions with one code the second finds no row.
func (s *Store) UseStep(ctx context.Context, userID string, step int64) error {
	return s.changedFactor(s.db.Exec(ctx, "Second factor", userID, `UPDATE second_factors SET last_step = ?
		WHERE user_id = ? AND last_step < ? AND confirmed_at IS NOT NULL`, step, userID, step))
}

func (s *Store) UseRecoveryCode(ctx context.Context, userID string, hash []byte) error {
	return s.changedFactor(s.db.Exec(ctx, "Recovery code", "", `DELETE FROM recovery_codes WHERE user_id = ? AND hash = ?`,
		userID, hash))
}

func (s *Store) changedFactor(n int64, err error) error {
	if err == nil && n == 0 {
		return protocol.Errorf(protocol.CodeConflict, "This second factor or code was used or changed meanwhile")
	}
	return err
}

func (s *Store) SetRecoveryCodes(ctx context.Context, userID string, hashes [][]byte) error {
	return s.db.Write(ctx, func(ctx context.Context) error {
		_, err := s.db.Exec(ctx, "Recovery codes", "", `DELETE FROM recovery_codes WHERE user_id = ?`, userID)
		if err != nil {
			return err
		}
		for _, hash := range hashes {
			_, err := s.db.Exec(ctx, "Recovery codes", "",
				`INSERT INTO recovery_codes (user_id, hash) VALUES (?, ?)`, userID, hash)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *Store) DeleteSecondFactor(ctx context.Context, userID string) (counted bool, err error) {
	err = s.db.Write(ctx, func(ctx context.Context) error {
		var confirmed []bool
		err := s.conn(ctx).Raw(`DELETE FROM second_factors WHERE user_id = ? RETURNING confirmed_at IS NOT NULL`, userID).
			Scan(&confirmed).Error
		counted = len(confirmed) == 1 && confirmed[0]
		return database.Fault(err, "Second factor", "")
	})
	return counted, err
}
