package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// receiversRole receives outbound webhooks. Each receiver has its own port, so the
// broker treats it as a separate host.
type receiversRole struct {
	takes   time.Duration
	server  *http.Server
	serving sync.WaitGroup

	from  atomic.Int64 // deliveries due before it are not counted
	count atomic.Int64

	mu      sync.Mutex
	lags    *samples
	release chan struct{} // closed to release the hanging requests
}

const (
	dueMark  = "due@"
	hangPath = "/hang"
	patience = time.Minute // for all deliveries to arrive
)

// ReceiversOrder is the configuration of receivers.
type ReceiversOrder struct {
	Count int           // number of receivers or deliveries
	Takes time.Duration // response time of a receiver
	From  int64         // deliveries due before it are not counted
	For   time.Duration
}

// ReceiversResult describes the deliveries that arrived.
type ReceiversResult struct {
	Rate float64 // per second
	Lag  spread  // from due to arrived
}

func newReceiversRole() *receiversRole {
	r := &receiversRole{lags: &samples{}, release: make(chan struct{})}
	r.server = &http.Server{Handler: http.HandlerFunc(r.take)} //nolint:gosec // on loopback, for its own children
	return r
}

func (r *receiversRole) close() error {
	err := r.server.Close()
	r.serving.Wait()
	return err
}

// Open starts receivers and returns their URLs.
func (r *receiversRole) Open(o ReceiversOrder, urls *[]string) error {
	r.takes = o.Takes
	for range o.Count {
		l, err := listen(context.Background())
		if err != nil {
			return err
		}
		*urls = append(*urls, "http://"+l.Addr().String())
		r.serving.Go(func() { _ = r.server.Serve(l) })
	}
	return nil
}

// Expect resets the counts and releases the hanging requests.
func (r *receiversRole) Expect(o ReceiversOrder, _ *bool) error {
	r.from.Store(o.From)
	r.count.Store(0)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lags = &samples{}
	close(r.release)
	r.release = make(chan struct{})
	return nil
}

// Rate counts deliveries for a while, beginning with the first one.
func (r *receiversRole) Rate(o ReceiversOrder, out *ReceiversResult) error {
	if err := r.await(1); err != nil {
		return err
	}
	before, start := r.count.Load(), time.Now()
	time.Sleep(o.For)
	out.Rate = float64(r.count.Load()-before) / time.Since(start).Seconds()
	return nil
}

// Collect waits for deliveries and returns their lag.
func (r *receiversRole) Collect(o ReceiversOrder, out *ReceiversResult) error {
	err := r.await(o.Count)
	r.mu.Lock()
	defer r.mu.Unlock()
	out.Lag = r.lags.spread()
	return err
}

func (r *receiversRole) await(n int) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
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

func (r *receiversRole) take(w http.ResponseWriter, req *http.Request) {
	now := time.Now()
	body, err := io.ReadAll(req.Body) // otherwise the server does not notice that the client disconnects
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
