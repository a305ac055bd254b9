package store

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"gorm.io/gorm"

	"bellhop/crypto/seal"
	"bellhop/internal/database"
	"bellhop/webhook/outbound"
)

const endpointTable = "webhook_endpoints"

type endpointRow struct {
	ID             string
	UserID         string
	Kind           string
	URL            string `gorm:"column:url"`
	Host           string
	Secret         []byte
	PreviousSecret []byte
	PreviousUntil  *time.Time
	Events         string
	DisabledAt     *time.Time
	DisabledReason string
	CreatedAt      time.Time
}

func (endpointRow) TableName() string { return endpointTable }

func (s *Store) endpointRow(e *outbound.Endpoint) (*endpointRow, error) {
	secret, err := s.seal("secret", e.ID, e.Secret)
	if err != nil {
		return nil, err
	}
	previous, err := s.seal("previous_secret", e.ID, e.PreviousSecret)
	if err != nil {
		return nil, err
	}
	events := e.Events
	if events == nil {
		events = []string{}
	}
	list, err := json.Marshal(events)
	if err != nil {
		return nil, err
	}
	return &endpointRow{
		ID: e.ID, UserID: e.OwnerID, Kind: e.Kind, URL: e.URL, Host: e.Host(), Secret: secret, PreviousSecret: previous,
		PreviousUntil: utc(e.PreviousUntil), Events: string(list), DisabledAt: utc(e.DisabledAt),
		DisabledReason: e.DisabledReason, CreatedAt: e.CreatedAt.UTC(),
	}, nil
}

// sealed is the endpoint without its secrets.
func (r *endpointRow) sealed() (*outbound.Endpoint, error) {
	e := &outbound.Endpoint{
		ID: r.ID, OwnerID: r.UserID, Kind: r.Kind, URL: r.URL, PreviousUntil: utc(r.PreviousUntil),
		DisabledAt: utc(r.DisabledAt), DisabledReason: r.DisabledReason, CreatedAt: r.CreatedAt.UTC(),
	}
	return e, json.Unmarshal([]byte(r.Events), &e.Events)
}

func (s *Store) endpoint(r *endpointRow) (*outbound.Endpoint, error) {
	e, err := r.sealed()
	if err != nil {
		return nil, err
	}
	if e.Secret, err = s.open("secret", r.ID, r.Secret); err != nil {
		return e, err
	}
	e.PreviousSecret, err = s.open("previous_secret", r.ID, r.PreviousSecret)
	return e, err
}

func (s *Store) seal(column, id string, secret seal.Secret) ([]byte, error) {
	if secret.IsZero() {
		return nil, nil
	}
	return s.sealer.Seal(endpointTable, column, id, []byte(secret.Reveal()))
}

func (s *Store) open(column, id string, sealed []byte) (seal.Secret, error) {
	if sealed == nil {
		return seal.Secret{}, nil
	}
	plain, err := s.sealer.Open(endpointTable, column, id, sealed)
	if err != nil {
		return seal.Secret{}, err
	}
	return seal.NewSecret(string(plain)), nil
}

// CreateEndpoint implements outbound.EndpointStore.
func (s *Store) CreateEndpoint(ctx context.Context, e *outbound.Endpoint) error {
	row, err := s.endpointRow(e)
	if err != nil {
		return err
	}
	return s.db.Write(ctx, func(ctx context.Context) error {
		return database.Fault(s.conn(ctx).Create(row).Error, "Webhook", e.ID)
	})
}

func (s *Store) findEndpoint(ctx context.Context, ownerID, id, lock string) (*endpointRow, error) {
	var row endpointRow
	sql, args := `SELECT * FROM webhook_endpoints WHERE id = ?`, []any{id}
	if ownerID != "" {
		sql, args = sql+` AND user_id = ?`, append(args, ownerID)
	}
	result := s.conn(ctx).Raw(sql+lock, args...).Scan(&row)
	if result.Error == nil && result.RowsAffected == 0 {
		result.Error = gorm.ErrRecordNotFound
	}
	return &row, database.Fault(result.Error, "Webhook", id)
}

// Endpoint implements outbound.EndpointStore.
func (s *Store) Endpoint(ctx context.Context, ownerID, id string) (*outbound.Endpoint, error) {
	row, err := s.findEndpoint(ctx, ownerID, id, "")
	if err != nil {
		return nil, err
	}
	return s.endpoint(row)
}

