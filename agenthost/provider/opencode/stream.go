package opencode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"time"

	"bellhop/internal/sse"
)

// silence is how long a stream may send nothing. OpenCode sends an event every ten
// seconds.
const silence = 35 * time.Second

// errSilence is the error of a stream that was silent for too long.
var errSilence = errors.New("the stream of events fell silent")

// link is a change of the connection.
type link int

const (
	linkLost link = iota + 1
	linkBack
	linkEnded // the program has exited; turns notice that themselves
)

// incoming is an event or a change of the connection, in order.
type incoming struct {
	event event
	link  link // 0: an event
}

// stream follows a server's events until its context ends. OpenCode replays
// nothing: after linkBack the receiver must read everything again.
type stream struct {
	client  *client
	deliver func(incoming)                             // called by one goroutine only
	opened  func()                                     // called at the first connection
	pause   func(context.Context, time.Duration)       // between attempts
	report  func(err error, again time.Duration)       // logs the end of a connection
	watch   func(cancel func()) (received, end func()) // calls cancel after silence; received restarts the time
}

func newStream(c *client) *stream {
	return &stream{
		client: c,
		pause:  pause,
		watch: func(cancel func()) (received, end func()) {
			timer := time.AfterFunc(silence, cancel)
			return func() { timer.Reset(silence) }, func() { timer.Stop() }
		},
	}
}

// pause waits for a duration, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// backoff returns the wait after the n-th failure in a row, counted from 0.
func backoff(n int) time.Duration { return min(time.Second<<min(n, 5), 30*time.Second) }

func (s *stream) run(ctx context.Context) {
	first := true
	for failures := 0; ctx.Err() == nil; failures++ {
		up := false
		err := s.follow(ctx, func() {
			up, failures = true, 0
			if first {
				first = false
				s.opened()
				return
			}
			s.deliver(incoming{link: linkBack})
		})
		if ctx.Err() != nil {
			return
		}
		if up {
			s.deliver(incoming{link: linkLost})
		}
		wait := backoff(failures)
		s.report(err, wait)
		s.pause(ctx, wait)
	}
}

// follow reads one connection until it fails. It always returns an error.
func (s *stream) follow(ctx context.Context, connected func()) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	received, end := s.watch(func() { cancel(errSilence) })
	defer end()
	request, err := s.client.request(ctx, http.MethodGet, "/event", nil)
	if err != nil {
		return err
	}
	response, err := s.client.http.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if response.StatusCode != http.StatusOK || kind != "text/event-stream" {
		return fmt.Errorf("OpenCode answers %d with %q instead of events", response.StatusCode, kind)
	}
	reader := sse.NewReader(response.Body)
	reader.OnBytes = received
	for begun := false; ; {
		frame, err := reader.Next()
		if err != nil {
			return errors.Join(err, context.Cause(ctx))
		}
		if !begun { // the subscription is certain only now: server.connected comes first
			begun = true
			connected()
		}
		var e event
		if err := json.Unmarshal(frame.Data, &e); err != nil {
			return fmt.Errorf("OpenCode's event: %w", err)
		}
		s.deliver(incoming{event: e})
	}
}
