// Package requestid passes the id of an HTTP request on, which package observe keeps in the request's context: into
// log records, and into the requests that are made on its behalf, so that the logs of several programs can be joined.
package requestid

import (
	"context"
	"log/slog"
	"net/http"

	"bellhop/internal/lazyregexp"
	"bellhop/internal/observe"
)

// Header has the id in requests and responses.
const Header = "X-Request-Id"

// LogKey is the key of the id in log records.
const LogKey = "request_id"

var form = lazyregexp.New(`^[A-Za-z0-9_-]{1,64}$`)

// Valid reports whether an id that a client chose may be used and logged.
func Valid(id string) bool { return form.MatchString(id) }

// Forward gives an outgoing request the id of the request that it is made for, if there is one.
func Forward(r *http.Request) {
	if id := observe.RequestID(r.Context()); id != "" {
		r.Header.Set(Header, id)
	}
}

// LogHandler returns a handler that adds the id of the context to each record.
func LogHandler(next slog.Handler) slog.Handler { return handler{next} }

type handler struct{ slog.Handler }

func (h handler) Handle(ctx context.Context, record slog.Record) error {
	if id := observe.RequestID(ctx); id != "" {
		record.AddAttrs(slog.String(LogKey, id))
	}
	return h.Handler.Handle(ctx, record)
}

func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.Handler.WithAttrs(attrs)}
}

func (h handler) WithGroup(name string) slog.Handler { return handler{h.Handler.WithGroup(name)} }
