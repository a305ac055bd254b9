package outbound

import (
	"context"
	"log/slog"
	"time"

	"bellhop/internal/database"
	"bellhop/protocol"
)

// Options of New. All but Log are required.
type Options struct {
	Store Store
	// CheckURL validates an endpoint's URL when it is saved; netguard.Guard has it.
	// WorkerOptions.Client must use the same guard.
	CheckURL func(url string) error
	Now      func() time.Time
	Log      *slog.Logger
}

// Service has the use cases of endpoints and deliveries.
type Service struct {
	store    Store
	checkURL func(string) error
	now      func() time.Time
	log      *slog.Logger
	wake     chan struct{}
}

// New returns the use cases; a Worker does the sending.
func New(o Options) *Service {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Service{store: o.Store, checkURL: o.CheckURL, now: o.Now, log: o.Log, wake: make(chan struct{}, 1)}
}

// Wake makes this process's worker look for due deliveries at once.
func (s *Service) Wake() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// nowUTC returns the time with the precision that the database keeps.
func (s *Service) nowUTC() time.Time { return s.now().UTC().Truncate(time.Microsecond) }

// Enqueue joins the caller's transaction, so that the delivery is committed with the change it
// reports. It returns the delivery's id, "" if the endpoint already has this message.
func (s *Service) Enqueue(ctx context.Context, job Job) (id string, err error) {
	err = s.store.Write(ctx, func(ctx context.Context) error {
		found, err := s.store.EndpointsByID(ctx, []string{job.EndpointID})
		if err != nil {
			return err
		}
		e := found[job.EndpointID]
		if e == nil {
			return protocol.Errorf(protocol.CodeNotFound, "Webhook endpoint not found")
		}
		id, err = s.enqueue(ctx, e, job)
		return err
	})
	return id, err
}

func (s *Service) enqueue(ctx context.Context, e *Endpoint, job Job) (string, error) {
	now := s.nowUTC()
	d := &Delivery{
		ID: protocol.NewID(), EndpointID: e.ID, UserID: e.OwnerID, Kind: e.Kind, Host: e.Host(), MessageID: job.MessageID,
		Event: job.Event, OrderKey: job.OrderKey, Body: job.Body, State: Queued, NextAt: now, CreatedAt: now,
		ExpiresAt: job.ExpiresAt.UTC().Truncate(time.Microsecond),
	}
	if job.ExpiresAt.IsZero() {
		d.ExpiresAt = now.Add(Lifetime)
	}
	if e.Disabled() {
		d.State, d.Reason = Held, ReasonDisabled
	}
	inserted, err := s.store.Insert(ctx, d)
	if err != nil || !inserted {
		return "", err
	}
	database.AfterCommit(ctx, s.Wake)
	return d.ID, nil
}
