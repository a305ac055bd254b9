package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"time"

	"bellhop/internal/sse"
	"bellhop/protocol"
)

// frame passes one frame to the consumer.
func (r *streamReader) frame(frame sse.Frame) error {
	if frame.Event != "" && frame.Event != "message" || string(frame.Data) == "[DONE]" {
		return nil
	}
	part := &protocol.Part{}
	if err := json.Unmarshal(frame.Data, part); err != nil {
		return &Error{Origin: origin(r.url), Status: http.StatusOK, Err: &protocol.Error{
			Code: protocol.CodeBadGateway, Message: "the stream has a frame that is no part", Err: err,
		}}
	}
	if part.Type == protocol.PartDataResume {
		return r.resumed(part)
	}
	r.frames = true
	if frame.ID != "" {
		r.cursor, r.failed = frame.ID, 0
	}
	r.ended = part.Terminal() && !r.Follow
	if r.ended {
		r.last = part
	}
	r.emit(Event{ID: frame.ID, Part: part})
	if r.ended || r.stopped {
		return sse.ErrStop
	}
	return nil
}

// report sends the broker the end of a basic host's turn. If that fails, the next
// check-in ends the turn.
func (r *streamReader) report(ctx context.Context) {
	if r.TurnID == "" {
		return
	}
	req := &protocol.FinishTurnRequest{TaskID: r.TaskID, TurnID: r.TurnID}
	if r.last != nil {
		req.FinishReason, req.Reason = endOf(r.last)
	}
	_ = r.client.call(ctx, http.MethodPost, "/api/agent/finish", nil, req, nil)
}

// endOf returns the end of a turn that a terminal part shows.
func endOf(part *protocol.Part) (protocol.FinishReason, string) {
	switch {
	case part.Type == protocol.PartAbort:
		return protocol.FinishOther, protocol.ReasonAborted
	case part.Type == protocol.PartError:
		return protocol.FinishError, ""
	case slices.Contains(protocol.FinishReasons, part.FinishReason):
		return part.FinishReason, ""
	}
	return protocol.FinishStop, ""
}

func (r *streamReader) resumed(part *protocol.Part) error {
	var resume protocol.Resume
	if err := json.Unmarshal(part.Data, &resume); err != nil {
		return &Error{Origin: origin(r.url), Status: http.StatusOK, Err: &protocol.Error{
			Code: protocol.CodeBadGateway, Message: "the stream does not say where it resumes", Err: err,
		}}
	}
	r.resumes = true
	if resume.Verdict != protocol.ResumeOK {
		r.emit(Event{Reset: true})
	}
	if r.stopped {
		return sse.ErrStop
	}
	return nil
}

func (r *streamReader) emit(event Event) {
	if !r.stopped && !r.yield(event, nil) {
		r.stopped = true
	}
}

// steady is how long a connection must last to reset the count of failed attempts, even without
// frames.
const steady = 10 * time.Second

// connectionLost decides whether to reconnect after a connection was lost.
func (r *streamReader) connectionLost(
	ctx context.Context, stop context.CancelCauseFunc, err error, after time.Duration,
) {
	if !r.opened.IsZero() && time.Since(r.opened) >= steady {
		r.failed = 0
	}
	r.opened = time.Time{}
	r.failed++
	basic := r.frames && r.cursor == "" && !r.resumes
	switch cause := followError(ctx, r.url, err); {
	case basic && errors.Is(err, io.EOF):
		stop(errBasicEnd)
	case basic || r.failed >= r.client.opts.Attempts:
		stop(cause)
	default:
		r.emit(Event{Lost: cause, RetryIn: after})
		if r.stopped {
			stop(sse.ErrStop)
		}
	}
}

// limitAttempts is the same limit for feeds.
func (c *Client) limitAttempts(failed *int, stop context.CancelCauseFunc) func(error, time.Duration) {
	return func(err error, _ time.Duration) {
		if *failed++; *failed >= c.opts.Attempts {
			stop(err)
		}
	}
}

// renew gets a new token. As long as the turn may not have started, only repeating the check-in
// returns a token that can start it; later attaching is enough.
func (r *streamReader) renew(ctx context.Context) error {
	for attempt := 1; ; attempt++ {
		err := r.tryRenew(ctx)
		if !temporary(err) || attempt >= r.client.opts.Attempts {
			return err
		}
		if err := sleep(ctx, r.client.backoff(attempt)); err != nil {
			return err
		}
	}
}

func (r *streamReader) tryRenew(ctx context.Context) error {
	if r.checkIn != nil && r.cursor == "" {
		got, err := r.client.CheckIn(ctx, r.checkIn)
		if err != nil {
			return err
		}
		r.TurnID = got.TurnID
		return r.moveTo(got.StreamURL, got.StreamToken)
	}
	got, err := r.client.Attach(ctx, r.TaskID)
	if err != nil {
		return err
	}
	r.prompt = nil
	return r.moveTo(got.StreamURL, got.StreamToken)
}

func (s *Stream) moveTo(rawURL, token string) error {
	u, err := parseURL(rawURL)
	if err != nil {
		return err
	}
	s.url, s.token = u, token
	return nil
}

// temporary reports an error that a retry may resolve.
func temporary(err error) bool {
	switch protocol.CodeOf(err) {
	case protocol.CodeUnavailable, protocol.CodeBadGateway, protocol.CodeTooManyRequests:
		return true
	}
	return false
}

func (c *Client) backoff(attempt int) time.Duration {
	least, most := c.opts.MinBackoff, c.opts.MaxBackoff
	if least <= 0 {
		least = sse.FollowMinBackoff
	}
	if most <= 0 {
		most = sse.FollowMaxBackoff
	}
	return min(least<<min(attempt-1, 16), most)
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
