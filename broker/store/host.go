package store

import (
	"context"
	"errors"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"bellhop/broker"
	"bellhop/crypto/seal"
	"bellhop/internal/database"
	"bellhop/protocol"
)

type hostRow struct {
	ID               string
	Name             string
	URL              string `gorm:"column:url"`
	Password         []byte
	PreviousPassword []byte
	PreviousUntil    *time.Time
	Health           string
	Reach            string
	CheckedAt        *time.Time
	CreatedAt        time.Time
	OpenTurns        int `gorm:"->;-:migration"`
}

func (hostRow) TableName() string { return "hosts" }

func (s *Store) hostRow(h *broker.Host) (*hostRow, error) {
	password, err := s.seal("hosts", "password", h.ID, h.Password)
	if err != nil {
		return nil, err
	}
	previous, err := s.seal("hosts", "previous_password", h.ID, h.PreviousPassword)
	if err != nil {
		return nil, err
	}
	return &hostRow{
		ID: h.ID, Name: h.Name, URL: h.URL, Password: password, PreviousPassword: previous,
		PreviousUntil: utc(h.PreviousUntil), Health: string(h.Health), Reach: string(h.Reach), CheckedAt: utc(h.CheckedAt), CreatedAt: h.CreatedAt.UTC(),
	}, nil
}

// sealed is the host without its passwords.
func (r *hostRow) sealed() *broker.Host {
	return &broker.Host{
		ID: r.ID, Name: r.Name, URL: r.URL, PreviousUntil: utc(r.PreviousUntil), Health: broker.HostHealth(r.Health), Reach: protocol.Reach(r.Reach),
		CheckedAt: utc(r.CheckedAt), OpenTurns: r.OpenTurns, CreatedAt: r.CreatedAt.UTC(),
	}
}

func (s *Store) host(r *hostRow) (*broker.Host, error) {
	h := r.sealed()
	var err error
	if h.Password, err = s.open("hosts", "password", r.ID, r.Password); err != nil {
		return nil, err
	}
	h.PreviousPassword, err = s.open("hosts", "previous_password", r.ID, r.PreviousPassword)
	return h, err
}

// CreateHost implements broker.HostStore.
func (s *Store) CreateHost(ctx context.Context, h *broker.Host) error {
	row, err := s.hostRow(h)
	if err != nil {
		return err
	}
	_, err = s.exec(ctx, "Host", h.ID, func(db *gorm.DB) *gorm.DB { return db.Create(row) })
	return err
}

const hostColumns = `hosts.*, (SELECT count(*) FROM turns JOIN tasks ON tasks.id = turns.task_id
	WHERE tasks.host_id = hosts.id AND tasks.deleted_at IS NULL AND turns.state <> 'closed') AS open_turns`

// Host implements broker.HostStore.
func (s *Store) Host(ctx context.Context, id string) (*broker.Host, error) {
	row, err := s.findHost(ctx, id, false)
	if err != nil {
		return nil, err
	}
	return s.host(row)
}

func (s *Store) findHost(ctx context.Context, id string, lock bool) (*hostRow, error) {
	var row hostRow
	query := s.conn(ctx).Where("id = ?", id)
	if lock && s.postgres() {
		query = query.Clauses(clause.Locking{Strength: "UPDATE"})
	} else {
		query = query.Select(hostColumns)
	}
	if err := query.Take(&row).Error; err != nil {
		return nil, database.Fault(err, "Host", id)
	}
	return &row, nil
}

// Hosts implements broker.HostStore; by name.
func (s *Store) Hosts(ctx context.Context) ([]broker.Host, error) {
	var rows []hostRow
	if err := s.conn(ctx).Select(hostColumns).Order("name").Find(&rows).Error; err != nil {
		return nil, database.Fault(err, "Hosts", "")
	}
	hosts := make([]broker.Host, len(rows))
	for i := range rows {
		hosts[i] = *rows[i].sealed()
	}
	return hosts, nil
}

// UpdateHost implements broker.HostStore. A password that does not open is
// empty here, so that it can be replaced.
func (s *Store) UpdateHost(ctx context.Context, id string, change func(*broker.Host) error) (*broker.Host, error) {
	var host *broker.Host
	err := s.db.Write(ctx, func(ctx context.Context) error {
		row, err := s.findHost(ctx, id, true)
		if err != nil {
			return err
		}
		if host, err = s.host(row); errors.Is(err, seal.ErrCiphertext) {
			host = row.sealed()
		} else if err != nil {
			return err
		}
		if err := change(host); err != nil {
			return err
		}
		if row, err = s.hostRow(host); err != nil {
			return err
		}
		err = s.conn(ctx).Model(&hostRow{}).Where("id = ?", id).
			Select("name", "url", "password", "previous_password", "previous_until", "health", "reach").Updates(row).Error
		return database.Fault(err, "Host", id)
	})
	if err != nil {
		return nil, err
	}
	return host, nil
}

// DeleteHost implements broker.HostStore.
func (s *Store) DeleteHost(ctx context.Context, id string) error {
	err := s.must(ctx, "Host", id, func(db *gorm.DB) *gorm.DB { return db.Where("id = ?", id).Delete(&hostRow{}) })
	if errors.Is(err, gorm.ErrForeignKeyViolated) {
		return &protocol.Error{
			Code: protocol.CodeConflict, Message: "Tasks use this host", Hint: "move or delete them first", Err: err,
		}
	}
	return err
}

// SetHostHealth implements broker.HostStore.
func (s *Store) SetHostHealth(ctx context.Context, id string, health broker.HostHealth, at time.Time) error {
	return s.must(ctx, "Host", id, func(db *gorm.DB) *gorm.DB {
		return db.Model(&hostRow{}).Where("id = ?", id).Updates(map[string]any{"health": string(health), "checked_at": at.UTC()})
	})
}
