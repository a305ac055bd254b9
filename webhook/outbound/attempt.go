package outbound

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"time"

	"bellhop/crypto/signature"
	"bellhop/internal/failpoint"
	"bellhop/internal/observe"
	"bellhop/protocol"
)

const (
	maxResponse = 2 << 20
	maxLogged   = 4 << 10
	userAgent   = "Bellhop-Webhook/1"
)

// deliver processes a claimed delivery: it expires it, holds it or attempts it.
func (w *Worker) deliver(ctx context.Context, d *Delivery, e *Endpoint) {
	now := w.nowUTC()
	switch {
	case !w.heldUTC().Before(d.ExpiresAt):
		w.conclude(ctx, d, update{state: Expired, reason: ReasonExpired})
	case e.Disabled():
		w.conclude(ctx, d, update{state: Held, reason: ReasonDisabled, next: now})
	default:
		w.attempt(ctx, d, e, now)
	}
}

func (w *Worker) attempt(ctx context.Context, d *Delivery, e *Endpoint, now time.Time) {
	attempt := &Attempt{DeliveryID: d.ID, Number: d.Attempts + 1, At: now}
	failpoint.Hit("before-webhook-sent")
	began := time.Now()
	ctx, operation := observe.Begin(ctx, w.o.Observer, observe.Start{Operation: observe.Attempt, Name: d.Kind})
	reply, outcome := w.exchange(ctx, d, e, attempt)
	attempt.Duration = time.Since(began)
	operation.End(w.observed(d, outcome))
	if errors.Is(context.Cause(ctx), ErrLeaseLost) {
		w.logLeaseLost(ctx, d)
		return
	}
	failpoint.Hit("after-webhook-sent")
	w.conclude(ctx, d, w.updateFor(d, attempt, outcome, reply))
}

// observed describes an attempt to the observer.
func (w *Worker) observed(d *Delivery, outcome attemptOutcome) observe.Outcome {
	switch outcome.next {
	case succeed:
		return observe.Outcome{Result: observe.ResultDelivered, Lag: w.nowUTC().Sub(d.CreatedAt)}
	case failForGood:
		return observe.Outcome{Result: observe.ResultFailed}
	default:
		return observe.Outcome{Result: observe.ResultRetry}
	}
}

// exchange renders, signs and sends the delivery and records the result in attempt. reply is
// the complete JSON object of a successful response, otherwise nil.
func (w *Worker) exchange(
	ctx context.Context, d *Delivery, e *Endpoint, attempt *Attempt,
) (reply []byte, outcome attemptOutcome) {
	if d.Body == nil {
		if outcome, ok := w.render(ctx, d); !ok {
			attempt.Error = outcome.reason
			return nil, outcome
		}
	}
	request, outcome, ok := w.request(ctx, d, e, attempt.At)
	if !ok {
		attempt.Error = outcome.reason
		return nil, outcome
	}
	response, err := w.o.Client.Do(request)
	if err != nil {
		outcome = outcomeOfError(causeOf(ctx, err))
		attempt.Error = outcome.reason
		return nil, outcome
	}
	defer response.Body.Close()
	attempt.Status = response.StatusCode
	outcome = outcomeOfStatus(response.StatusCode, response.Header, w.nowUTC())
	outcome.disable = outcome.disable || slices.Contains(w.o.Kinds[d.Kind].Ends, response.StatusCode)
	body, complete, err := readResponse(response.Body, outcome.next == succeed)
	attempt.Answer = body[:min(len(body), maxLogged)]
	switch {
	case outcome.next != succeed:
	case err != nil: // the missing part may have held the reply
		outcome = outcomeOfError(causeOf(ctx, err))
		attempt.Error = outcome.reason
	case complete && protocol.ParseObject(body) == nil:
		reply = body
	}
	return reply, outcome
}

// readResponse reads a successful response up to maxResponse, any other up to maxLogged.
// complete reports that nothing was cut off.
func readResponse(from io.Reader, success bool) (body []byte, complete bool, err error) {
	limit := int64(maxLogged)
	if success {
		limit = maxResponse
	}
	body, err = io.ReadAll(io.LimitReader(from, limit))
	if err != nil || int64(len(body)) < limit {
		return body, err == nil, err
	}
	n, err := from.Read(make([]byte, 1))
	return body, n == 0 && errors.Is(err, io.EOF), nil
}

// causeOf returns the reason of our own cancellation, if that is what failed the request,
// otherwise err.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// render makes the body and stores it, so that every attempt sends the same bytes. If ok is
// false, the outcome says how the attempt ends.
func (w *Worker) render(ctx context.Context, d *Delivery) (attemptOutcome, bool) {
	kind := w.o.Kinds[d.Kind]
	if kind.Render == nil {
		w.log.ErrorContext(ctx, "no renderer for this kind of delivery", "kind", d.Kind, "delivery", d.ID)
		return attemptOutcome{next: retryLater, reason: FaultRender}, false
	}
	body, err := kind.Render(ctx, d)
	if err == nil {
		err = w.store.SaveBody(ctx, d, body)
	}
	if err == nil {
		d.Body = body
		return attemptOutcome{}, true
	}
	return w.outcomeOfFault(ctx, d, err), false
}

// outcomeOfFault returns how an attempt ends for which the kind made no body or no request.
func (w *Worker) outcomeOfFault(ctx context.Context, d *Delivery, err error) attemptOutcome {
	switch code := protocol.CodeOf(err); {
	case errors.Is(err, ErrEndpointEnded):
		return attemptOutcome{next: failForGood, reason: FaultGone, disable: true}
	case code == protocol.CodeNotFound, code == protocol.CodeGone:
		return attemptOutcome{next: failForGood, reason: FaultGone}
	case errors.Is(err, ErrLeaseLost):
		w.inFlight.cancel(d.ID, d.Lease, ErrLeaseLost)
	default:
		w.log.WarnContext(ctx, "delivery not rendered", "delivery", d.ID, "error", err)
	}
	return attemptOutcome{next: retryLater, reason: FaultRender}
}

// request builds the HTTP request. If ok is false, the outcome says how the attempt ends.
func (w *Worker) request(
	ctx context.Context, d *Delivery, e *Endpoint, at time.Time,
) (_ *http.Request, _ attemptOutcome, ok bool) {
	build := w.o.Kinds[d.Kind].Request
	if build == nil {
		return w.signedRequest(ctx, d, e, at)
	}
	request, err := build(ctx, d, e, at)
	if err != nil {
		return nil, w.outcomeOfFault(ctx, d, err), false
	}
	return request, attemptOutcome{}, true
}

func (w *Worker) signedRequest(
	ctx context.Context, d *Delivery, e *Endpoint, at time.Time,
) (_ *http.Request, _ attemptOutcome, ok bool) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.target(), bytes.NewReader(d.Body))
	if err != nil {
		return nil, attemptOutcome{next: failForGood, reason: FaultTarget}, false
	}
	var keys []signature.Key
	for _, secret := range e.secrets(at) {
		key, err := signature.Parse(secret)
		if err != nil { // The secret was sealed with a key that is not loaded now. A restart may load it.
			return nil, attemptOutcome{next: retryLater, reason: FaultSecret}, false
		}
		keys = append(keys, key)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", userAgent)
	observe.SetTrace(ctx, request.Header)
	if err := signature.Sign(request.Header, d.MessageID, at, d.Body, keys...); err != nil {
		w.log.ErrorContext(ctx, "delivery cannot be signed", "delivery", d.ID, "error", err)
		return nil, attemptOutcome{next: failForGood, reason: FaultSecret}, false
	}
	return request, attemptOutcome{}, true
}
