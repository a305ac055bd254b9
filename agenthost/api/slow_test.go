package api_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"bellhop/agenthost"
	"bellhop/agenthost/api"
	"bellhop/protocol"
)

// attachStalledReader attaches a client that never reads.
func (h *host) attachStalledReader(session, token string) {
	h.t.Helper()
	address := strings.TrimPrefix(h.url, "http://")
	conn, err := (&net.Dialer{}).DialContext(h.t.Context(), "tcp", address)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = conn.Close() })
	if _, err := fmt.Fprintf(conn, "GET /stream/%s?token=%s HTTP/1.1\r\nHost: %s\r\n\r\n", session, token,
		address); err != nil {
		h.t.Fatal(err)
	}
}

func TestStalledReadersAreClosedWithoutDelayingOthers(t *testing.T) {
	t.Parallel()
	h := newHost(t, func(a *api.API, _ *http.Server) { a.WriteTimeout = 5 * time.Second }) // a busy machine delays healthy readers, too
	const pieces, size = 200, 64 << 10
	taken := make(chan struct{}) // the healthy reader has the piece
	h.fake.Play = func(ctx context.Context, _ agenthost.Prompt, out agenthost.Output) (agenthost.Outcome, error) {
		for range pieces {
			if err := out.Text(strings.Repeat("x", size)); err != nil {
				return agenthost.Outcome{}, err
			}
			select {
			case <-taken:
			case <-ctx.Done():
				return agenthost.Outcome{}, ctx.Err()
			}
		}
		return agenthost.Outcome{}, nil
	}
	token := h.announce("s1", "t1")
	healthy := h.prompt("s1", token, "go")
	healthy.readUntil(protocol.PartTextStart)
	const stalled = 3
	for range stalled {
		h.attachStalledReader("s1", token)
	}
	// The host may cut a piece into several frames, so the text counts: a reader of the last piece is never behind.
	got := 0
	part, err := healthy.next()
	for ; err == nil; part, err = healthy.next() {
		if part.Type != protocol.PartTextDelta {
			continue
		}
		whole := got / size
		if got += len(*part.Text); got/size > whole {
			taken <- struct{}{}
		}
	}
	if got != pieces*size {
		t.Fatalf("the healthy reader got %d bytes, then %v; the host logged %s", got, err, h.log.String())
	}
	h.finishedEvents("s1")
	for start := time.Now(); strings.Count(h.log.String(),
		"closed the stream of a slow reader") < stalled; time.Sleep(time.Millisecond) {
		if time.Since(start) > guard {
			t.Fatal("the streams of stalled readers were not closed")
		}
	}
}
