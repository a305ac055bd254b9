package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"
)

// receiversRole receives outbound webhooks. Each receiver has its own port, so the
// broker treats it as a separate host.
type receiversRole struct {
	*life
	takes time.Duration

	mu      sync.Mutex
	from    int64 // deliveries due before it are not counted
	lags    samples
	release chan struct{} // closed to release the hanging requests
}

const (
	dueMark  = "due@"
	hangPath = "/hang"
)

// ReceiversOrder is the configuration of receivers.
type ReceiversOrder struct {
	Count int           // number of receivers, or of deliveries to wait for
	Takes time.Duration // response time of a receiver
	For   time.Duration // how long deliveries are counted after these
}

// ReceiversResult describes the deliveries that arrived.
type ReceiversResult struct {
	Rate float64 // per second
	Lag  spread  // from due to arrived
}

// Open starts receivers and returns their URLs.
func (r *receiversRole) Open(o ReceiversOrder, urls *[]string) error { //nolint:unparam // net/rpc wants it
	r.takes = o.Takes
	for range o.Count {
		server := httptest.NewServer(http.HandlerFunc(r.take))
		context.AfterFunc(r.ctx, server.CloseClientConnections)
		*urls = append(*urls, server.URL)
	}
	return nil
}

// Expect resets the counts and releases the hanging requests.
func (r *receiversRole) Expect(from int64, _ *bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.from = from
	r.lags.reset()
	close(r.release)
	r.release = make(chan struct{})
	return nil
}

// Collect waits for deliveries, counts further ones for a while, and returns the lag
// of all.
func (r *receiversRole) Collect(o ReceiversOrder, out *ReceiversResult) error {
	err := r.await("deliveries", func() (have, want int64) { return int64(r.lags.count()), int64(o.Count) })
	if err != nil {
		return err
	}
	before, start := r.lags.count(), time.Now()
	span(r.ctx, o.For)
	out.Rate = float64(r.lags.count()-before) / time.Since(start).Seconds()
	out.Lag = r.lags.spread()
	return nil
}

func (r *receiversRole) take(w http.ResponseWriter, req *http.Request) {
	now := time.Now()
	body, err := io.ReadAll(req.Body) // otherwise the server does not notice that the client disconnects
	if err != nil && !errors.Is(err, io.EOF) {
		return
	}
	due, takes, hangs := markIn(body, dueMark), time.After(r.takes), req.URL.Path == hangPath
	r.mu.Lock()
	release, counted := r.release, !hangs && due >= r.from
	r.mu.Unlock()
	if hangs {
		takes = nil
	}
	if counted {
		r.lags.add(time.Duration(now.UnixNano() - due))
		release = nil
	}
	select {
	case <-takes:
	case <-release:
	case <-req.Context().Done():
	}
	w.WriteHeader(http.StatusNoContent)
}
