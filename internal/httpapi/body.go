package httpapi

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"bellhop/protocol"
)

// DefaultMaxBody caps a body unless the route sets MaxBody.
const DefaultMaxBody = 1 << 20

// ReadBody reads a JSON body of at most limit bytes without parsing it. The error is
// CodeUnsupportedMedia unless the body is unencoded application/json in UTF-8, and CodeTooLarge
// after reading up to the limit: if the body stayed unread, the client would see a connection
// reset instead of the error. Without a body it returns an empty slice. It lifts the deadline
// set by RequestDeadline.
func ReadBody(c echo.Context, limit int64) ([]byte, error) {
	r := c.Request()
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	if err := checkMedia(r.Header); err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	if n := min(r.ContentLength, limit, 64<<10); n > 0 { // the declared length may never arrive
		buf.Grow(int(n) + bytes.MinRead)
	}
	_, err := buf.ReadFrom(http.MaxBytesReader(nil, r.Body, limit))
	if err != nil {
		c.Response().Header().Set("Connection", "close")
		return nil, BodyError(err, limit)
	}
	if err := setReadDeadline(c.Response(), time.Time{}); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// BodyError returns the error response for a failed read of a body of at most limit bytes.
func BodyError(err error, limit int64) error {
	var tooLarge *http.MaxBytesError
	var timeout net.Error
	switch {
	case errors.As(err, &tooLarge):
		e := &protocol.Error{Code: protocol.CodeTooLarge, Message: "The body is too large"}
		e.Hint = "The limit is " + byteCount(limit)
		return e
	case errors.As(err, &timeout) && timeout.Timeout():
		// A timeout may not be the client's fault and a retry may succeed, so it is no 4xx.
		return &protocol.Error{Code: protocol.CodeUnavailable, Message: "The body did not arrive in time", RetryAfter: 1}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &protocol.Error{Code: protocol.CodeInvalid, Message: "The body ended early", Err: err}
	default:
		return &protocol.Error{Code: protocol.CodeInvalid, Message: "The body cannot be read", Err: err}
	}
}

func checkMedia(header http.Header) error {
	for _, value := range header.Values("Content-Encoding") {
		if !strings.EqualFold(strings.TrimSpace(value), "identity") {
			return &protocol.Error{
				Code: protocol.CodeUnsupportedMedia, Message: "Encoded bodies are not accepted",
				Hint: "Send it without Content-Encoding",
			}
		}
	}
	kind, params, err := mime.ParseMediaType(header.Get("Content-Type"))
	charset := params["charset"]
	if err != nil || kind != "application/json" || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return &protocol.Error{
			Code: protocol.CodeUnsupportedMedia, Message: "The body must be JSON",
			Hint: "Send Content-Type: application/json",
		}
	}
	return nil
}

// RequestDeadline allows d for the body to arrive, counted from the end of the headers. It does
// not limit the handler: the deadline is lifted when the body was read or an event stream
// begins.
func RequestDeadline(d time.Duration) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			// Without a body the server reads ahead to notice a disconnect, and a deadline
			// would end the request.
			if body := c.Request().Body; body != nil && body != http.NoBody {
				if err := setReadDeadline(c.Response(), time.Now().Add(d)); err != nil {
					return err
				}
			}
			return next(c)
		}
	}
}

func setReadDeadline(w http.ResponseWriter, at time.Time) error {
	err := http.NewResponseController(w).SetReadDeadline(at)
	if errors.Is(err, http.ErrNotSupported) { // a recorder in a test has no deadlines
		return nil
	}
	return err
}

func byteCount(n int64) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return itoa(n>>20) + " MiB"
	case n >= 1<<10 && n%(1<<10) == 0:
		return itoa(n>>10) + " KiB"
	default:
		return itoa(n) + " bytes"
	}
}
