package store

import (
	"fmt"
	"time"

	"bellhop/internal/table"
	"bellhop/webhook/outbound"
)

// deliveries lacks the column position, whose values the database assigns.
var deliveries = table.New("deliveries",
	table.Text("id", func(d *outbound.Delivery) *string { return &d.ID }).Key(),
	table.Text("endpoint_id", func(d *outbound.Delivery) *string { return &d.EndpointID }),
	table.Text("user_id", func(d *outbound.Delivery) *string { return &d.UserID }),
	table.Text("kind", func(d *outbound.Delivery) *string { return &d.Kind }),
	table.Text("host", func(d *outbound.Delivery) *string { return &d.Host }),
	table.Text("message_id", func(d *outbound.Delivery) *string { return &d.MessageID }),
	table.Text("event", func(d *outbound.Delivery) *string { return &d.Event }),
	table.Text("order_key", func(d *outbound.Delivery) *string { return &d.OrderKey }),
	table.Bytes("body", func(d *outbound.Delivery) *[]byte { return &d.Body }),
	table.Text("state", func(d *outbound.Delivery) *outbound.State { return &d.State }),
	table.Text("reason", func(d *outbound.Delivery) *string { return &d.Reason }),
	table.Integer("attempts", func(d *outbound.Delivery) *int { return &d.Attempts }),
	table.OptionalTime("attempted_at", func(d *outbound.Delivery) **time.Time { return &d.AttemptedAt }),
	table.Text("lease", func(d *outbound.Delivery) *string { return &d.Lease }),
	table.Time("next_at", func(d *outbound.Delivery) *time.Time { return &d.NextAt }),
	table.Time("expires_at", func(d *outbound.Delivery) *time.Time { return &d.ExpiresAt }),
	table.Time("created_at", func(d *outbound.Delivery) *time.Time { return &d.CreatedAt }),
	table.OptionalTime("finished_at", func(d *outbound.Delivery) **time.Time { return &d.FinishedAt }),
)

// The queue and the log read these parts of deliveries.
var (
	candidates = table.New("deliveries d", append(deliveries.Pick("id", "host", "expires_at"),
		table.Bool(earlierOpen, func(d *outbound.Delivery) *bool { return &d.Blocked }))...)
	aliased     = table.New("deliveries d", deliveries.Columns...)
	deliveryIDs = table.New("deliveries", deliveries.Pick("id")...)
	nextDue     = table.New("deliveries", deliveries.Pick("next_at")...)
	creation    = table.New("deliveries", deliveries.Pick("created_at")...)
	summaries   = table.New("deliveries d", append(deliveries.Without("body"),
		table.Bool(earlierOpen, func(d *outbound.Delivery) *bool { return &d.Blocked }))...)
)

var attempts = table.New("delivery_attempts",
	table.Text("delivery_id", func(a *outbound.Attempt) *string { return &a.DeliveryID }).Key(),
	table.Integer("number", func(a *outbound.Attempt) *int { return &a.Number }).Key(),
	table.Time("at", func(a *outbound.Attempt) *time.Time { return &a.At }),
	table.Column[outbound.Attempt]{
		Name: "duration_ms", Type: "bigint",
		Value:  func(a *outbound.Attempt) any { return a.Duration.Milliseconds() },
		Target: func(a *outbound.Attempt) any { return milliseconds{&a.Duration} },
	},
	table.Integer("status", func(a *outbound.Attempt) *int { return &a.Status }),
	table.Text("error", func(a *outbound.Attempt) *string { return &a.Error }),
	table.Bytes("answer", func(a *outbound.Attempt) *[]byte { return &a.Answer }),
)

type milliseconds struct{ to *time.Duration }

// Scan implements sql.Scanner.
func (m milliseconds) Scan(src any) error {
	ms, ok := src.(int64)
	if !ok {
		return fmt.Errorf("%T is not a number", src)
	}
	*m.to = time.Duration(ms) * time.Millisecond
	return nil
}
