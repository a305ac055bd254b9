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

// backlogBatch is how much of a backlog shares one write deadline: a slow peer
// gets time for all of it.
const backlogBatch = 64 << 10

// startStream starts the token's turn, or finds it started, and streams it.
func (a *API) startStream(c echo.Context) error {
	grant, err := a.grant(c)
	if err != nil {
		return err
	}
	version, err := uiVersion(c)
	if err != nil {
		return err
	}
	raw, err := httpapi.ReadBody(c, maxPrompt)
	if err != nil {
		return err
	}
	var req protocol.PromptRequest
	if err := protocol.Decode(raw, &req); err != nil {
		return err
	}
	if err := validatePrompt(&req); err != nil {
		return err
	}
	// The turn is not this request's: it starts even if the peer leaves now.
	stream, err := a.Host.Start(context.WithoutCancel(c.Request().Context()), grant, &req)
	if err != nil {
		return err
	}
	return a.serve(c, stream, version)
}

// attachStream reads or resumes. The Last-Event-ID of a reconnecting
// EventSource is newer than the ?after= of the URL it keeps.
func (a *API) attachStream(c echo.Context) error {
	grant, err := a.grant(c)
	if err != nil {
		return err
	}
	version, err := uiVersion(c)
	if err != nil {
		return err
	}
	cursor := c.Request().Header.Get("Last-Event-ID")
	if cursor == "" {
		cursor = c.QueryParam("after")
	}
	follow := c.QueryParam("follow") == "true"
	if version != 0 { // its frames have no ids: a turn is always told from its start
		cursor, follow = "", false
	}
	stream, err := a.Host.Attach(c.Request().Context(), grant.SessionID, cursor, follow)
	if err != nil {
		return err
	}
	if stream == nil {
		return c.NoContent(http.StatusNoContent)
	}
	return a.serve(c, stream, version)
}

// serve writes the stream until its end, or until the peer has left or is too
// slow. Either resumes by id: to the peer it is no error.
func (a *API) serve(c echo.Context, stream *agenthost.Stream, version int) error {
	defer stream.Close()
	options, ended := sse.ServeOptions{Ping: a.Ping}, func() bool { return false }
	if version != 0 {
		c.Response().Header().Set(uiHeader, "v1")
		var err error
		if ended, err = convertStream(stream, &options, version); err != nil {
			return err
		}
	}
	w := sse.NewWriter(c.Response(), sse.WriterOptions{WriteTimeout: a.WriteTimeout})
	err := writeBacklog(w, stream.Backlog)
	if err == nil && stream.Live != nil {
		err = sse.Serve(c.Request().Context(), w, stream.Live, options)
	}
	if err == nil && ended() { // not when the stream was cut
		err = w.Write(uiDone)
	}
	if slow := errors.Is(err, sse.ErrSlow) || errors.Is(err, os.ErrDeadlineExceeded); slow && a.Log != nil {
		a.Log.Info("a reader was too slow and is cut", "session", c.Param("id"), "peer", c.RealIP())
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

// validatePrompt checks the form of images. Whether there has to be a prompt
// depends on the turn: one that is running already ignores it.
func validatePrompt(req *protocol.PromptRequest) error {
	for i, attachment := range req.Attachments {
		if problem := attachmentProblem(attachment); problem != "" {
			return protocol.Errorf(protocol.CodeInvalid, "attachments[%d]%s", i, problem)
		}
	}
	return nil
}

func attachmentProblem(a protocol.Attachment) string {
	if a.Type != "image" {
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
