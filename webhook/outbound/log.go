package outbound

import (
	"context"
	"time"

	"bellhop/internal/database"
	"bellhop/protocol"
)

const (
	usualLimit = 50
	maxLimit   = 200
	retryPause = time.Second // between attempts, however often Retry is called
)

// List returns a user's deliveries, newest first, with their attempts; more says
// that there are older ones. Limit is 50 unless given, and at most 200.
func (s *Service) List(ctx context.Context, f Filter) (list []Delivery, more bool, err error) {
	switch f.State {
	case "", Queued, Held, Delivered, Failed, Expired:
	default:
		return nil, false, protocol.Errorf(protocol.CodeInvalid, "state must be one of queued, held, delivered, failed, expired")
	}
	if f.Limit <= 0 {
		f.Limit = usualLimit
	}
	limit := min(f.Limit, maxLimit)
	f.Limit = limit + 1
	if list, err = s.store.Deliveries(ctx, f); len(list) > limit {
		list, more = list[:limit], true
	}
	return list, more, err
}

// Retry makes a delivery due now, whatever its schedule; a failed or expired one
// lives again for Lifetime. One that is in flight stays as it is, and no two
// attempts begin within a second, so that repeating it sends once. It is
// CodeConflict for a delivered one and where the endpoint is disabled.
func (s *Service) Retry(ctx context.Context, ownerID, id string) (*Delivery, error) {
	err := s.store.Write(ctx, func(ctx context.Context) error {
		d, err := s.store.LockDelivery(ctx, ownerID, id)
		if err != nil {
			return err
		}
		if d.State == Delivered {
			return protocol.Errorf(protocol.CodeConflict, "This was delivered already")
		}
		if d.InFlight() {
			return nil
		}
		found, err := s.store.EndpointsByID(ctx, []string{d.EndpointID})
		if err != nil {
			return err
		}
		if e := found[d.EndpointID]; e == nil || e.Disabled() {
			return &protocol.Error{
				Code: protocol.CodeConflict, Message: "The webhook is disabled", Hint: "Register or enable it again first",
			}
		}
		s.reopen(d)
		database.AfterCommit(ctx, s.Wake)
		return s.store.Reopen(ctx, d)
	})
	if err != nil {
		return nil, err
	}
	return s.store.Delivery(ctx, ownerID, id)
}

func (s *Service) reopen(d *Delivery) {
	now := s.at()
	due := now
	if d.AttemptedAt != nil && now.Before(d.AttemptedAt.Add(retryPause)) {
		due = d.AttemptedAt.Add(retryPause)
	}
	if d.State != Queued || due.Before(d.NextAt) {
		d.NextAt = due
	}
	if d.State == Failed || d.State == Expired {
		d.ExpiresAt = now.Add(Lifetime)
	}
	d.State, d.Reason = Queued, ""
}
