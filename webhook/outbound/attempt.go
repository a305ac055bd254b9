package outbound

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"bellhop/crypto/signature"
	"bellhop/internal/failpoint"
	"bellhop/protocol"
)

const (
	maxAnswer = 2 << 20
	maxLogged = 4 << 10
	userAgent = "Bellhop-Webhook/1"
)

// deliver does what a claimed delivery needs: end it, hold it or attempt it.
func (w *Worker) deliver(ctx context.Context, d *Delivery, e *Endpoint) {
	now := w.at()
	switch {
	case !now.Before(d.ExpiresAt):
		w.conclude(ctx, d, outcome{state: Expired, reason: ReasonExpired})
	case e.Disabled():
		w.conclude(ctx, d, outcome{state: Held, reason: ReasonDisabled, next: now})
	default:
		w.attempt(ctx, d, e, now)
	}
}

func (w *Worker) attempt(ctx context.Context, d *Delivery, e *Endpoint, now time.Time) {
	attempt := &Attempt{DeliveryID: d.ID, Number: d.Attempts + 1, At: now}
	failpoint.Hit("before-webhook-sent")
	began := time.Now()
	reply, v := w.exchange(ctx, d, e, attempt)
	attempt.Duration = time.Since(began)
	if errors.Is(context.Cause(ctx), ErrLeaseLost) {
		w.lost(ctx, d)
		return
	}
	failpoint.Hit("after-webhook-sent")
	w.conclude(ctx, d, w.outcome(d, attempt, v, reply))
}

// exchange renders, signs and sends, and fills in the attempt.
func (w *Worker) exchange(ctx context.Context, d *Delivery, e *Endpoint, attempt *Attempt) (reply []byte, v verdict) {
	if d.Body == nil {
		if v, ok := w.render(ctx, d); !ok {
			attempt.Error = v.reason
			return nil, v
		}
	}
	request, v, ok := w.request(ctx, d, e, attempt.At)
	if !ok {
		attempt.Error = v.reason
		return nil, v
	}
	response, err := w.o.Client.Do(request)
	if err != nil {
		v = judgeError(causeOf(ctx, err))
		attempt.Error = v.reason
		return nil, v
	}
	defer response.Body.Close()
	attempt.Status = response.StatusCode
	v = judgeStatus(response.StatusCode, response.Header, w.at())
	answer, whole, err := readAnswer(response.Body, v.next == done)
	attempt.Answer = answer[:min(len(answer), maxLogged)]
	switch {
	case v.next != done:
	case err != nil: // the reply may have been in what is missing
		v = judgeError(causeOf(ctx, err))
		attempt.Error = v.reason
	case whole && protocol.ParseObject(answer) == nil:
		reply = answer
	}
	return reply, v
}

// readAnswer reads what is needed: all of a success, up to the cap, and the
// logged part of anything else.
func readAnswer(body io.Reader, success bool) (answer []byte, whole bool, err error) {
	limit := int64(maxLogged)
	if success {
		limit = maxAnswer
	}
	answer, err = io.ReadAll(io.LimitReader(body, limit))
	if err != nil || int64(len(answer)) < limit {
		return answer, err == nil, err
	}
	n, err := body.Read(make([]byte, 1))
	return answer, n == 0 && errors.Is(err, io.EOF), nil
}

// causeOf tells our own cancellations from the network's errors.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// render makes the body and keeps it before it is sent.
func (w *Worker) render(ctx context.Context, d *Delivery) (verdict, bool) {
	kind := w.o.Kinds[d.Kind]
	if kind.Render == nil {
		w.log.ErrorContext(ctx, "nobody renders this kind of delivery", "kind", d.Kind, "delivery", d.ID)
		return verdict{next: again, reason: FaultRender}, false
	}
	body, err := kind.Render(ctx, d)
	if err == nil {
		err = w.store.KeepBody(ctx, d, body)
	}
	switch code := protocol.CodeOf(err); {
	case err == nil:
		d.Body = body
		return verdict{}, true
	case code == protocol.CodeNotFound, code == protocol.CodeGone:
		return verdict{next: fail, reason: FaultGone}, false
	case errors.Is(err, ErrLeaseLost):
		w.flights.cancel(d.ID, d.Lease, ErrLeaseLost)
	default:
		w.log.WarnContext(ctx, "delivery not rendered", "delivery", d.ID, "error", err)
	}
	return verdict{next: again, reason: FaultRender}, false
}

func (w *Worker) request(ctx context.Context, d *Delivery, e *Endpoint, at time.Time) (*http.Request, verdict, bool) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL, bytes.NewReader(d.Body))
	if err != nil {
		return nil, verdict{next: fail, reason: FaultTarget}, false
	}
	var keys []signature.Key
	for _, secret := range e.secrets(at) {
		key, err := signature.Parse(secret)
		if err != nil { // sealed with a keyset that is away, perhaps for now only
			return nil, verdict{next: again, reason: FaultSecret}, false
		}
		keys = append(keys, key)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", userAgent)
	if err := signature.Sign(request.Header, d.MessageID, at, d.Body, keys...); err != nil {
		w.log.ErrorContext(ctx, "delivery cannot be signed", "delivery", d.ID, "error", err)
		return nil, verdict{next: fail, reason: FaultSecret}, false
	}
	return request, verdict{}, true
}
