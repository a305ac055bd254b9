package api

import (
	"context"
	"time"

	"bellhop/protocol"
	"bellhop/webhook/outbound"
)

// delivery is a row of the delivery log as its owner gets it.
type delivery struct {
	ID            string                    `json:"id"`
	State         outbound.State            `json:"state"`
	Reason        string                    `json:"reason,omitempty"`
	Kind          string                    `json:"kind"`
	Event         string                    `json:"event"`
	EndpointID    string                    `json:"endpointId"`
	MessageID     string                    `json:"messageId"`
	Waiting       bool                      `json:"waiting,omitempty"` // for an earlier delivery with the same order key
	Subject       *protocol.DeliverySubject `json:"subject,omitempty"`
	Attempts      []attempt                 `json:"attempts"`
	NextAttemptAt *time.Time                `json:"nextAttemptAt,omitempty"`
	ExpiresAt     time.Time                 `json:"expiresAt"`
	CreatedAt     time.Time                 `json:"createdAt"`
}

type attempt struct {
	Number     int       `json:"number"`
	At         time.Time `json:"at"`
	DurationMs int64     `json:"durationMs"`
	Status     int       `json:"status,omitempty"`
	Error      string    `json:"error,omitempty"`
	Answer     string    `json:"answer,omitempty"`
}

type deliveriesRequest struct {
	State      string `query:"state" json:"-"`
	EndpointID string `query:"endpointId" json:"-"`
	Cursor     string `query:"cursor" json:"-"`
	Limit      int    `query:"limit" json:"-"`
}

type deliveriesResponse struct {
	Deliveries []delivery `json:"deliveries"`
	NextCursor string     `json:"nextCursor,omitempty"`
}

type deliveryRequest struct {
	ID string `param:"id" json:"-"`
}

type deliveryResponse struct {
	Delivery delivery `json:"delivery"`
}

func (a *API) listDeliveries(ctx context.Context, req *deliveriesRequest) (*deliveriesResponse, error) {
	list, more, err := a.Service.List(ctx, outbound.Filter{
		OwnerID: a.UserID(ctx), State: outbound.State(req.State), EndpointID: req.EndpointID,
		Before: req.Cursor, Limit: req.Limit,
	})
	if err != nil {
		return nil, err
	}
	resp := &deliveriesResponse{Deliveries: make([]delivery, len(list))}
	for i := range list {
		resp.Deliveries[i] = showDelivery(&list[i])
	}
	if err := a.addSubjects(ctx, resp.Deliveries); err != nil {
		return nil, err
	}
	if more {
		resp.NextCursor = list[len(list)-1].ID
	}
	return resp, nil
}

// addSubjects names what the deliveries are about, kind by kind.
func (a *API) addSubjects(ctx context.Context, list []delivery) error {
	for kind, describe := range a.Subjects {
		var ids []string
		for i := range list {
			if list[i].Kind == kind {
				ids = append(ids, list[i].MessageID)
			}
		}
		if len(ids) == 0 {
			continue
		}
		subjects, err := describe(ctx, a.UserID(ctx), ids)
		if err != nil {
			return err
		}
		for i := range list {
			if subject, found := subjects[list[i].MessageID]; found && list[i].Kind == kind {
				list[i].Subject = &subject
			}
		}
	}
	return nil
}

func (a *API) retry(ctx context.Context, req *deliveryRequest) (*deliveryResponse, error) {
	d, err := a.Service.Retry(ctx, a.UserID(ctx), req.ID)
	if err != nil {
		return nil, err
	}
	shown := []delivery{showDelivery(d)}
	if err := a.addSubjects(ctx, shown); err != nil {
		return nil, err
	}
	return &deliveryResponse{Delivery: shown[0]}, nil
}

func showDelivery(d *outbound.Delivery) delivery {
	shown := delivery{
		ID: d.ID, State: d.State, Reason: d.Reason, Kind: d.Kind, Event: d.Event,
		EndpointID: d.EndpointID, MessageID: d.MessageID, Attempts: make([]attempt, len(d.Log)),
		ExpiresAt: d.ExpiresAt, CreatedAt: d.CreatedAt,
	}
	shown.Waiting = d.State == outbound.Queued && d.Blocked
	if d.State == outbound.Queued && !d.InFlight() && !d.Blocked {
		shown.NextAttemptAt = &d.NextAt
	}
	for i, one := range d.Log {
		shown.Attempts[i] = attempt{
			Number: one.Number, At: one.At, DurationMs: one.Duration.Milliseconds(), Status: one.Status, Error: one.Error,
			Answer: protocol.SanitizeText(string(one.Answer)),
		}
	}
	return shown
}
