package delivery

import (
	"context"
	"encoding/json"
	"time"

	"bellhop/agenthost/core"
	"bellhop/crypto/seal"
	"bellhop/internal/failpoint"
	"bellhop/internal/observe"
	"bellhop/protocol"
)

// maxEventBytes limits the events of a request; the envelope needs the remaining
// bytes.
const maxEventBytes = protocol.MaxWebhookBody - 4<<10

// Order is the next job of a session's delivery, with the values that the job needs.
type Order struct {
	Job            core.Job
	SessionID      string
	URL            string          // of the webhook, with its token
	AddressVersion int             // core.Delivery.AddressVersion of the URL
	Acked          protocol.Cursor // events after it are sent
	Limit          int             // the most events of a request
	Version        int
	BrokerID       string // "" if the broker did not name itself
	NamedAnswers   bool   // the broker names itself, and the request, in each of its answers
	Basic          bool   // the broker speaks the original contract only

	ClockOffset time.Duration // of the broker's clock

	Resend protocol.Cursor // events up to here go with the prompts of their turns
}

// OrderOf returns the next order of a session in a state.
func OrderOf(st *core.State) Order {
	return Order{
		Job: st.NextJob(), SessionID: st.ID, URL: st.Record.WebhookURL, AddressVersion: st.Delivery.AddressVersion,
		Acked: st.Record.Acked, Limit: st.Delivery.Limit, Version: st.Delivery.Version,
		BrokerID: st.Record.BrokerID, NamedAnswers: st.Record.NamedAnswers, Basic: st.Record.Basic, Resend: st.Record.Resend,
		ClockOffset: st.Delivery.ClockOffset,
	}
}

// named reports whether the broker named itself.
func (o *Order) named() bool { return o.BrokerID != "" }

// Session is a session of the host, as delivery uses it. Its methods are safe for concurrent use.
type Session interface {
	// Next returns what to do next. After core.JobNone, Run has ended.
	Next() Order
	// Pending returns the events after a cursor, ascending.
	Pending(ctx context.Context, after protocol.Cursor, limit int) ([]core.EventRecord, error)
	// Prompts returns the prompts, by turn, of the turns that begin with one of events.
	Prompts(ctx context.Context, events []core.EventRecord) (map[string]protocol.TurnPrompt, error)
	// Recount applies core.PendingCounted.
	Recount()
	// Apply applies an input and returns how long to wait before the next request.
	Apply(in core.Input) time.Duration
	// Nudges ends a wait.
	Nudges() <-chan struct{}
	// Trace returns the trace that requests belong to, as observe.Trace does.
	Trace() string
}

// renewalsAtOnce bounds the renewals of all sessions, since all of them are due when
// the broker's database was restored.
const renewalsAtOnce = 16

// Sender sends for any number of sessions.
type Sender struct {
	poster   Poster
	password seal.Secret // the bearer of renewals; requests are signed with it
	now      func() time.Time
	renewals chan struct{}

	Observer observe.Observer // of requests with events; nil = none
	Life     string           // protocol.HeaderLife of all requests to named brokers; "" = none

	BrokerLife func(protocol.Life) // gets the lives that brokers' own answers name; nil = none
}

// NewSender returns a Sender. password is the bearer of renewals, and signs the requests to named
// brokers; without one they are not signed.
func NewSender(poster Poster, password seal.Secret, now func() time.Time) *Sender {
	return &Sender{poster: poster, password: password, now: now, renewals: make(chan struct{}, renewalsAtOnce)}
}

// Run sends until there is nothing left, or ctx ends.
func (d *Sender) Run(ctx context.Context, s Session) {
	for ctx.Err() == nil {
		order := s.Next()
		if order.Job == core.JobNone {
			return
		}
		if wait := d.do(ctx, s, &order); wait > 0 {
			pause(ctx, s, wait)
		}
	}
}

func pause(ctx context.Context, s Session, wait time.Duration) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-s.Nudges():
	}
}

