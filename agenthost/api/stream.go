package api

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"os"
	"strings"

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
	grant, err := a.streamGrant(c)
	if err != nil {
		return err
	}
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
	if err := validateAttachments(&req); err != nil {
		return err
	}
	// The turn does not belong to this request: it starts even if the client
	// disconnects.
	stream, err := a.Host.StartAfter(context.WithoutCancel(c.Request().Context()), grant, &req, cursorOf(c, version))
	if err != nil {
		return err
	}
	if stream == nil {
		return c.NoContent(http.StatusNoContent)
	}
	return a.serveStream(c, stream, version)
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
	grant, err := a.streamGrant(c)
	if err != nil {
		return err
	}
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
		return c.NoContent(http.StatusNoContent)
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

// validateAttachments checks the format of images. The host checks the text, because
// an open turn ignores it.
func validateAttachments(req *protocol.PromptRequest) error {
	for i, attachment := range req.Attachments {
		if problem := findAttachmentProblem(attachment); problem != "" {
			return protocol.Errorf(protocol.CodeInvalid, "attachments[%d]%s", i, problem)
		}
	}
	return nil
}

func findAttachmentProblem(a protocol.Attachment) string {
	if a.Type != protocol.AttachmentImage {
		return `.type must be "image"`
	}
	if !strings.HasPrefix(a.MediaType, "image/") {
		return ".mediaType must be an image type, such as image/png"
	}
	if n, err := base64.StdEncoding.DecodeString(a.Data); err != nil || len(n) == 0 {
		return ".data must be base64, and not empty"
	}
	return ""
}
