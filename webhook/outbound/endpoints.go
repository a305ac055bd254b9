package outbound

import (
	"context"
	"time"

	"bellhop/crypto/seal"
	"bellhop/crypto/signature"
	"bellhop/internal/database"
	"bellhop/protocol"
)

const (
	// Overlap is how long the previous secret also signs after a rotation.
	Overlap = 24 * time.Hour

	maxTaskEndpoints = 20
)

// EndpointRequest registers an endpoint.
type EndpointRequest struct {
	ID     string // "" = a new id
	Kind   string
	URL    string
	Secret seal.Secret             // zero = one is generated
	Events []protocol.WebhookEvent // only for KindTask
	Format protocol.WebhookFormat  // only for KindTask
}

// Register stores a new endpoint. The Endpoint returned has its Secret, which must not be shown
// again later. It joins the caller's transaction.
func (s *Service) Register(ctx context.Context, ownerID string, r EndpointRequest) (*Endpoint, error) {
	e := &Endpoint{ID: r.ID, OwnerID: ownerID, Kind: r.Kind, URL: r.URL, Events: r.Events, Format: r.Format}
	e.CreatedAt = s.nowUTC()
	if e.ID == "" {
		e.ID = protocol.NewID()
	}
	var err error
	if err = s.checkURL(r.URL); err != nil {
		return nil, err
	}
	if err = checkFormat(r.Format, r.URL); err != nil {
		return nil, err
	}
	if e.Secret, err = usableSecret(r.Secret); err != nil {
		return nil, err
	}
	if r.Kind == KindTask {
		if e.Events, err = checkEvents(r.Events); err != nil {
			return nil, err
		}
	}
	err = s.store.Write(ctx, func(ctx context.Context) error {
		if r.Kind == KindTask {
			if err := s.checkTaskLimit(ctx, ownerID); err != nil {
				return err
			}
		}
		return s.store.CreateEndpoint(ctx, e)
	})
	if err != nil {
		return nil, err
	}
	return e, nil
}

// checkTaskLimit returns CodeConflict if the user already has maxTaskEndpoints endpoints for
// tasks.
func (s *Service) checkTaskLimit(ctx context.Context, ownerID string) error {
	have, err := s.store.Endpoints(ctx, ownerID, KindTask)
	if err != nil {
		return err
	}
	if len(have) >= maxTaskEndpoints {
		return &protocol.Error{
			Code: protocol.CodeConflict, Message: "There are too many webhooks", Hint: "Delete one that is not needed",
		}
	}
	return nil
}

// Redirect changes the URL and the secret of the endpoint r.ID, or creates it. A zero secret is
// generated; the previous one also signs for Overlap. The endpoint is enabled and its held
// deliveries are released. It joins the caller's transaction.
func (s *Service) Redirect(ctx context.Context, ownerID string, r EndpointRequest) (*Endpoint, error) {
	if err := s.checkURL(r.URL); err != nil {
		return nil, err
	}
	var err error
	if r.Secret, err = usableSecret(r.Secret); err != nil {
		return nil, err
	}
	var e *Endpoint
	err = s.store.Write(ctx, func(ctx context.Context) (err error) {
		found, err := s.store.EndpointsByID(ctx, []string{r.ID})
		if err != nil {
			return err
		}
		if found[r.ID] == nil {
			e, err = s.Register(ctx, ownerID, r)
			return err
		}
		e, err = s.store.UpdateEndpoint(ctx, ownerID, r.ID, func(e *Endpoint) error {
			e.URL, e.DisabledAt, e.DisabledReason = r.URL, nil, ""
			e.rotate(r.Secret, s.nowUTC(), Overlap)
			return nil
		})
		if err != nil {
			return err
		}
		database.AfterCommit(ctx, s.Wake)
		return s.store.Release(ctx, r.ID, s.nowUTC())
	})
	if err != nil {
		return nil, err
	}
	return e, nil
}

func usableSecret(secret seal.Secret) (seal.Secret, error) {
	if secret.IsZero() {
		return signature.Generate(), nil
	}
	_, err := signature.Parse(secret)
	return secret, err
}

// Endpoints lists a user's endpoints of a kind, without secrets.
func (s *Service) Endpoints(ctx context.Context, ownerID, kind string) ([]Endpoint, error) {
	return s.store.Endpoints(ctx, ownerID, kind)
}

// Remove deletes an endpoint and its deliveries. Before a transaction that calls it, call Clear.
func (s *Service) Remove(ctx context.Context, ownerID, kind, id string) error {
	return s.store.DeleteEndpoint(ctx, ownerID, kind, id)
}

// Clear deletes the deliveries of an endpoint, in transactions of its own, because there may be more than
// a statement can delete. Those before an error stay deleted, so a repetition continues.
func (s *Service) Clear(ctx context.Context, ownerID, kind, id string) error {
	return s.store.ClearEndpoint(ctx, ownerID, kind, id)
}

// Rotate replaces an endpoint's secret; a zero secret is generated. The old one also signs for
// Overlap. The Endpoint returned has the new secret, which must not be shown again later.
func (s *Service) Rotate(ctx context.Context, ownerID, kind, id string, secret seal.Secret) (*Endpoint, error) {
	secret, err := usableSecret(secret)
	if err != nil {
		return nil, err
	}
	return s.store.UpdateEndpoint(ctx, ownerID, id, func(e *Endpoint) error {
		if e.Kind != kind {
			return errNoEndpoint()
		}
		e.rotate(secret, s.nowUTC(), Overlap)
		return nil
	})
}

// Disable stops deliveries to an endpoint: requests in flight finish, other deliveries are held
// until Enable or their expiry. It joins the caller's transaction.
func (s *Service) Disable(ctx context.Context, ownerID, id, reason string) error {
	return s.store.Write(ctx, func(ctx context.Context) error {
		if _, err := disable(ctx, s.store, ownerID, id, reason, s.nowUTC()); err != nil {
			return err
		}
		return s.store.Hold(ctx, id)
	})
}

func disable(ctx context.Context, store Store, ownerID, id, reason string, now time.Time) (*Endpoint, error) {
	return store.UpdateEndpoint(ctx, ownerID, id, func(e *Endpoint) error {
		if !e.Disabled() {
			e.DisabledAt, e.DisabledReason = &now, reason
		}
		return nil
	})
}

// Enable releases the held deliveries of an endpoint. An endpoint of another kind is
// CodeNotFound. It joins the caller's transaction.
func (s *Service) Enable(ctx context.Context, ownerID, kind, id string) error {
	return s.store.Write(ctx, func(ctx context.Context) error {
		_, err := s.store.UpdateEndpoint(ctx, ownerID, id, func(e *Endpoint) error {
			if e.Kind != kind {
				return errNoEndpoint()
			}
			e.DisabledAt, e.DisabledReason = nil, ""
			return nil
		})
		if err != nil {
			return err
		}
		database.AfterCommit(ctx, s.Wake)
		return s.store.Release(ctx, id, s.nowUTC())
	})
}

func errNoEndpoint() error { return protocol.Errorf(protocol.CodeNotFound, "Webhook not found") }
