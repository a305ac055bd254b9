package store

import (
	"context"
	"time"

	"bellhop/broker"
	"bellhop/internal/database"
	"bellhop/internal/table"
	"bellhop/protocol"
)

// hostLife is the accepted life of a host at a URL, and the copy of it that was refused last.
type hostLife struct {
	url, host, life string
	since           time.Time
	copyPlace       string
	copyAt          *time.Time
}

var hostLives = table.New("host_lives",
	table.Text("url", func(h *hostLife) *string { return &h.url }).Key(),
	table.Text("host", func(h *hostLife) *string { return &h.host }).Key(),
	table.Text("life", func(h *hostLife) *string { return &h.life }),
	table.Time("since", func(h *hostLife) *time.Time { return &h.since }),
	table.Text("copy_place", func(h *hostLife) *string { return &h.copyPlace }).Fixed(),
	table.OptionalTime("copy_at", func(h *hostLife) **time.Time { return &h.copyAt }).Fixed(),
)

func (s *Store) HostLife(ctx context.Context, url, host string) (string, error) {
	found, err := database.Find(ctx, s.db, hostLives, "Life", host, "WHERE url = ? AND host = ?", url, host)
	if err != nil || len(found) == 0 {
		return "", err
	}
	return found[0].life, nil
}

// lifeKept is for how long the life of a host that no administrator registered is remembered: tasks may have URLs of
// their own, which nothing removes. One that is forgotten too early is asked again.
const lifeKept = 90 * 24 * time.Hour

func (s *Store) AcceptHostLife(ctx context.Context, url string, life protocol.Life, at time.Time) error {
	row := hostLife{url: url, host: life.Host, life: life.ID, since: at.UTC()}
	return s.db.Write(ctx, func(ctx context.Context) error {
		if err := s.db.Run(ctx, "Life", life.Host, hostLives.Upsert(row)); err != nil {
			return err
		}
		err := s.conn(ctx).Exec(`DELETE FROM host_lives WHERE since < ? AND url NOT IN (SELECT url FROM hosts)`,
			at.UTC().Add(-lifeKept)).Error
		return database.Fault(err, "Life", life.Host)
	})
}

func (s *Store) NoteHostCopy(ctx context.Context, url string, c broker.HostCopy) error {
	return s.db.ExecOne(ctx, "Life", c.Host, `UPDATE host_lives SET copy_place = ?, copy_at = ? WHERE url = ? AND host = ?`,
		c.Place, c.At.UTC(), url, c.Host)
}

func (s *Store) HostCopies(ctx context.Context, since time.Time) ([]broker.HostCopy, error) {
	found, err := database.Find(ctx, s.db, hostLives, "Life", "", "WHERE copy_at >= ? ORDER BY copy_at", since.UTC())
	copies := make([]broker.HostCopy, len(found))
	for i := range found {
		copies[i] = broker.HostCopy{URL: found[i].url, Host: found[i].host, Place: found[i].copyPlace, At: *found[i].copyAt}
	}
	return copies, err
}
