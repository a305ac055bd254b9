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
	// Overlap is how long the previous secret signs too.
	Overlap = 24 * time.Hour

	maxTaskEndpoints = 20
)

// EndpointRequest registers an endpoint.
type EndpointRequest struct {
	ID     string // "" = a new one
	Kind   string
	URL    string
	Secret seal.Secret // zero = one is made
	Events []string    // of KindTask
}

// Register saves a new endpoint; its Secret may be shown this once. It joins
// the caller's transaction.
func (s *Service) Register(ctx context.Context, ownerID string, r EndpointRequest) (*Endpoint, error) {
	e := &Endpoint{ID: r.ID, OwnerID: ownerID, Kind: r.Kind, URL: r.URL, Events: r.Events, CreatedAt: s.at()}
	if e.ID == "" {
		e.ID = protocol.NewID()
	}
	var err error
	if err = s.checkURL(r.URL); err != nil {
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
			if err := s.room(ctx, ownerID); err != nil {
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

func (s *Service) room(ctx context.Context, ownerID string) error {
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

// Redirect gives an endpoint, found by id, another URL and another secret, made
// if zero; the previous one signs too for Overlap. It enables the endpoint,
// releases what was held, and makes an endpoint that does not exist. It joins
// the caller's transaction.
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
			e.rotate(r.Secret, s.at(), Overlap)
			return nil
		})
		if err != nil {
			return err
		}
		database.AfterCommit(ctx, s.Wake)
		return s.store.Release(ctx, r.ID, s.at())
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

// Remove deletes an endpoint and what was to be sent to it.
func (s *Service) Remove(ctx context.Context, ownerID, kind, id string) error {
	return s.store.DeleteEndpoint(ctx, ownerID, kind, id)
}

// Rotate gives an endpoint another secret, made if zero; the old one signs too
// for Overlap. The Endpoint returned shows the new one, this once.
func (s *Service) Rotate(ctx context.Context, ownerID, kind, id string, secret seal.Secret) (*Endpoint, error) {
	secret, err := usableSecret(secret)
	if err != nil {
		return nil, err
	}
	return s.store.UpdateEndpoint(ctx, ownerID, id, func(e *Endpoint) error {
		if e.Kind != kind {
			return errNoEndpoint()
		}
		e.rotate(secret, s.at(), Overlap)
		return nil
	})
}

// Disable stops deliveries to an endpoint: those under way end, the others are
// held until Enable or their expiry. It joins the caller's transaction.
func (s *Service) Disable(ctx context.Context, ownerID, id, reason string) error {
	return s.store.Write(ctx, func(ctx context.Context) error {
		if _, err := disable(ctx, s.store, ownerID, id, reason, s.at()); err != nil {
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

// Enable releases what was held for an endpoint of a kind. It joins the caller's
// transaction.
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
		return s.store.Release(ctx, id, s.at())
	})
}

func errNoEndpoint() error { return protocol.Errorf(protocol.CodeNotFound, "Webhook not found") }
