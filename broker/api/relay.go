package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"bellhop/broker"
	"bellhop/protocol"
)

const (
	relayBuffer = 32 << 10
	relayWrite  = 30 * time.Second // a reader that takes nothing for so long is cut
)

// toHost and toBrowser are the headers that a relay passes on. Cookies are the
// broker's own, and its CORS headers replace the host's.
var (
	toHost    = []string{"Accept", "Authorization", "Content-Type", "Last-Event-ID"}
	toBrowser = []string{"Content-Type", "Cache-Control", "Retry-After", "X-Accel-Buffering", "X-Vercel-Ai-Ui-Message-Stream"}
)

// relay passes a stream through as it comes. The stream token is the host's to
// check, so that no other sign-in is asked for: same token, same answers.
func (a *API) relay(c echo.Context) error {
	r := c.Request()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(a.ending(), cancel)()
	header := http.Header{}
	for _, name := range toHost {
		if values := r.Header.Values(name); len(values) > 0 {
			header[http.CanonicalHeaderKey(name)] = values
		}
	}
	answer, err := a.Sessions.Relay(ctx, &broker.RelayRequest{
		SessionID: c.Param("taskId"), Method: r.Method, Query: c.QueryParams(), Header: header,
		Body: http.MaxBytesReader(c.Response(), r.Body, protocol.MaxLine), Length: r.ContentLength,
	})
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	for _, name := range toBrowser {
		if value := answer.Header.Get(name); value != "" {
			c.Response().Header().Set(name, value)
		}
	}
	c.Response().WriteHeader(answer.StatusCode)
	if err := pass(c.Response(), answer.Body); err != nil && ctx.Err() == nil {
		panic(http.ErrAbortHandler) // a clean end would look like the stream's own
	}
	return nil
}

// pass hands on what there is, as soon as it is there.
func pass(w http.ResponseWriter, from io.Reader) error {
	control := http.NewResponseController(w)
	if err := control.Flush(); err != nil {
		return err
	}
	buffer := make([]byte, relayBuffer)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if err := control.SetWriteDeadline(time.Now().Add(relayWrite)); err != nil && !errors.Is(err, http.ErrNotSupported) {
				return err
			}
			if _, err := w.Write(buffer[:n]); err != nil {
				return err
			}
			if err := control.Flush(); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// ending ends when End was called.
func (a *API) ending() context.Context {
	a.once.Do(func() { a.alive, a.end = context.WithCancel(context.Background()) })
	return a.alive
}

// End ends what would not end by itself: relayed streams.
func (a *API) End() {
	a.ending()
	a.end()
}
