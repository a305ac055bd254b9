package outbound

import (
	"context"
	"strconv"
	"time"

	"bellhop/internal/database"
	"bellhop/protocol"
)

const (
	defaultLimit = 50
	maxLimit     = 200
	retryPause   = time.Second // minimum time between attempts, however often Retry is called
)

// List returns a user's deliveries, newest first, with their attempts; more reports that older
// ones exist. Limit is 50 unless given, and at most 200.
func (s *Service) List(ctx context.Context, f Filter) (list []Delivery, more bool, err error) {
	switch f.State {
	case "", Queued, Held, Delivered, Failed, Expired:
	default:
		return nil, false, protocol.Errorf(protocol.CodeInvalid,
			"state must be one of queued, held, delivered, failed, expired")
	}
	if f.Limit <= 0 {
		f.Limit = defaultLimit
	}
	limit := min(f.Limit, maxLimit)
	f.Limit = limit + 1
	if list, err = s.store.Deliveries(ctx, f); len(list) > limit {
		list, more = list[:limit], true
	}
	return list, more, err
}

// Progress returns the open deliveries of some messages to an endpoint, by message.
func (s *Service) Progress(
	ctx context.Context, ownerID, endpointID string, messageIDs []string,
) (map[string]*Delivery, error) {
	list, err := s.store.Deliveries(ctx, Filter{
		OwnerID: ownerID, EndpointID: endpointID, MessageIDs: messageIDs, Limit: len(messageIDs),
	})
	open := map[string]*Delivery{}
	for i := range list {
		if list[i].State == Queued || list[i].State == Held {
			open[list[i].MessageID] = &list[i]
		}
	}
	return open, err
}

// LastError returns the status or the Fault of the last attempt, "" before the first.
func (d *Delivery) LastError() string {
	if len(d.Log) == 0 {
		return ""
	}
	last := d.Log[len(d.Log)-1]
	if last.Error == "" && last.Status != 0 {
		return "status " + strconv.Itoa(last.Status)
	}
	return last.Error
}

// Retry makes a delivery due now, whatever its schedule. A failed or expired one gets a new
// Lifetime; one in flight is left unchanged. Two attempts never begin within a second, so
// repeated calls send once. It returns CodeConflict if the delivery was delivered or its
// endpoint is disabled.
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
	now := s.nowUTC()
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
