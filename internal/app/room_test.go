package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"bellhop/protocol"
)

// On a disk without room for a start the server answers health checks, refuses all
// else with 507, and opens by itself once there is room.
func TestAServerThatCannotOpenForWantOfRoomWaitsForIt(t *testing.T) {
	t.Parallel()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	full := fmt.Errorf("open the journal: %w", syscall.ENOSPC)
	var room atomic.Bool
	opened := make(chan error, 1)
	go func() {
		opened <- openWithRoom(t.Context(), listener, slog.New(slog.DiscardHandler), func() error {
			if room.Load() {
				return nil
			}
			return full
		})
	}()
	url := "http://" + listener.Addr().String()
	for path, want := range map[string]string{
		"/healthz": `200 {"status":"ok"}`,
		"/readyz":  `507 {"error":"The disk is full","code":"storage_full","hint":"Make room; the server starts by itself then. Nothing that was acknowledged is lost"}`,
		"/status":  `507 {"error":"The disk is full","code":"storage_full","hint":"Make room; the server starts by itself then. Nothing that was acknowledged is lost"}`,
	} {
		if got := get(t, url+path); got != want {
			t.Errorf("%s: %s", path, got)
		}
	}
	room.Store(true)
	if err := <-opened; err != nil {
		t.Fatal(err)
	}
	go func() { _ = http.Serve(listener, http.NotFoundHandler()) }() //nolint:gosec // a test's
	if got := get(t, url+"/healthz"); got != "404 404 page not found" {
		t.Errorf("the server that was waited for does not have the listener: %s", got)
	}
}

func TestOnlyAFullDiskIsWaitedFor(t *testing.T) {
	t.Parallel()
	wrong := errors.New("wrong keyset")
	err := openWithRoom(t.Context(), nil, slog.New(slog.DiscardHandler), func() error { return wrong })
	if !errors.Is(err, wrong) {
		t.Error(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err = openWithRoom(ctx, listener, slog.New(slog.DiscardHandler), func() error { return errNoRoom })
	if protocol.CodeOf(err) != protocol.CodeStorageFull || !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(fmt.Sprintf("%d %s", resp.StatusCode, body))
}
