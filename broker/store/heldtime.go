package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"bellhop/internal/database"
	"bellhop/internal/heldtime"
)

const (
	heldTime  = "held-time"
	heldAhead = "held-time-ahead"
	heldRan   = "held-time-ran"
	// heldForm has the order of the times it formats.
	heldForm = "2006-01-02T15:04:05.000000Z"
)

func (s *Store) HeldTime(ctx context.Context) (state heldtime.State, err error) {
	var at, ahead, ran string
	for name, value := range map[string]*string{heldTime: &at, heldAhead: &ahead, heldRan: &ran} {
		err := s.conn(ctx).Raw(`SELECT value FROM meta WHERE name = ?`, name).Row().Scan(value)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return state, database.Fault(err, "held-back time", name)
		}
	}
	if at == "" {
		state.At, err = s.newestTime(ctx)
		return state, err
	}
	state.Ahead, _ = time.ParseDuration(ahead)
	state.Ran, _ = time.ParseDuration(ran)
	state.At, err = time.Parse(heldForm, at)
	return state, err
}

// newestTime is the newest time of rows that every use of the broker writes.
func (s *Store) newestTime(ctx context.Context) (newest time.Time, err error) {
	for table, column := range map[string]string{"tasks": "changed_at", "audit_log": "at", "logins": "last_used_at"} {
		var at sql.NullTime
		err := s.conn(ctx).Raw(`SELECT ` + column + ` FROM ` + table + ` WHERE ` + column + ` IS NOT NULL ORDER BY ` +
			column + ` DESC LIMIT 1`).Row().Scan(&at)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return newest, database.Fault(err, "newest time", table)
		}
		if at.Valid && at.Time.After(newest) {
			newest = at.Time
		}
	}
	return newest, nil
}

func (s *Store) StoreHeldTime(ctx context.Context, state heldtime.State) error {
	return s.db.Write(ctx, func(ctx context.Context) error {
		const insert = `INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`
		err := s.conn(ctx).Exec(insert+` WHERE meta.value < excluded.value`, heldTime, state.At.UTC().Format(heldForm)).Error
		for name, value := range map[string]time.Duration{heldAhead: state.Ahead, heldRan: state.Ran} {
			if err == nil {
				err = s.conn(ctx).Exec(insert, name, value.String()).Error
			}
		}
		return database.Fault(err, "held-back time", "")
	})
}

// ServerTime implements heldtime.Store. A server that is asked over a socket or from its own address is on this machine.
func (s *Store) ServerTime(ctx context.Context) (at time.Time, err error) {
	if !s.postgres() {
		return time.Time{}, nil
	}
	var isHere bool
	err = s.conn(ctx).Raw(`SELECT clock_timestamp(), coalesce(inet_server_addr() = inet_client_addr(), TRUE)`).Row().
		Scan(&at, &isHere)
	if err != nil || isHere {
		return time.Time{}, database.Fault(err, "time of the server", "")
	}
	return at.UTC(), nil
}
