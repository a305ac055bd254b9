package api

import (
	"context"
	"errors"
	"net/http"
	"os"

	"github.com/labstack/echo/v4"

	"bellhop/agenthost"
	"bellhop/internal/httpapi"
	"bellhop/internal/sse"
	"bellhop/protocol"
)

// backlogBatch is the number of bytes of a backlog that share one write deadline,
// so that a slow client can receive a long backlog.
const backlogBatch = 64 << 10

// startStream starts the token's turn unless it has started, and streams it.
func (a *API) startStream(c echo.Context) error {
	grant, leave, err := a.openGrant(c)
	if err != nil {
		return err
	}
	defer leave()
	version, err := uiVersion(c)
	if err != nil {
		return err
	}
	raw, err := httpapi.ReadBody(c, protocol.MaxPrompt)
	if err != nil {
		return err
	}
	var req protocol.PromptRequest
	if err := protocol.Decode(raw, &req); err != nil {
		return err
	}
	if err := protocol.CheckAttachments(req.Attachments); err != nil {
		return err
	}
	// The turn does not belong to this request: it starts even if the client
	// disconnects.
	stream, err := a.Host.StartAfter(context.WithoutCancel(c.Request().Context()), grant, &req, cursorOf(c, version))
	if err != nil {
		return err
	}
	if stream == nil {
		return nothingNewer(c)
	}
	return a.serveStream(c, stream, version)
}

// nothingNewer answers a reader that has everything. Readers of the kind of EventSource, which
// reconnect by themselves, get a body that is no event stream: EventSource and go-sse stop at any
// answer but an event stream, and r3labs/sse only at the end of a body with status 200.
func nothingNewer(c echo.Context) error {
	header := c.Request().Header
	if header.Get("Last-Event-ID") == "" || header.Get("Accept") != "text/event-stream" {
		return c.NoContent(http.StatusNoContent)
	}
	c.Response().Header().Set("Cache-Control", "no-store")
	return c.String(http.StatusOK, "Nothing is newer, and no turn runs.\n")
}

// cursorOf returns where a client wants to continue. A reconnecting EventSource keeps
// the ?after= of its URL, so its Last-Event-ID is newer and wins. Chunks of a UI stream
// have no ids, so such a stream begins at the start of the turn.
func cursorOf(c echo.Context, version int) string {
	if version != 0 {
		return ""
	}
	if id := c.Request().Header.Get("Last-Event-ID"); id != "" {
		return id
	}
	return c.QueryParam("after")
}

// attachStream streams the session or resumes a stream.
func (a *API) attachStream(c echo.Context) error {
	grant, leave, err := a.openGrant(c)
	if err != nil {
		return err
	}
	defer leave()
	version, err := uiVersion(c)
	if err != nil {
		return err
	}
	follow := c.QueryParam("follow") == "true" && version == 0
	stream, err := a.Host.Attach(c.Request().Context(), grant.SessionID, cursorOf(c, version), follow)
	if err != nil {
		return err
	}
	if stream == nil {
		return nothingNewer(c)
	}
	return a.serveStream(c, stream, version)
}

// serveStream writes the stream until its end, or until the client disconnects or
// is too slow. Such a client resumes by id, so serveStream returns no error for it.
func (a *API) serveStream(c echo.Context, stream *agenthost.Stream, version int) error {
	defer stream.Close()
	options, isFinished := sse.ServeOptions{Ping: a.Ping}, func() bool { return false }
	if version != 0 {
		c.Response().Header().Set(uiHeader, "v1")
		var err error
		if isFinished, err = convertStream(stream, &options, version); err != nil {
			return err
		}
	}
	w := sse.NewWriter(c.Response(), sse.WriterOptions{WriteTimeout: a.WriteTimeout})
	err := writeBacklog(w, stream.Backlog)
	if err == nil && stream.Live != nil {
		err = sse.Serve(c.Request().Context(), w, stream.Live, options)
	}
	if err == nil && isFinished() { // a cut stream must not look complete
		err = w.Write(uiDone)
	}
	if slow := errors.Is(err, sse.ErrSlow) || errors.Is(err, os.ErrDeadlineExceeded); slow && a.Log != nil {
		a.Log.Info("closed the stream of a slow reader", "session", c.Param("id"), "peer", c.RealIP())
	}
	return nil
}

func writeBacklog(w *sse.Writer, frames [][]byte) error {
	for len(frames) > 0 {
		n, size := 1, len(frames[0])
		for n < len(frames) && size+len(frames[n]) <= backlogBatch {
			size += len(frames[n])
			n++
		}
		if err := w.WriteBatch(frames[:n]); err != nil {
			return err
		}
		frames = frames[n:]
	}
	return nil
}
