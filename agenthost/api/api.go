package api

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"bellhop/agenthost"
	"bellhop/crypto/seal"
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

	ended chan struct{}
	end   sync.Once
}

// End ends the streams of /status/events; those of sessions end with the host.
// It is for http.Server.RegisterOnShutdown, after Routes.
func (a *API) End() { a.end.Do(func() { close(a.ended) }) }
