package httpapi

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"bellhop/internal/observe"
	"bellhop/internal/requestid"
	"bellhop/protocol"
)

// BodyTimeout bounds how long the body of a request may take to arrive (reliability IN-4).
const BodyTimeout = 10 * time.Second

// Options are the settings of New.
type Options struct {
	Log         *slog.Logger     // nil = none
	BodyTimeout time.Duration    // 0 = BodyTimeout
	Now         func() time.Time // nil = time.Now
	Proxies     []netip.Prefix   // whose X-Forwarded-For is believed; nil = none
	Observer    observe.Observer // of requests, by the pattern of their route; nil = none
}

// New returns an Echo that writes errors in the one format, recovers from panics, logs requests
// without their query, trusts the forwarding headers of Options.Proxies only and never redirects. Middleware added with
// Use also runs for unknown routes and wrong methods.
func New(opts Options) *echo.Echo {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.BodyTimeout <= 0 {
		opts.BodyTimeout = BodyTimeout
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.Logger.SetOutput(io.Discard)
	e.IPExtractor = ClientAddress(opts.Proxies)
	e.HTTPErrorHandler = ErrorHandler(opts.Log)
	e.Use(requests(opts), recoverPanics, plainPaths, RequestDeadline(opts.BodyTimeout))
	return e
}

// requests begins and ends each request. It writes error responses itself, so that it can log their status. A request
// whose response continues after its handler ends with that response.
func requests(opts Options) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			start := opts.Now()
			request := begin(c, opts.Observer)
			cut := true
			defer func() {
				if cut { // by http.ErrAbortHandler
					request.End(outcomeOf(c.Response().Status, nil))
				}
			}()
			err := next(c)
			if err != nil {
				c.Error(err)
			}
			cut = false
			status, record := c.Response().Status, requestRecord(c, opts, start)
			if rest := detached(c); rest != nil {
				finish(c, opts.Log, rest, func(written int64, err error) {
					request.End(outcomeOf(status, err))
					record(written)
				})
				return nil
			}
			request.End(outcomeOf(status, err))
			record(c.Response().Size)
			return nil
		}
	}
}

// finish writes the rest of a response in a goroutine of its own, and calls ended after it.
func finish(
	c echo.Context, log *slog.Logger, rest func(func(written int64, err error)), ended func(written int64, err error),
) {
	ctx, method, route := c.Request().Context(), c.Request().Method, c.Path()
	go rest(func(written int64, err error) {
		if err != nil {
			log.ErrorContext(ctx, "request failed", "method", method, "route", route,
				"code", protocol.CodeInternal, "err", Redact(err.Error()))
		}
		ended(written, err)
	})
}

// requestRecord returns the function that logs a request when its response has ended. The function
// does not use c, which serves another request by then.
func requestRecord(c echo.Context, opts Options, start time.Time) func(written int64) {
	r, status, level := c.Request(), c.Response().Status, requestLevel(c.Response().Status)
	ctx := r.Context()
	if !opts.Log.Enabled(ctx, level) {
		return func(int64) {}
	}
	method, path, route, peer := r.Method, r.URL.Path, c.Path(), c.RealIP()
	return func(written int64) {
		opts.Log.Log(ctx, level, "request", "method", method, "path", path, "route", route, "status", status,
			"bytes", written, "duration", opts.Now().Sub(start), "peer", peer)
	}
}

// begin gives a request its id and its trace, and begins it for the observer. A path without a route has the name
// "none": the path itself is the sender's text. All of it is one new context, since each copies the request.
func begin(c echo.Context, observer observe.Observer) observe.Running {
	r, route := c.Request(), c.Path()
	if route == "" {
		route = noRoute
	}
	id := r.Header.Get(requestid.Header)
	if !requestid.Valid(id) {
		id = protocol.NewID()
	}
	header := c.Response().Header()
	header.Set(requestid.Header, id)
	header.Set(echo.HeaderXContentTypeOptions, "nosniff")
	ctx := observe.WithRequest(r.Context(), id, r.Header.Get(observe.TraceHeader))
	ctx, request := observe.Begin(ctx, observer, observe.Start{Operation: observe.Request, Name: route, Method: r.Method})
	c.SetRequest(r.WithContext(ctx))
	return request
}

func outcomeOf(status int, err error) observe.Outcome {
	out := observe.Outcome{Status: status}
	if err != nil {
		out.Err = asError(err)
	}
	return out
}

const noRoute = "none"

// requestLevel logs successful requests at debug level only, since a busy host posts very many.
func requestLevel(status int) slog.Level {
	if status < http.StatusBadRequest {
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

func recoverPanics(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			switch p := recover(); p {
			case nil:
			case http.ErrAbortHandler:
				panic(p)
			default:
				err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
			}
		}()
		return next(c)
	}
}

// plainPaths answers 404 where Echo would match an empty path parameter (so that /tasks/ would
// equal /tasks/:id), or where the last parameter would match several path segments.
func plainPaths(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		values := c.ParamValues()
		for i, name := range c.ParamNames() {
			if name != "*" && i < len(values) && (values[i] == "" || strings.Contains(values[i], "/")) {
				return echo.ErrNotFound
			}
		}
		return next(c)
	}
}

// NoStore sets the headers of responses that contain tokens (reliability AUTH-7).
func NoStore() echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			header := c.Response().Header()
			header.Set("Referrer-Policy", "no-referrer")
			header.Set("Cache-Control", "no-store")
			header.Set(echo.HeaderXContentTypeOptions, "nosniff")
			return next(c)
		}
	}
}
