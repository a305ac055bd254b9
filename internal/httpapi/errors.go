package httpapi

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"bellhop/internal/lazyregexp"
	"bellhop/protocol"
)

// ErrorHandler writes every error in the one format. Causes are logged, once, and never sent to
// the peer; an internal error is sent as "Internal error".
func ErrorHandler(log *slog.Logger) echo.HTTPErrorHandler {
	return func(err error, c echo.Context) {
		e := asError(err)
		logError(log, c, e)
		if c.Response().Committed {
			return
		}
		if writeErr := writeError(c, e); writeErr != nil {
			log.DebugContext(c.Request().Context(), "error not delivered", "route", c.Path(), "err", Redact(writeErr.Error()))
		}
	}
}

// asError returns the protocol.Error in err, or makes one.
func asError(err error) *protocol.Error {
	var e *protocol.Error
	var he *echo.HTTPError
	switch {
	case errors.As(err, &e):
		if _, known := statusOf[e.Code]; !known || e.Code == protocol.CodeInternal {
			return internal(err)
		}
		return e
	case errors.As(err, &he):
		code := codeOfStatus(he.Code)
		if code == protocol.CodeInternal {
			return internal(err)
		}
		return &protocol.Error{Code: code, Message: sentence(he.Code), Err: he.Internal}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &protocol.Error{Code: protocol.CodeUnavailable, Message: "The request took too long", Err: err}
	default:
		return internal(err)
	}
}

func internal(err error) *protocol.Error {
	return &protocol.Error{Code: protocol.CodeInternal, Message: "Internal error", Err: err}
}

// sentence returns the standard text of a status as a message, such as "Not found".
func sentence(status int) string {
	text := []byte(http.StatusText(status))
	if len(text) == 0 {
		return "Bad request"
	}
	return string(text[:1]) + string(bytes.ToLower(text[1:]))
}

func logError(log *slog.Logger, c echo.Context, e *protocol.Error) {
	ctx := c.Request().Context()
	if e.Err == nil || ctx.Err() != nil { // there is no cause, or the peer has disconnected
		return
	}
	level := slog.LevelDebug
	switch {
	case e.Code == protocol.CodeInternal:
		level = slog.LevelError
	case StatusOf(e.Code) >= http.StatusInternalServerError:
		level = slog.LevelWarn
	}
	log.Log(ctx, level, "request failed", "method", c.Request().Method, "route", c.Path(),
		"code", e.Code, "err", Redact(e.Err.Error()))
}

// errorBody is the one format of errors; the members of Fields follow it.
type errorBody struct {
	protocol.ErrorBody
	Cursor *protocol.Cursor `json:"cursor,omitempty"`
	Index  *int             `json:"index,omitempty"`
}

func writeError(c echo.Context, e *protocol.Error) error {
	status := StatusOf(e.Code)
	header := c.Response().Header()
	header.Set("Cache-Control", "no-store")
	switch retryAfter := e.RetryAfter; {
	case retryAfter > 0:
		header.Set("Retry-After", strconv.Itoa(retryAfter))
	case e.Code == protocol.CodeTooManyRequests, e.Code == protocol.CodeUnavailable:
		header.Set("Retry-After", "1")
	}
	format, other := c.Get(formatKey).(ErrorFormat)
	if !other {
		format = houseFormat
	}
	body, err := format(header, e)
	if err != nil {
		return err
	}
	if c.Request().Method == http.MethodHead {
		return c.NoContent(status)
	}
	return c.JSONBlob(status, body)
}

// ErrorFormat writes an error as an endpoint of another protocol has to: it may set
// headers and returns the JSON body.
type ErrorFormat func(header http.Header, e *protocol.Error) ([]byte, error)

const formatKey = "bellhop.errorFormat"

// FormatErrors is a middleware that gives the errors of a route another format. It must
// come before the middleware whose errors it is for.
func FormatErrors(format ErrorFormat) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			c.Set(formatKey, format)
			return next(c)
		}
	}
}

func houseFormat(header http.Header, e *protocol.Error) ([]byte, error) {
	if StatusOf(e.Code) == http.StatusUnauthorized {
		header.Set("WWW-Authenticate", "Bearer")
	}
	return encodeError(e)
}

func encodeError(e *protocol.Error) ([]byte, error) {
	body, err := protocol.Marshal(errorBody{
		ErrorBody: protocol.ErrorBody{Error: e.Message, Code: cmp.Or(e.Relayed, e.Code), Hint: e.Hint},
		Cursor:    e.Cursor,
		Index:     e.Index,
	})
	if err != nil || len(e.Fields) == 0 {
		return body, err
	}
	more := make(map[string]any, len(e.Fields))
	for name, value := range e.Fields {
		switch name {
		case "error", "code", "hint", "cursor", "index":
		default:
			more[name] = value
		}
	}
	if len(more) == 0 {
		return body, nil
	}
	fields, err := protocol.Marshal(more)
	if err != nil {
		return nil, err
	}
	return append(append(body[:len(body)-1], ','), fields[1:]...), nil
}

var (
	urlQuery    = lazyregexp.New(`(://[^\s"'?]*)\?[^\s"']*`)
	urlUserinfo = lazyregexp.New(`://[^\s"'/?#@]*@`)
)

// Redact removes the query and the user from every URL in a text for the log. *url.Error, for
// example, prints the complete URL with its tokens.
func Redact(text string) string {
	text = urlQuery.ReplaceAllString(text, "$1?[redacted]")
	return urlUserinfo.ReplaceAllString(text, "://[redacted]@")
}