func (d *Sender) do(ctx context.Context, s Session, order *Order) time.Duration {
	switch order.Job {
	case core.JobRenew:
		return s.Apply(d.renew(ctx, order))
	case core.JobSave:
		return s.Apply(core.PositionSaved{})
	}
	events, err := s.Pending(ctx, order.Acked, order.Limit)
	if err != nil {
		return s.Apply(core.DeliveryFailed{What: "the journal cannot be read", Cause: err.Error()})
	}
	if len(events) == 0 {
		s.Recount()
		return 0
	}
	events = Fitting(events)
	var prompts []protocol.TurnPrompt
	if order.named() && !order.Resend.Less(events[0].Cursor) {
		byTurn, err := s.Prompts(ctx, events)
		if err != nil {
			return s.Apply(core.DeliveryFailed{What: "the journal cannot be read", Cause: err.Error()})
		}
		events, prompts = FitPrompts(events, byTurn, maxEventBytes)
	}
	skip := false
	if order.Basic {
		events, skip = forBasic(events)
	}
	sent := SentOf(order, events)
	if skip {
		return s.Apply(core.DeliveryAccepted{Sent: sent})
	}
	failpoint.Hit("outbox-before-post")
	sending, post := observe.Begin(observe.WithTrace(ctx, s.Trace()), d.Observer, observe.Start{Operation: observe.Post})
	in := d.send(sending, order, sent, events, prompts)
	post.End(observed(in, len(events)))
	failpoint.Hit("outbox-after-post")
	if _, failed := in.(core.DeliveryFailed); failed && ctx.Err() != nil {
		return 0
	}
	return s.Apply(in)
}

// observed describes a request with so many events to the observer.
func observed(in core.Input, events int) observe.Outcome {
	switch in.(type) {
	case core.DeliveryAccepted:
		return observe.Outcome{Accepted: events}
	case core.DeliveryRefused:
		return observe.Outcome{Result: observe.ResultRefused}
	default:
		return observe.Outcome{Result: observe.ResultUnreachable}
	}
}

// Fitting returns the events of the first one's epoch, as many as fit into a
// request.
func Fitting(events []core.EventRecord) []core.EventRecord {
	size := 0
	for i := range events {
		size += len(events[i].Body) + 1
		if i > 0 && (size > maxEventBytes || events[i].Cursor.Epoch != events[0].Cursor.Epoch) {
			return events[:i]
		}
	}
	return events
}

// forBasic returns the events up to the first that a broker of the original
// contract accepts, which is the one to send. skip means that there is none.
func forBasic(events []core.EventRecord) (_ []core.EventRecord, skip bool) {
	for i := range events {
		switch events[i].Type {
		case protocol.EventText, protocol.EventToolCall, protocol.EventToolResult:
			return events[:i+1], false
		}
	}
	return events, true
}

// SentOf describes a request with these events.
func SentOf(order *Order, events []core.EventRecord) core.Sent {
	sent := core.Sent{
		Version: order.Version, Named: order.named(), Basic: order.Basic,
		Cursors: make([]protocol.Cursor, len(events)), Last: events[len(events)-1],
	}
	for i := range events {
		sent.Cursors[i] = events[i].Cursor
	}
	return sent
}

func (d *Sender) send(
	ctx context.Context, order *Order, sent core.Sent, events []core.EventRecord, prompts []protocol.TurnPrompt,
) core.Input {
	body, err := bodyOf(order, events, prompts)
	if err != nil {
		return unreachable(err)
	}
	post, err := d.newPost(order, &sent, body)
	if err != nil {
		return unreachable(err)
	}
	r, err := d.exchange(ctx, post)
	switch {
	case err != nil:
		return unreachable(err)
	case r.foreign:
		return core.DeliveryRefused{Sent: sent, Refusal: r.refusal()}
	case r.status/100 == 2:
		return core.DeliveryAccepted{Sent: sent, Cursor: r.form.Cursor, Object: r.object, Incarnation: r.form.Incarnation}
	default:
		return core.DeliveryRefused{Sent: sent, Refusal: r.refusal()}
	}
}

func unreachable(err error) core.Input {
	return core.DeliveryFailed{What: "the broker cannot be reached", Cause: err.Error()}
}

func bodyOf(order *Order, events []core.EventRecord, prompts []protocol.TurnPrompt) ([]byte, error) {
	if order.Basic || len(events) == 1 && len(prompts) == 0 {
		return events[len(events)-1].Body, nil
	}
	batch := protocol.WebhookBatch{
		SessionID: order.SessionID, Events: make([]json.RawMessage, len(events)), Prompts: prompts,
	}
	for i := range events {
		batch.Events[i] = events[i].Body
	}
	return protocol.Marshal(&batch)
}
