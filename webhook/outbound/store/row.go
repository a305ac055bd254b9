package store

import (
	"time"

	"bellhop/webhook/outbound"
)

type deliveryRow struct {
	ID          string
	EndpointID  string
	UserID      string
	Kind        string
	Host        string
	MessageID   string
	Event       string
	OrderKey    string
	Body        []byte
	State       string
	Reason      string
	Attempts    int
	AttemptedAt *time.Time
	Lease       string
	NextAt      time.Time
	ExpiresAt   time.Time
	CreatedAt   time.Time
	FinishedAt  *time.Time
	Blocked     bool
}

func (r *deliveryRow) delivery() outbound.Delivery {
	return outbound.Delivery{
		ID: r.ID, EndpointID: r.EndpointID, UserID: r.UserID, Kind: r.Kind, Host: r.Host, MessageID: r.MessageID,
		Event: r.Event, OrderKey: r.OrderKey, Body: r.Body, State: outbound.State(r.State), Reason: r.Reason,
		Attempts: r.Attempts, AttemptedAt: utc(r.AttemptedAt), Lease: r.Lease, NextAt: r.NextAt.UTC(),
		ExpiresAt: r.ExpiresAt.UTC(), CreatedAt: r.CreatedAt.UTC(), FinishedAt: utc(r.FinishedAt), Blocked: r.Blocked,
	}
}

func deliveries(rows []deliveryRow) []outbound.Delivery {
	list := make([]outbound.Delivery, len(rows))
	for i := range rows {
		list[i] = rows[i].delivery()
	}
	return list
}

type attemptRow struct {
	DeliveryID string
	Number     int
	At         time.Time
	DurationMs int64
	Status     int
	Error      string
	Answer     []byte
}

func (r *attemptRow) attempt() outbound.Attempt {
	return outbound.Attempt{
		DeliveryID: r.DeliveryID, Number: r.Number, At: r.At.UTC(), Duration: time.Duration(r.DurationMs) * time.Millisecond,
		Status: r.Status, Error: r.Error, Answer: r.Answer,
	}
}
