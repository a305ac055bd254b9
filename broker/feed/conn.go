package feed

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/r3labs/sse/v2"

	"bellhop/protocol"
)

// Frame names besides those of the changes.
const (
	frameHello = "hello"
	frameReset = "reset"
	frameBye   = "bye"
	frameTask  = "task"  // a hint in the user's feed
	frameAgent = "agent" // also a hint in the user's feed

	frameAnnouncements = "announcements" // in the user's feed: they have changed
)

// accessLimit limits one check of a reader's access. Together with the time between
// two checks it stays below the 5 s of reliability SSE-5.
const accessLimit = time.Second

// conn is one connection: an r3labs stream with one subscriber. Only its pump, the
// function that reads changes and sends them as frames, publishes on it.
type conn struct {
	feed   *Feed
	name   string
	writer *writer
	window *window       // limits the frames that are not written yet
	ready  chan struct{} // closed by r3labs when the subscriber is registered
	gone   chan struct{} // closed by r3labs when the subscriber is removed
}

func (f *Feed) subscribed(name string, _ *sse.Subscriber) {
	if c, ok := f.conns.Load(name); ok {
		close(c.(*conn).ready)
	}
}

func (f *Feed) unsubscribed(name string, _ *sse.Subscriber) {
	if c, ok := f.conns.LoadAndDelete(name); ok {
		close(c.(*conn).gone)
	}
}

// serve keeps the connection until its reader disconnects, pump returns, allowed
// returns false, or the feed stops. When the feed stops, it sends bye with the id
// that pump returned. All its goroutines have ended when it returns.
func (f *Feed) serve(
	w http.ResponseWriter, r *http.Request, allowed func(context.Context) bool, pump func(context.Context, *conn) int64,
) error {
	if !f.enter() {
		return &protocol.Error{Code: protocol.CodeUnavailable, Message: "The broker is stopping", RetryAfter: 1}
	}
	defer f.open.Done()

	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	c := f.connect(w, r, cancel)
	var running sync.WaitGroup
	running.Go(func() { c.guard(ctx, allowed) })
	running.Go(func() {
		defer cancel()
		c.run(ctx, pump)
	})

	f.server.ServeHTTP(c.writer, asStream(r.WithContext(ctx), c.name))

	// RemoveStream leaks a goroutine if r3labs has not removed the subscriber yet.
	cancel()
	<-c.gone
	f.server.RemoveStream(c.name)
	running.Wait()
	return nil
}

func (f *Feed) connect(w http.ResponseWriter, r *http.Request, cancel context.CancelFunc) *conn {
	c := &conn{
		feed:   f,
		name:   rand.Text(),
		window: newWindow(),
		ready:  make(chan struct{}),
		gone:   make(chan struct{}),
	}
	c.writer = &writer{
		ResponseWriter: w,
		control:        http.NewResponseController(w),
		limit:          f.opts.Write,
		http1:          r.ProtoMajor < 2,
		fail:           cancel,
		window:         c.window,
	}
	f.conns.Store(c.name, c)
	f.server.CreateStream(c.name)
	return c
}

// asStream turns r into a request for the r3labs stream. The reader's query and
// Last-Event-ID must not reach r3labs: it would select a stream by the query, and
// reject the id with 400.
func asStream(r *http.Request, name string) *http.Request {
	out := r.Clone(r.Context())
	out.URL = &url.URL{Path: r.URL.Path, RawQuery: "stream=" + name}
	out.Header.Del("Last-Event-ID")
	return out
}

// run starts the pump once r3labs has registered the subscriber, because r3labs
// drops earlier frames.
func (c *conn) run(ctx context.Context, pump func(context.Context, *conn) int64) {
	select {
	case <-c.ready:
	case <-ctx.Done():
		return
	}
	id := pump(ctx, c)
	if c.feed.stopped() && c.send(ctx, id, frameBye, struct{}{}) != nil {
		return
	}
	_ = c.window.drained(ctx) // an error means that the reader disconnected
}

// guard ends the connection when its reader loses access.
func (c *conn) guard(ctx context.Context, allowed func(context.Context) bool) {
	tick := time.NewTicker(c.feed.opts.Access)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if !stillAllowed(ctx, allowed) {
			c.writer.cut()
			return
		}
	}
}

func stillAllowed(ctx context.Context, allowed func(context.Context) bool) bool {
	ctx, cancel := context.WithTimeout(ctx, accessLimit)
	defer cancel()
	return allowed(ctx)
}

// send queues a frame, after waiting for room. It fails only when the connection
// has ended.
func (c *conn) send(ctx context.Context, id int64, name string, data any) error {
	body, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("feed: encode %s: %w", name, err)
	}
	// JSON needs no carriage return outside its strings, and a bare CR would end an
	// SSE line.
	body = bytes.ReplaceAll(body, []byte{'\r'}, nil)
	if err := c.window.acquire(ctx, len(body)); err != nil {
		return err
	}
	c.feed.server.Publish(c.name, &sse.Event{
		ID:    strconv.AppendInt(nil, id, 10),
		Event: []byte(name),
		Data:  body,
	})
	return nil
}

// ping queues a comment. If the window is full, it does nothing, because the reader
// still has other bytes to read.
func (c *conn) ping() {
	if c.window.take(len("ping")) {
		c.feed.server.Publish(c.name, &sse.Event{Comment: []byte("ping")})
	}
}
