package outbound

import (
	"context"
	"log/slog"
	"net/url"
	"time"

	"bellhop/internal/database"
	"bellhop/protocol"
)

// Options of New. All but Log are required.
type Options struct {
	Store Store
	// CheckURL validates an endpoint's URL when it is saved: netguard.Guard.CheckURL.
	// WorkerOptions.Client must use the same guard.
	CheckURL func(url string) error
	// Console is the console's URL, for links in messages to people; "" = no links.
	Console string
	Now     func() time.Time
	Held    func() time.Time // by which deliveries are given up and removed; nil = Now
	Log     *slog.Logger
}

// Service has the use cases of endpoints and deliveries.
type Service struct {
	store    Store
	checkURL func(string) error
	console  string
	now      func() time.Time
	held     func() time.Time
	log      *slog.Logger
	wake     chan struct{}
}

// New returns the use cases; a Worker does the sending.
func New(o Options) *Service {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Held == nil {
		o.Held = o.Now
	}
	return &Service{
		store: o.Store, checkURL: o.CheckURL, console: o.Console, now: o.Now, held: o.Held, log: o.Log,
		wake: make(chan struct{}, 1),
	}
}

// linkTo returns the page of an event's task or source.
func (s *Service) linkTo(event *TaskEvent) string {
	summary, err := event.Summary()
	switch {
	case s.console == "" || err != nil:
		return ""
	case event.TaskID != "":
		return s.console + "/tasks/" + url.PathEscape(event.TaskID)
	default:
		return s.console + "/sources/" + url.PathEscape(summary.SourceID)
	}
}

// Wake makes this process's worker look for due deliveries at once.
func (s *Service) Wake() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Backlog counts the open deliveries of all users.
func (s *Service) Backlog(ctx context.Context) (Backlog, error) { return s.store.Backlog(ctx) }

// nowUTC returns the time with the precision that the database keeps.
func (s *Service) nowUTC() time.Time { return s.now().UTC().Truncate(time.Microsecond) }

// heldUTC is nowUTC for what is given up or removed for ever.
func (s *Service) heldUTC() time.Time { return s.held().UTC().Truncate(time.Microsecond) }

// Enqueue stores a delivery of the message. It joins the caller's transaction, so that the
// delivery is committed with the change that it reports. It returns the delivery's id, "" if the
// endpoint already has this message.
func (s *Service) Enqueue(ctx context.Context, m Message) (id string, err error) {
	err = s.store.Write(ctx, func(ctx context.Context) error {
		found, err := s.store.EndpointsByID(ctx, []string{m.EndpointID})
		if err != nil {
			return err
		}
		e := found[m.EndpointID]
		if e == nil {
			return protocol.Errorf(protocol.CodeNotFound, "Webhook endpoint not found")
		}
		id, err = s.enqueue(ctx, e, m)
		return err
	})
	return id, err
}

func (s *Service) enqueue(ctx context.Context, e *Endpoint, m Message) (string, error) {
	now := s.nowUTC()
	d := &Delivery{
		ID: protocol.NewID(), EndpointID: e.ID, UserID: e.OwnerID, Kind: e.Kind, Host: e.Host(), MessageID: m.MessageID,
		Event: m.Event, OrderKey: m.OrderKey, Body: m.Body, State: Queued, NextAt: now, CreatedAt: now,
		ExpiresAt: m.ExpiresAt.UTC().Truncate(time.Microsecond),
	}
	if m.ExpiresAt.IsZero() {
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
