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
	grant, held, leave, err := a.openGrant(context.WithoutCancel(c.Request().Context()), c)
	if err != nil {
		return err
	}
	r := &reader{api: a, held: held, leave: leave}
	defer r.close()
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
	return r.serve(c, stream, version)
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
	grant, held, leave, err := a.openGrant(context.WithoutCancel(c.Request().Context()), c)
	if err != nil {
		return err
	}
	r := &reader{api: a, held: held, leave: leave}
	defer r.close()
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
	return r.serve(c, stream, version)
}

// reader is the client of a stream.
type reader struct {
	api   *API
	held  context.Context // ends with the credential of the stream's token, and not with the request
	leave func()          // for held

	stream     *agenthost.Stream
	options    sse.ServeOptions
	isFinished func() bool // reports whether the end of the turn was converted
	detached   bool        // finish ends what the reader holds, instead of the handler

	session, peer string
}

// close ends what the reader holds, unless its stream continues without the handler.
func (r *reader) close() {
	if !r.detached {
		r.stream.Close()
		r.leave()
	}
}

// serve writes the stream until its end, or until the client disconnects or is too slow. Such a
// client resumes by id, so serve returns no error for it. On a connection of its own the stream
// continues when serve has returned.
func (r *reader) serve(c echo.Context, stream *agenthost.Stream, version int) error {
	r.stream, r.options, r.isFinished = stream, sse.ServeOptions{Ping: r.api.Ping}, func() bool { return false }
	r.session, r.peer = c.Param("id"), c.RealIP()
	if version != 0 {
		c.Response().Header().Set(uiHeader, "v1")
		var err error
		if r.isFinished, err = convertStream(stream, &r.options, version); err != nil {
			return err
		}
	}
	options := sse.WriterOptions{WriteTimeout: r.api.WriteTimeout}
	if r.api.Streams == nil {
		r.attend(c, sse.NewWriter(c.Response(), options))
		return nil
	}
	w := sse.TakeWriter(c.Response(), c.Request(), options)
	if !w.Taken() {
		r.attend(c, w)
		return nil
	}
	r.detached = true
	r.api.Streams.Detach(c, &httpapi.Stream{
		Write: func() int64 { return r.finish(w) }, End: w.Close, Abort: w.Abort,
	})
	return nil
}

// attend writes the stream while the handler waits.
func (r *reader) attend(c echo.Context, w *sse.Writer) {
	ctx, cancel := context.WithCancelCause(r.held)
	defer cancel(context.Canceled)
	request := c.Request().Context()
	defer context.AfterFunc(request, func() { cancel(context.Cause(request)) })()
	r.write(ctx, w)
}

// finish writes the stream on a connection of its own and returns the bytes that it wrote.
func (r *reader) finish(w *sse.Writer) int64 {
	defer r.leave()
	defer r.stream.Close()
	r.write(r.held, w)
	return w.Written()
}

// write writes the backlog and then what comes, until ctx or the stream ends.
func (r *reader) write(ctx context.Context, w *sse.Writer) {
	err := writeBacklog(w, r.stream.Backlog)
	r.stream.Backlog = nil // a reader may stay for hours
	if err == nil && r.stream.Live != nil {
		err = sse.Serve(ctx, w, r.stream.Live, r.options)
	}
	if err == nil && r.isFinished() { // a cut stream must not look complete
		err = w.Write(uiDone)
	}
	slow := errors.Is(err, sse.ErrSlow) || errors.Is(err, os.ErrDeadlineExceeded)
	if slow && r.api.Log != nil {
		r.api.Log.Info("closed the stream of a slow reader", "session", r.session, "peer", r.peer)
	}
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