// EndpointsByID implements outbound.EndpointStore.
func (s *Store) EndpointsByID(ctx context.Context, ids []string) (map[string]*outbound.Endpoint, error) {
	var rows []endpointRow
	if err := s.conn(ctx).Raw(`SELECT * FROM webhook_endpoints WHERE id IN ?`, ids).Scan(&rows).Error; err != nil {
		return nil, database.Fault(err, "Webhooks", "")
	}
	found := make(map[string]*outbound.Endpoint, len(rows))
	for i := range rows {
		e, err := s.endpoint(&rows[i])
		if errors.Is(err, seal.ErrCiphertext) {
			e.Secret = seal.Secret{}
		} else if err != nil {
			return nil, err
		}
		found[e.ID] = e
	}
	return found, nil
}

// Endpoints implements outbound.EndpointStore.
func (s *Store) Endpoints(ctx context.Context, ownerID, kind string) ([]outbound.Endpoint, error) {
	var rows []endpointRow
	err := s.conn(ctx).Raw(`SELECT * FROM webhook_endpoints WHERE user_id = ? AND kind = ? ORDER BY id`, ownerID, kind).Scan(&rows).Error
	if err != nil {
		return nil, database.Fault(err, "Webhooks", "")
	}
	list := make([]outbound.Endpoint, len(rows))
	for i := range rows {
		e, err := rows[i].sealed()
		if err != nil {
			return nil, err
		}
		list[i] = *e
	}
	return list, nil
}

// UpdateEndpoint implements outbound.EndpointStore. A secret that does not open
// is empty here, so that it can be replaced; it stays if it is not.
func (s *Store) UpdateEndpoint(
	ctx context.Context, ownerID, id string, change func(*outbound.Endpoint) error,
) (*outbound.Endpoint, error) {
	var e *outbound.Endpoint
	err := s.db.Write(ctx, func(ctx context.Context) error {
		before, err := s.findEndpoint(ctx, ownerID, id, s.lock("FOR NO KEY UPDATE"))
		if err != nil {
			return err
		}
		if e, err = s.endpoint(before); err != nil && !errors.Is(err, seal.ErrCiphertext) {
			return err
		}
		if err := change(e); err != nil {
			return err
		}
		after, err := s.endpointRow(e)
		if err != nil {
			return err
		}
		if after.Secret == nil {
			after.Secret, after.PreviousSecret = before.Secret, before.PreviousSecret
		}
		err = s.conn(ctx).Model(&endpointRow{}).Where("id = ?", id).Select("url", "host", "secret", "previous_secret",
			"previous_until", "events", "disabled_at", "disabled_reason").Updates(after).Error
		if err != nil || before.Host == after.Host {
			return database.Fault(err, "Webhook", id)
		}
		_, err = s.exec(ctx, "Deliveries of webhook", id,
			`UPDATE deliveries SET host = ? WHERE endpoint_id = ? AND finished_at IS NULL`, after.Host, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	return e, nil
}

// DeleteEndpoint implements outbound.EndpointStore.
func (s *Store) DeleteEndpoint(ctx context.Context, ownerID, kind, id string) error {
	rows, err := s.exec(ctx, "Webhook", id,
		`DELETE FROM webhook_endpoints WHERE id = ? AND user_id = ? AND kind = ?`, id, ownerID, kind)
	if err == nil && rows == 0 {
		return database.Fault(gorm.ErrRecordNotFound, "Webhook", id)
	}
	return err
}

// Hold implements outbound.EndpointStore.
func (s *Store) Hold(ctx context.Context, endpointID string) error {
	_, err := s.exec(ctx, "Deliveries of webhook", endpointID,
		`UPDATE deliveries SET state = 'held', reason = ? WHERE endpoint_id = ? AND finished_at IS NULL AND state = 'queued' AND lease = ''`,
		outbound.ReasonDisabled, endpointID)
	return err
}

// Release implements outbound.EndpointStore.
func (s *Store) Release(ctx context.Context, endpointID string, now time.Time) error {
	_, err := s.exec(ctx, "Deliveries of webhook", endpointID,
		`UPDATE deliveries SET state = 'queued', reason = '', next_at = ? WHERE endpoint_id = ? AND finished_at IS NULL AND state = 'held'`,
		now.UTC(), endpointID)
	return err
}

func utc(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	u := t.UTC()
	return &u
}
