package api

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"bellhop/agenthost"
	"bellhop/crypto/seal"
	"bellhop/internal/wsline"
)

// StatusInterval is the shortest time between two frames of /status/events.
const StatusInterval = 500 * time.Millisecond

// API serves a host. Host is required.
type API struct {
	Host *agenthost.Host

	// Password is the agent password. Without one only callers on a loopback
	// address are answered.
	Password seal.Secret

	PublicURL      string       // its name is accepted as Host on loopback
	AllowedOrigins []string     // as httpapi.ParseOrigins returns them
	Log            *slog.Logger // nil = none

	// Ready says whether turns can be started; nil = always.
	Ready func(ctx context.Context) error

	Ping         time.Duration // 0 = sse.PingInterval
	WriteTimeout time.Duration // 0 = sse.WriteTimeout
	StatusEvery  time.Duration // 0 = StatusInterval

	Lines wsline.Limits // of a session's WebSocket clients
	Times wsline.Times

	channels channels
	ended    chan struct{}
	end      sync.Once
}

// End ends the streams of /status/events; those of sessions end with the host.
// It is for http.Server.RegisterOnShutdown, after Routes.
func (a *API) End() {
	a.end.Do(func() {
		close(a.ended)
		a.channels.stop()
	})
}

// Wait waits until every WebSocket client has left, which the end of the host
// brings about, or ctx ends: a server's shutdown does not know of them.
func (a *API) Wait(ctx context.Context) {
	left := make(chan struct{})
	go func() {
		defer close(left)
		a.channels.clients.Wait()
	}()
	select {
	case <-left:
	case <-ctx.Done():
	}
}
