package store

import (
	"context"
	"time"

	"bellhop/internal/database"
	"bellhop/internal/table"
	"bellhop/protocol"
)

// incarnation is one unbroken life of the database.
type incarnation struct {
	number      int64
	id          string
	fingerprint string
	reason      string
	since       time.Time
}

var incarnations = table.New("incarnations",
	table.Integer("number", func(i *incarnation) *int64 { return &i.number }).Key(),
	table.Text("id", func(i *incarnation) *string { return &i.id }),
	table.Text("fingerprint", func(i *incarnation) *string { return &i.fingerprint }),
	table.Text("reason", func(i *incarnation) *string { return &i.reason }),
	table.Time("since", func(i *incarnation) *time.Time { return &i.since }),
)

// Why an incarnation began.
const (
	reasonFirst = "first start"
	reasonCopy  = "another copy of the data"
	reasonBack  = "a host had a newer receipt"
)

func (s *Store) DatabaseLife(ctx context.Context) (string, error) { return s.db.Life(ctx) }

// Incarnation begins a new incarnation when
// the fingerprint is not the one of the newest row. Earlier connections are then closed,
// because they may lead to another server.
func (s *Store) Incarnation(ctx context.Context) (string, error) {
	fingerprint, err := s.db.Fingerprint(ctx)
	if err != nil {
		return "", err
	}
	newest, err := s.newestIncarnation(ctx)
	switch {
	case err != nil:
		return "", err
	case newest.number > 0 && newest.fingerprint == fingerprint:
		return newest.id, nil
	}
	s.db.Reconnect()
	if fingerprint, err = s.db.Fingerprint(ctx); err != nil {
		return "", err
	}
	reason := reasonCopy
	if newest.number == 0 {
		reason = reasonFirst
	}
	return s.beginIncarnation(ctx, newest.number, fingerprint, reason)
}

func (s *Store) EndIncarnation(ctx context.Context, id string) (string, error) {
	newest, err := s.newestIncarnation(ctx)
	if err != nil || newest.id != id {
		return newest.id, err
	}
	return s.beginIncarnation(ctx, newest.number, newest.fingerprint, reasonBack)
}

// newestIncarnation has number 0 when there is none.
func (s *Store) newestIncarnation(ctx context.Context) (incarnation, error) {
	found, err := database.Find(ctx, s.db, incarnations, "Incarnation", "", "ORDER BY number DESC LIMIT 1")
	if err != nil || len(found) == 0 {
		return incarnation{}, err
	}
	return found[0], nil
}

// beginIncarnation adds the row after a number. Of several brokers that do so at
// once, one succeeds and all return its id.
func (s *Store) beginIncarnation(ctx context.Context, after int64, fingerprint, reason string) (string, error) {
	next := incarnation{
		number: after + 1, id: protocol.NewID(), fingerprint: fingerprint,
		reason: reason, since: time.Now().UTC().Truncate(time.Microsecond),
	}
	insert := incarnations.Insert(next)
	insert.SQL += " ON CONFLICT (number) DO NOTHING"
	if err := s.db.Run(ctx, "Incarnation", next.id, insert); err != nil {
		return "", err
	}
	newest, err := s.newestIncarnation(ctx)
	return newest.id, err
}
