package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// receiversRole takes outbound webhooks on ports of their own: each is a host to
// the broker.
type receiversRole struct {
	takes   time.Duration
	server  *http.Server
	serving sync.WaitGroup

	from  atomic.Int64 // what was due before is not counted
	count atomic.Int64

	mu      sync.Mutex
	lags    *histogram
	release chan struct{} // what hangs
}

const (
	dueMark  = "due@"
	hangPath = "/hang"
	patience = time.Minute // for what was sent to arrive
)

type receiversOrder struct {
	Count int           `json:"count"`
	Takes time.Duration `json:"takes"`
	From  int64         `json:"from"`
	For   time.Duration `json:"for"`
}

type receiversResult struct {
	Rate float64 `json:"rate"` // a second
	Lag  spread  `json:"lag"`  // from due to arrived
}

func newReceiversRole() *receiversRole {
	r := &receiversRole{lags: &histogram{}, release: make(chan struct{})}
	r.server = &http.Server{Handler: http.HandlerFunc(r.take)} //nolint:gosec // on loopback, for its own children
	return r
}

func (r *receiversRole) close() error {
	err := r.server.Close()
	r.serving.Wait()
	return err
}

func (r *receiversRole) obey(ctx context.Context, do string, with json.RawMessage) (any, error) {
	o, err := decode[receiversOrder](with)
	if err != nil {
		return nil, err
	}
	switch do {
	case "open":
		r.takes = o.Takes
		return r.open(ctx, o.Count)
	case "expect":
		r.expect(o.From)
		return nil, nil
	case "rate":
		return r.rate(ctx, o.For)
	case "collect":
		if err := r.arrivals(ctx, o.Count); err != nil {
			return nil, err
		}
		return receiversResult{Lag: r.spread()}, nil
	}
	return nil, fmt.Errorf("cannot %s", do)
}

func (r *receiversRole) open(ctx context.Context, n int) ([]string, error) {
	urls := make([]string, n)
	for i := range urls {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		urls[i] = "http://" + l.Addr().String()
		r.serving.Go(func() { _ = r.server.Serve(l) })
	}
	return urls, nil
}

// expect forgets what came and lets go what hangs.
func (r *receiversRole) expect(from int64) {
	r.from.Store(from)
	r.count.Store(0)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lags = &histogram{}
	close(r.release)
	r.release = make(chan struct{})
}

// rate counts for a while, beginning with the first that arrives.
func (r *receiversRole) rate(ctx context.Context, span time.Duration) (*receiversResult, error) {
	if err := r.arrivals(ctx, 1); err != nil {
		return nil, err
	}
	before, start := r.count.Load(), time.Now()
	time.Sleep(span)
	return &receiversResult{Rate: float64(r.count.Load()-before) / time.Since(start).Seconds(), Lag: r.spread()}, nil
}

func (r *receiversRole) arrivals(ctx context.Context, n int) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for r.count.Load() < int64(n) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d of %d deliveries came: %w", r.count.Load(), n, ctx.Err())
		case <-poll.C:
		}
	}
	return nil
}

func (r *receiversRole) spread() spread {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lags.spread()
}

func (r *receiversRole) take(w http.ResponseWriter, req *http.Request) {
	now := time.Now()
	body, err := io.ReadAll(req.Body) // or the server does not see the client leave
	if err != nil && !errors.Is(err, io.EOF) {
		return
	}
	r.mu.Lock()
	release, lags := r.release, r.lags
	r.mu.Unlock()
	takes := time.After(r.takes)
	if req.URL.Path == hangPath {
		takes = nil
	} else if due := markIn(body, dueMark); due >= r.from.Load() {
		lags.add(time.Duration(now.UnixNano() - due))
		r.count.Add(1)
		release = nil
	}
	select {
	case <-takes:
	case <-release:
	case <-req.Context().Done():
	}
	w.WriteHeader(http.StatusNoContent)
}
