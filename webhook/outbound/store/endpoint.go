package store

import (
	"context"
	"errors"
	"time"

	"bellhop/crypto/seal"
	"bellhop/internal/database"
	"bellhop/internal/table"
	"bellhop/protocol"
	"bellhop/webhook/outbound"
)

const endpointTable = "webhook_endpoints"

// sealedEndpoint is an endpoint with its secrets as they are stored.
type sealedEndpoint struct {
	outbound.Endpoint
	host                   string
	secret, previousSecret []byte
}

var endpoints = table.New(endpointTable,
	table.Text("id", func(e *sealedEndpoint) *string { return &e.ID }).Key(),
	table.Text("user_id", func(e *sealedEndpoint) *string { return &e.OwnerID }).Fixed(),
	table.Text("kind", func(e *sealedEndpoint) *string { return &e.Kind }).Fixed(),
	table.Text("url", func(e *sealedEndpoint) *string { return &e.URL }),
	table.Text("host", func(e *sealedEndpoint) *string { return &e.host }),
	table.Bytes("secret", func(e *sealedEndpoint) *[]byte { return &e.secret }),
	table.Bytes("previous_secret", func(e *sealedEndpoint) *[]byte { return &e.previousSecret }),
	table.OptionalTime("previous_until", func(e *sealedEndpoint) **time.Time { return &e.PreviousUntil }),
	table.JSONList("events", "[]", func(e *sealedEndpoint) *[]protocol.WebhookEvent { return &e.Events }),
	table.Text("format", func(e *sealedEndpoint) *protocol.WebhookFormat { return &e.Format }),
	table.Text("credential", func(e *sealedEndpoint) *string { return &e.Credential }),
	table.Text("label", func(e *sealedEndpoint) *string { return &e.Label }),
	table.OptionalTime("succeeded_at", func(e *sealedEndpoint) **time.Time { return &e.SucceededAt }),
	table.OptionalTime("disabled_at", func(e *sealedEndpoint) **time.Time { return &e.DisabledAt }),
	table.Text("disabled_reason", func(e *sealedEndpoint) *string { return &e.DisabledReason }),
	table.Time("created_at", func(e *sealedEndpoint) *time.Time { return &e.CreatedAt }).Fixed(),
)

func (s *Store) sealEndpoint(e *outbound.Endpoint) (*sealedEndpoint, error) {
	sealed := &sealedEndpoint{Endpoint: *e, host: e.Host()}
	var err error
	if sealed.secret, err = s.seal("secret", e.ID, e.Secret); err != nil {
		return nil, err
	}
	sealed.previousSecret, err = s.seal("previous_secret", e.ID, e.PreviousSecret)
	return sealed, err
}

