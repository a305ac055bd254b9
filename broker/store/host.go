package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"bellhop/broker"
	"bellhop/crypto/seal"
	"bellhop/internal/database"
	"bellhop/internal/table"
	"bellhop/protocol"
)

// sealedHost is a host with its passwords as stored.
type sealedHost struct {
	broker.Host
	password, previousPassword []byte
}

var hosts = table.New("hosts",
	table.Text("id", func(h *sealedHost) *string { return &h.ID }).Key(),
	table.Text("name", func(h *sealedHost) *string { return &h.Name }),
	table.Text("url", func(h *sealedHost) *string { return &h.URL }),
	table.Bytes("password", func(h *sealedHost) *[]byte { return &h.password }),
	table.Bytes("previous_password", func(h *sealedHost) *[]byte { return &h.previousPassword }),
	table.OptionalTime("previous_until", func(h *sealedHost) **time.Time { return &h.PreviousUntil }),
	table.Text("health", func(h *sealedHost) *broker.HostHealth { return &h.Health }),
	table.Text("reach", func(h *sealedHost) *protocol.Reach { return &h.Reach }),
	table.Bool("names", func(h *sealedHost) *bool { return &h.Names }),
	table.OptionalTime("checked_at", func(h *sealedHost) **time.Time { return &h.CheckedAt }),
	table.Time("created_at", func(h *sealedHost) *time.Time { return &h.CreatedAt }).Fixed(),
)

// busyHosts adds the numbers of open turns and of owed ends, counted once for all hosts. SQLite begins with
// the left side of a CROSS JOIN, which has fewer rows than tasks.
var busyHosts = table.New(`hosts LEFT JOIN (
		SELECT tasks.host_id AS id, count(*) AS turns FROM turns CROSS JOIN tasks
		WHERE tasks.id = turns.task_id AND tasks.deleted_at IS NULL AND turns.state <> 'closed'
		GROUP BY tasks.host_id) busy ON busy.id = hosts.id
	LEFT JOIN (
		SELECT tasks.host_id AS id, count(*) AS ends FROM session_ends CROSS JOIN tasks
		WHERE tasks.id = session_ends.task_id GROUP BY tasks.host_id) owing ON owing.id = hosts.id`,
	append(hosts.Qualified(),
		table.Integer(`COALESCE(busy.turns, 0)`, func(h *sealedHost) *int { return &h.OpenTurns }),
		table.Integer(`COALESCE(owing.ends, 0)`, func(h *sealedHost) *int { return &h.OwedEnds }))...)

func (s *Store) sealHost(h *broker.Host) (*sealedHost, error) {
	sealed := &sealedHost{Host: *h}
	var err error
	if sealed.password, err = s.seal("hosts", "password", h.ID, h.Password); err != nil {
		return nil, err
	}
	sealed.previousPassword, err = s.seal("hosts", "previous_password", h.ID, h.PreviousPassword)
	return sealed, err
}

// openHost returns the host with its passwords.
func (s *Store) openHost(sealed *sealedHost) (*broker.Host, error) {
	h := sealed.Host
	var err error
	if h.Password, err = s.open("hosts", "password", h.ID, sealed.password); err != nil {
		return nil, err
	}
	h.PreviousPassword, err = s.open("hosts", "previous_password", h.ID, sealed.previousPassword)
	return &h, err
}

func (s *Store) CreateHost(ctx context.Context, h *broker.Host) error {
	sealed, err := s.sealHost(h)
	if err != nil {
		return err
	}
	return s.db.Run(ctx, "Host", h.ID, hosts.Insert(*sealed))
}

func (s *Store) Host(ctx context.Context, id string) (*broker.Host, error) {
	sealed, err := database.FindOne(ctx, s.db, hosts, "Host", id, "WHERE id = ?", id)
	if err != nil {
		return nil, err
	}
	return s.openHost(sealed)
}

func (s *Store) lockHost(ctx context.Context, id string) (*sealedHost, error) {
	return database.FindOne(ctx, s.db, hosts, "Host", id, "WHERE id = ?"+s.lock("FOR UPDATE"), id)
}

// Hosts implements broker.HostStore; by name.
func (s *Store) Hosts(ctx context.Context) ([]broker.Host, error) {
	found, err := database.Find(ctx, s.db, busyHosts, "Hosts", "", "ORDER BY hosts.name")
	if err != nil {
		return nil, err
	}
	list := make([]broker.Host, len(found))
	for i := range found {
		list[i] = found[i].Host
	}
	return list, nil
}

// UpdateHost implements broker.HostStore. change sees an empty password if a stored
// one cannot be opened, so that it can replace it.
func (s *Store) UpdateHost(ctx context.Context, id string, change func(*broker.Host) error) (*broker.Host, error) {
	var host *broker.Host
	err := s.db.Write(ctx, func(ctx context.Context) error {
		sealed, err := s.lockHost(ctx, id)
		if err != nil {
			return err
		}
		if host, err = s.openHost(sealed); errors.Is(err, seal.ErrCiphertext) {
			host = &sealed.Host
		} else if err != nil {
			return err
		}
		if err := change(host); err != nil {
			return err
		}
		if sealed, err = s.sealHost(host); err != nil {
			return err
		}
		return s.db.Run(ctx, "Host", id, hosts.Update(sealed))
	})
	if err != nil {
		return nil, err
	}
	return host, nil
}

func (s *Store) DeleteHost(ctx context.Context, id string, abandon bool) (ends int64, err error) {
	err = s.db.Write(ctx, func(ctx context.Context) error {
		const owing = `SELECT e.task_id FROM session_ends e JOIN tasks t ON t.id = e.task_id WHERE t.host_id = ?`
		var taskIDs []string
		if err := s.conn(ctx).Raw(owing, id).Scan(&taskIDs).Error; err != nil {
			return database.Fault(err, "Host", id)
		}
		if ends = int64(len(taskIDs)); ends > 0 && !abandon {
			return errOwing(ends)
		}
		for _, taskID := range taskIDs {
			if err := s.SettleEnd(ctx, taskID); err != nil {
				return err
			}
		}
		return s.db.ExecOne(ctx, "Host", id, `DELETE FROM hosts WHERE id = ?`, id)
	})
	if errors.Is(err, gorm.ErrForeignKeyViolated) {
		err = &protocol.Error{
			Code: protocol.CodeConflict, Message: "Tasks use this host", Hint: "move or delete them first", Err: err,
		}
	}
	return ends, err
}

func errOwing(ends int64) error {
	return &protocol.Error{
		Code:    protocol.CodeConflict,
		Message: fmt.Sprintf("The host still has %d sessions of deleted tasks", ends),
		Hint:    "Start the host, so that it ends them, or remove it with force: their agents may go on running",
	}
}

func (s *Store) SetHostHealth(
	ctx context.Context, id string, health broker.HostHealth, names bool, url string, at time.Time,
) error {
	return s.db.ExecOne(ctx, "Host", id, `UPDATE hosts SET health = ?, checked_at = ?, names = names OR (? AND url = ?) WHERE id = ?`,
		string(health), at.UTC(), names, url, id)
}
