package api

import (
	"context"
	"time"

	"bellhop/protocol"
	"bellhop/webhook/outbound"
)

// delivery is a row of the delivery log as its owner gets it.
type delivery struct {
	ID            string         `json:"id"`
	State         outbound.State `json:"state"`
	Reason        string         `json:"reason,omitempty"`
	Kind          string         `json:"kind"`
	Event         string         `json:"event"`
	EndpointID    string         `json:"endpointId"`
	MessageID     string         `json:"messageId"`
	Attempts      []attempt      `json:"attempts"`
	NextAttemptAt *time.Time     `json:"nextAttemptAt,omitempty"`
	ExpiresAt     time.Time      `json:"expiresAt"`
	CreatedAt     time.Time      `json:"createdAt"`
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
		OwnerID: a.UserID(ctx), State: outbound.State(req.State), EndpointID: req.EndpointID, Before: req.Cursor, Limit: req.Limit,
	})
	if err != nil {
		return nil, err
	}
	resp := &deliveriesResponse{Deliveries: make([]delivery, len(list))}
	for i := range list {
		resp.Deliveries[i] = showDelivery(&list[i])
	}
	if more {
		resp.NextCursor = list[len(list)-1].ID
	}
	return resp, nil
}

func (a *API) retry(ctx context.Context, req *deliveryRequest) (*deliveryResponse, error) {
	d, err := a.Service.Retry(ctx, a.UserID(ctx), req.ID)
	if err != nil {
		return nil, err
	}
	return &deliveryResponse{Delivery: showDelivery(d)}, nil
}

func showDelivery(d *outbound.Delivery) delivery {
	shown := delivery{
		ID: d.ID, State: d.State, Reason: d.Reason, Kind: d.Kind, Event: d.Event, EndpointID: d.EndpointID, MessageID: d.MessageID,
		Attempts: make([]attempt, len(d.Log)), ExpiresAt: d.ExpiresAt, CreatedAt: d.CreatedAt,
	}
	if d.State == outbound.Queued && !d.InFlight() {
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
