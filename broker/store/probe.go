package store

import (
	"context"

	"bellhop/internal/database"
	"bellhop/protocol"
)

// Probe writes a small row to check whether the database accepts writes: a
// read-only server and a full disk still answer queries. CodeUnavailable,
// CodeStorageFull.
func (s *Store) Probe(ctx context.Context) error {
	return s.db.Write(ctx, func(ctx context.Context) error {
		const write = `INSERT INTO meta (name, value) VALUES ('probe', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`
		return database.Fault(s.conn(ctx).Exec(write, probeValue()).Error, "probe", "row")
	})
}

// probeValue differs from the last one, so that the row is really written.
func probeValue() string { return protocol.NewID() }
