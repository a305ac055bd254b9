package httpapi

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Limits of a server (reliability IN-4).
const (
	HeaderTimeout  = 5 * time.Second
	IdleTimeout    = 2 * time.Minute
	MaxHeaderBytes = 32 << 10
)

// ServerOptions are the settings of Server.
type ServerOptions struct {
	Log         *slog.Logger                       // nil = none
	BaseContext func(net.Listener) context.Context // nil = context.Background
}

// Server returns a server that limits headers and idle connections. It has no WriteTimeout,
// which would cut streams: writers set their own deadlines, and RequestDeadline limits reading.
func Server(h http.Handler, opts ServerOptions) *http.Server {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: HeaderTimeout,
		IdleTimeout:       IdleTimeout,
		// net/http adds 4 KiB to this value.
		MaxHeaderBytes: MaxHeaderBytes - 4<<10,
		ErrorLog:       slog.NewLogLogger(opts.Log.Handler(), slog.LevelDebug),
		BaseContext:    opts.BaseContext,
	}
}