// openEndpoint returns the endpoint even if one of its secrets cannot be opened.
func (s *Store) openEndpoint(sealed *sealedEndpoint) (*outbound.Endpoint, error) {
	e := sealed.Endpoint
	var err error
	if e.Secret, err = s.open("secret", e.ID, sealed.secret); err != nil {
		return &e, err
	}
	e.PreviousSecret, err = s.open("previous_secret", e.ID, sealed.previousSecret)
	return &e, err
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

func (s *Store) CreateEndpoint(ctx context.Context, e *outbound.Endpoint) error {
	sealed, err := s.sealEndpoint(e)
	if err != nil {
		return err
	}
	return s.db.Run(ctx, "Webhook", e.ID, endpoints.Insert(*sealed))
}

func (s *Store) findEndpoint(ctx context.Context, ownerID, id, lock string) (*sealedEndpoint, error) {
	where, args := "WHERE id = ?", []any{id}
	if ownerID != "" {
		where, args = where+" AND user_id = ?", append(args, ownerID)
	}
	return database.FindOne(ctx, s.db, endpoints, "Webhook", id, where+lock, args...)
}

func (s *Store) Endpoint(ctx context.Context, ownerID, id string) (*outbound.Endpoint, error) {
	sealed, err := s.findEndpoint(ctx, ownerID, id, "")
	if err != nil {
		return nil, err
	}
	return s.openEndpoint(sealed)
}

func (s *Store) EndpointsByID(ctx context.Context, ids []string) (map[string]*outbound.Endpoint, error) {
	sealed, err := database.Find(ctx, s.db, endpoints, "Webhooks", "", "WHERE id IN ?", ids)
	if err != nil {
		return nil, err
	}
	found := make(map[string]*outbound.Endpoint, len(sealed))
	for i := range sealed {
		e, err := s.openEndpoint(&sealed[i])
		// The endpoint is returned without its secret; its deliveries are retried later.
		if errors.Is(err, seal.ErrCiphertext) {
			e.Secret = seal.Secret{}
		} else if err != nil {
			return nil, err
		}
		found[e.ID] = e
	}
	return found, nil
}

func (s *Store) Endpoints(ctx context.Context, ownerID, kind string) ([]outbound.Endpoint, error) {
	return s.listEndpoints(ctx, "WHERE user_id = ? AND kind = ? ORDER BY id", ownerID, kind)
}

func (s *Store) listEndpoints(ctx context.Context, where string, args ...any) ([]outbound.Endpoint, error) {
	found, err := database.Find(ctx, s.db, endpoints, "Webhooks", "", where, args...)
	if err != nil {
		return nil, err
	}
	list := make([]outbound.Endpoint, len(found))
	for i := range found {
		list[i] = found[i].Endpoint
	}
	return list, nil
}

func (s *Store) EndedBrowsers(ctx context.Context, limit int) ([]outbound.Endpoint, error) {
	return s.listEndpoints(ctx, "WHERE kind = 'browser' AND disabled_at IS NOT NULL ORDER BY id LIMIT ?", limit)
}

// UpdateEndpoint implements outbound.EndpointStore. A secret that cannot be opened is empty
// when change is called. If change leaves it empty, the stored secrets stay as they are.
func (s *Store) UpdateEndpoint(
	ctx context.Context, ownerID, id string, change func(*outbound.Endpoint) error,
) (*outbound.Endpoint, error) {
	var e *outbound.Endpoint
	err := s.db.Write(ctx, func(ctx context.Context) error {
		before, err := s.findEndpoint(ctx, ownerID, id, s.lock("FOR NO KEY UPDATE"))
		if err != nil {
			return err
		}
		if e, err = s.openEndpoint(before); err != nil && !errors.Is(err, seal.ErrCiphertext) {
			return err
		}
		if err := change(e); err != nil {
			return err
		}
		after, err := s.sealEndpoint(e)
		if err != nil {
			return err
		}
		if after.secret == nil {
			after.secret, after.previousSecret = before.secret, before.previousSecret
		}
		if err := s.db.Run(ctx, "Webhook", id, endpoints.Update(after)); err != nil || before.host == after.host {
			return err
		}
		_, err = s.db.Exec(ctx, "Deliveries of webhook", id,
			`UPDATE deliveries SET host = ? WHERE endpoint_id = ? AND finished_at IS NULL`, after.host, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	return e, nil
}

// deliveriesAtOnce is how many deliveries, with their attempts, a statement deletes.
const deliveriesAtOnce = 1000

func (s *Store) ClearEndpoint(ctx context.Context, ownerID, kind, id string) error {
	e, err := s.findEndpoint(ctx, ownerID, id, "")
	if err != nil || e.OwnerID != ownerID || e.Kind != kind {
		return err
	}
	_, err = s.db.DeleteChunks(ctx, "Deliveries of webhook", id, database.Chunks{
		Table: "deliveries", Key: "message_id", Where: "endpoint_id = ?", Args: []any{id}, Rows: deliveriesAtOnce,
	})
	return err
}

// DeleteEndpoint implements outbound.EndpointStore. A foreign key deletes the deliveries that were added
// since ClearEndpoint.
func (s *Store) DeleteEndpoint(ctx context.Context, ownerID, kind, id string) error {
	if err := s.ClearEndpoint(ctx, ownerID, kind, id); err != nil {
		return err
	}
	return s.db.ExecOne(ctx, "Webhook", id,
		`DELETE FROM webhook_endpoints WHERE id = ? AND user_id = ? AND kind = ?`, id, ownerID, kind)
}

func (s *Store) Hold(ctx context.Context, endpointID string) error {
	_, err := s.db.Exec(ctx, "Deliveries of webhook", endpointID,
		`UPDATE deliveries SET state = 'held', reason = ? WHERE endpoint_id = ? AND finished_at IS NULL AND state = 'queued' AND lease = ''`,
		outbound.ReasonDisabled, endpointID)
	return err
}

func (s *Store) Release(ctx context.Context, endpointID string, now time.Time) error {
	_, err := s.db.Exec(ctx, "Deliveries of webhook", endpointID,
		`UPDATE deliveries SET state = 'queued', reason = '', next_at = ? WHERE endpoint_id = ? AND finished_at IS NULL AND state = 'held'`,
		now.UTC(), endpointID)
	return err
}
