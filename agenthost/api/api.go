package api

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"bellhop/agenthost"
	"bellhop/crypto/seal"
	"bellhop/internal/diskspace"
	"bellhop/internal/httpapi"
	"bellhop/internal/wsline"
	"bellhop/protocol"
)

// StatusInterval is the shortest time between two frames of /status/events.
const StatusInterval = 500 * time.Millisecond

// API serves the HTTP API of a host. Host is required.
type API struct {
	Host *agenthost.Host

	// Password is the agent password. Without it, only requests to a loopback
	// address are accepted.
	Password seal.Secret

	// OperatorKey opens every session, beside the password. It is a file in the host's data;
	// "" = there is none.
	OperatorKey seal.Secret

	// Life is named in every answer, as protocol.Life.Short returns it; "" = none.
	Life string

	PublicURL      string       // its name is accepted as Host on loopback
	AllowedOrigins []string     // as returned by httpapi.ParseOrigins
	Log            *slog.Logger // nil = none

	// Disk measures the disk of the journal. Without a path nothing is measured.
	Disk diskspace.Monitor

	// Ready returns an error while turns cannot start; nil = always ready.
	Ready func(ctx context.Context) error

	// Offer describes what tasks can choose from; nil = GET /offer answers 404.
	Offer func(ctx context.Context) (*protocol.HostOffer, error)

	Installations Installations // nil = the host installs no programs

	// Describe returns the description of a workspace, for GET /status; nil = there is none.
	Describe func(ctx context.Context, path string) (*agenthost.WorkspaceDescription, error)

	// Streams holds the streams of sessions that continue without their handler. The caller shuts
	// them down after its server; nil = a handler writes its stream to the end.
	Streams *httpapi.Streams

	Metrics http.Handler // answers GET /metrics; nil = there are none

	Now          func() time.Time // nil = time.Now
	Ping         time.Duration    // 0 = sse.PingInterval
	WriteTimeout time.Duration    // 0 = sse.WriteTimeout
	StatusEvery  time.Duration    // 0 = StatusInterval

	Lines   wsline.Limits // of a session's WebSocket clients
	Times   wsline.Times
	Version string        // of the program, for clients of the lines and the status
	Settle  time.Duration // for how long a call is held back, because a question about it may follow; 0 = 1 s

	channels channels
	tickets  shellTickets
	wrong    *httpapi.Limiter // of wrong passwords, by address
	ended    chan struct{}
	endOnce  sync.Once
}

// End ends the streams of /status/events and notifies WebSocket clients. The
// streams of sessions end with the host. Register it with
// http.Server.RegisterOnShutdown after Routes.
func (a *API) End() {
	a.endOnce.Do(func() {
		close(a.ended)
		a.channels.stop()
	})
}

// Wait waits until every WebSocket client has left or ctx ends, because
// http.Server.Shutdown does not wait for them. The end of the host closes them.
func (a *API) Wait(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.channels.clients.Wait()
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

func (a *API) now() time.Time {
	if a.Now == nil {
		return time.Now()
	}
	return a.Now()
}
