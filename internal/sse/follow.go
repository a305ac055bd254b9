package sse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/cenkalti/backoff/v5"

	"bellhop/protocol"
)

// Defaults of FollowOptions.
const (
	FollowIdle       = protocol.StreamIdleTimeout
	FollowMinBackoff = protocol.ReconnectMinDelay
	FollowMaxBackoff = protocol.ReconnectMaxDelay

	maxRetryAfter = time.Hour
	maxErrorBody  = 64 << 10
)

// ErrStop ends Follow without an error when OnFrame returns it.
var ErrStop = errors.New("sse: stop")

// ErrIdle means that a connection was closed because nothing arrived for Idle.
var ErrIdle = errors.New("sse: the stream fell silent")

// StatusError is a response that is no stream and that a retry would not change: all statuses
// but 408, 425, 429 and 5xx.
type StatusError struct {
	Status int
	Body   []byte // at most its first 64 KiB
}

func (e *StatusError) Error() string { return "sse: status " + strconv.Itoa(e.Status) }

// FollowOptions describe what to follow. Request, Client and OnFrame are required.
type FollowOptions struct {
	// Request builds the request of each attempt; lastID is "" or the id to resume after. It
	// decides how to send the id (Last-Event-ID, ?after=).
	Request func(lastID string) (*http.Request, error)
	Client  *http.Client // must have no Timeout, which would cut the stream
	OnFrame func(Frame) error
	LastID  string // where to begin; "" = at the start

	OnOpen  func()                               // called when a stream begins; may be nil
	OnRetry func(err error, after time.Duration) // called when an attempt ended; may be nil

	Idle       time.Duration // silence after which a connection is closed; comments count as activity
	MinBackoff time.Duration
	MaxBackoff time.Duration
}

// Follow reads a stream and reconnects after every end, also a clean one, resuming after the
// last id. Retries back off exponentially with jitter, or by Retry-After; a frame resets the
// backoff.
//
// It returns nil on ErrStop, any other error of OnFrame or Request, a *StatusError, or the
// cause of ctx.
func Follow(ctx context.Context, opts FollowOptions) error {
	f := newFollower(opts)
	for {
		err := f.attempt(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var permanent *backoff.PermanentError
		if errors.As(err, &permanent) {
			if errors.Is(permanent.Err, ErrStop) {
				return nil
			}
			return permanent.Err
		}
		wait := f.wait(err)
		if f.OnRetry != nil {
			f.OnRetry(err, wait)
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		case <-timer.C:
		}
	}
}

type follower struct {
	FollowOptions
	backoff *backoff.ExponentialBackOff
}

func newFollower(opts FollowOptions) *follower {
	if opts.Idle <= 0 {
		opts.Idle = FollowIdle
	}
	if opts.MinBackoff <= 0 {
		opts.MinBackoff = FollowMinBackoff
	}
	if opts.MaxBackoff <= 0 {
		opts.MaxBackoff = FollowMaxBackoff
	}
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval, b.Multiplier = opts.MinBackoff, opts.MaxBackoff, 2
	b.Reset()
	return &follower{FollowOptions: opts, backoff: b}
}

func (f *follower) wait(err error) time.Duration {
	var retry *retryAfterError
	if errors.As(err, &retry) {
		return retry.after
	}
	return min(f.backoff.NextBackOff(), f.MaxBackoff)
}

// attempt is one connection. It always returns an error; a permanent one ends Follow.
func (f *follower) attempt(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watchdog := time.AfterFunc(f.Idle, func() { cancel(ErrIdle) })
	defer watchdog.Stop()

	req, err := f.Request(f.LastID)
	if err != nil {
		return backoff.Permanent(err)
	}
	resp, err := f.Client.Do(req.WithContext(ctx))
	if err != nil {
		return causeOr(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if err := checkResponse(resp); err != nil {
		return err
	}
	if f.OnOpen != nil {
		f.OnOpen()
	}
	reader := NewReader(resp.Body)
	reader.OnBytes = func() { watchdog.Reset(f.Idle) }
	return causeOr(ctx, f.read(reader))
}

func (f *follower) read(reader *Reader) error {
	for {
		frame, err := reader.Next()
		if err == nil {
			f.backoff.Reset()
			if err := f.OnFrame(frame); err != nil {
				return backoff.Permanent(err)
			}
		}
		if id := reader.LastID(); id != "" {
			f.LastID = id
		}
		if err != nil {
			return err
		}
	}
}

// causeOr returns the watchdog's reason instead of the "context canceled" that it caused.
func causeOr(ctx context.Context, err error) error {
	var permanent *backoff.PermanentError
	if cause := context.Cause(ctx); cause != nil && !errors.As(err, &permanent) {
		return cause
	}
	return err
}

func checkResponse(resp *http.Response) error {
	switch status := resp.StatusCode; {
	case status == http.StatusOK:
		kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
		if kind != "text/event-stream" {
			return backoff.Permanent(fmt.Errorf("sse: the answer is %q, no event stream", kind))
		}
		return nil
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly, status == http.StatusTooManyRequests,
		status >= http.StatusInternalServerError:
		err := fmt.Errorf("sse: status %d", status)
		if after, ok := parseRetryAfter(resp.Header.Get("Retry-After"), time.Now()); ok {
			return &retryAfterError{err: err, after: after}
		}
		return err
	default:
		body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody)) // best effort: the status is enough
		return backoff.Permanent(&StatusError{Status: status, Body: body})
	}
}

type retryAfterError struct {
	err   error
	after time.Duration
}

func (e *retryAfterError) Error() string { return e.err.Error() }
func (e *retryAfterError) Unwrap() error { return e.err }

// parseRetryAfter reads seconds or an HTTP date, at most an hour ahead.
func parseRetryAfter(value string, now time.Time) (time.Duration, bool) {
	if seconds, err := strconv.ParseUint(value, 10, 32); err == nil {
		return min(time.Duration(seconds)*time.Second, maxRetryAfter), true
	}
	at, err := http.ParseTime(value)
	if err != nil || !at.After(now) {
		return 0, false
	}
	return min(at.Sub(now), maxRetryAfter), true
}
