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
	e.Use(requestID, requestLog(opts), recoverPanics, plainPaths, RequestDeadline(opts.BodyTimeout))
	return e
}

func requestID(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		id := r.Header.Get(requestid.Header)
		if !requestid.Valid(id) {
			id = protocol.NewID()
		}
		header := c.Response().Header()
		header.Set(requestid.Header, id)
		header.Set(echo.HeaderXContentTypeOptions, "nosniff")
		c.SetRequest(r.WithContext(requestid.With(r.Context(), id)))
		return next(c)
	}
}

// requestLog writes error responses itself, so that it can log their status.
func requestLog(opts Options) echo.MiddlewareFunc {
	log, now := opts.Log, opts.Now
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			start := now()
			end := observeRequest(c, opts.Observer)
			var err error
			defer func() { end(err) }() // also when http.ErrAbortHandler cuts the response
			if err = next(c); err != nil {
				c.Error(err)
			}
			r, resp := c.Request(), c.Response()
			if !log.Enabled(r.Context(), requestLevel(resp.Status)) {
				return nil
			}
			log.Log(r.Context(), requestLevel(resp.Status), "request",
				"method", r.Method, "path", r.URL.Path, "route", c.Path(), "status", resp.Status, "bytes", resp.Size,
				"duration", now().Sub(start), "peer", c.RealIP())
			return nil
		}
	}
}

// observeRequest begins the request for the observer. A path without a route has the name "none": the
// path itself is the sender's text.
func observeRequest(c echo.Context, observer observe.Observer) (end func(error)) {
	if observer == nil {
		return func(error) {}
	}
	r, route := c.Request(), c.Path()
	if route == "" {
		route = noRoute
	}
	ctx, ended := observe.Begin(r.Context(), observer, observe.Start{Operation: observe.Request, Name: route, Method: r.Method})
	c.SetRequest(r.WithContext(ctx))
	return func(err error) {
		out := observe.Outcome{Status: c.Response().Status}
		if err != nil {
			out.Err = asError(err)
		}
		ended(out)
	}
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
