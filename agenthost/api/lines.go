package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/coder/websocket"
	"github.com/labstack/echo/v4"

	"bellhop/agenthost"
	"bellhop/internal/wsline"
	"bellhop/protocol"
)

// nowhere is the clock of hubs, which nobody here asks when a client left.
func nowhere() time.Time { return time.Time{} }

func (a *API) createSession(ctx context.Context, req *agenthost.HeadlessRequest) (*createdSession, error) {
	opened, err := a.Host.OpenHeadless(ctx, req)
	if err != nil {
		return nil, err
	}
	return &createdSession{*opened, req.SessionID == ""}, nil
}

type createdSession struct {
	agenthost.HeadlessResponse
	fresh bool
}

// HTTPStatus tells a new session from a refreshed one.
func (c *createdSession) HTTPStatus() int {
	if c.fresh {
		return http.StatusCreated
	}
	return http.StatusOK
}

type sessionsResponse struct {
	Sessions []agenthost.SessionInfo `json:"sessions"`
}

func (a *API) listSessions(context.Context, *struct{}) (*sessionsResponse, error) {
	out := &sessionsResponse{Sessions: a.Host.Sessions()}
	for i := range out.Sessions {
		out.Sessions[i].Clients = a.channels.count(out.Sessions[i].SessionID)
	}
	return out, nil
}

// endSession is deleteSession for callers of the headless interface.
func (a *API) endSession(ctx context.Context, req *sessionRequest) (*struct{}, error) {
	_, err := a.Host.Delete(ctx, req.ID)
	return nil, err
}

type historyResponse struct {
	SessionID string          `json:"session_id"`
	Lines     []protocol.Line `json:"lines"`
}

func (a *API) history(ctx context.Context, req *sessionRequest) (*historyResponse, error) {
	lines, err := a.Host.History(ctx, req.ID)
	if err != nil {
		return nil, err
	}
	return &historyResponse{SessionID: req.ID, Lines: lines}, nil
}

// serveLines refuses before the upgrade, in the one error shape; later with a
// close code.
func (a *API) serveLines(c echo.Context) error {
	r := c.Request()
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: "This route speaks WebSocket",
			Hint: "Connect to it as ws:// or wss://, with the session's stream token as ?token=",
		}
	}
	if origin := r.Header.Get("Origin"); origin != "" && !a.knowsOrigin(r, origin) {
		return &protocol.Error{
			Code: protocol.CodeForbidden, Message: "This server does not answer pages of that origin",
			Hint: "Add the origin to the server's allowed origins",
		}
	}
	grant, err := a.linesGrant(c)
	if err != nil {
		return err
	}
	channel, w, err := a.channels.join(r.Context(), grant.SessionID)
	if err != nil {
		return err
	}
	defer channel.leave()
	defer w.Leave()
	// The origin was checked above, against this server's own list.
	conn, err := websocket.Accept(c.Response(), r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil { // Accept has answered
		return nil
	}
	one := &lineClient{api: a, channel: channel, w: w, grant: grant}
	wsline.Serve(r.Context(), conn, w, a.Times, func(raw []byte) { one.handle(r.Context(), raw) })
	return nil
}

func (a *API) linesGrant(c echo.Context) (agenthost.Grant, error) {
	if a.hasPassword(c.Request()) {
		return a.Host.OwnerGrant(c.Param("id"))
	}
	return a.grant(c)
}

// knowsOrigin reports whether a page may drive sessions: one of this server's
// own, or of an allowed origin.
func (a *API) knowsOrigin(r *http.Request, origin string) bool {
	_, host, _ := strings.Cut(origin, "://")
	return strings.EqualFold(host, r.Host) || slices.Contains(a.AllowedOrigins, origin)
}

// lineClient is one client of a session's lines.
type lineClient struct {
	api     *API
	channel *channel
	w       *wsline.Watcher
	grant   agenthost.Grant
}

// handle does what a line asks for. One that breaks a rule changes nothing; only
// the client that sent it is told.
func (l *lineClient) handle(ctx context.Context, raw []byte) {
	line, err := protocol.ParseLine(raw)
	if err == nil {
		err = l.do(ctx, line)
	}
	if err != nil {
		l.refuse(err)
	}
}

func (l *lineClient) refuse(err error) {
	l.w.Send(protocol.Line{
		Type: protocol.LineStatus, SessionID: l.grant.SessionID, Level: "error", Message: l.api.explain(err),
	})
}

func (l *lineClient) do(ctx context.Context, line *protocol.Line) error {
	if line.SessionID != "" && line.SessionID != l.grant.SessionID {
		return protocol.Errorf(protocol.CodeNotFound, "This is not session %.100q", line.SessionID)
	}
	switch line.Type {
	case protocol.LineInput:
		return l.input(ctx, line)
	case protocol.LineAnswer, protocol.LineConfirmation:
		return l.api.Host.Reply(ctx, l.grant.SessionID, line)
	case protocol.LineInterrupt:
		return l.api.Host.BeginInterrupt(l.grant.SessionID) // waiting_for_input tells when it has stopped
	default:
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: "Unknown type " + quote(line.Type),
			Hint: "Known are input, answer, confirmation and interrupt",
		}
	}
}

// input starts a turn, which is not this client's: it goes on when it has left.
func (l *lineClient) input(ctx context.Context, line *protocol.Line) error {
	req := &protocol.PromptRequest{Attachments: line.Attachments}
	if line.Text != nil {
		req.Prompt = *line.Text
	}
	for i := range req.Attachments {
		if req.Attachments[i].MediaType == "" {
			req.Attachments[i].MediaType = "image/png"
		}
	}
	if err := validatePrompt(req); err != nil {
		return err
	}
	return l.channel.input(context.WithoutCancel(ctx), l.grant, req)
}

// explain is what a client may read of an error.
func (a *API) explain(err error) string {
	var e *protocol.Error
	if !errors.As(err, &e) || e.Code == protocol.CodeInternal {
		if a.Log != nil {
			a.Log.Error("a line of a client could not be done", "err", err)
		}
		return "Internal error"
	}
	if e.Hint != "" {
		return e.Message + ". " + e.Hint
	}
	return e.Message
}

func quote(text string) string {
	raw, _ := json.Marshal(text[:min(len(text), 100)])
	return string(raw)
}

// frameID is the id of an encoded frame, "" if it has none.
func frameID(frame []byte) string {
	rest, ok := bytes.CutPrefix(frame, []byte("id: "))
	if !ok {
		return ""
	}
	id, _, _ := bytes.Cut(rest, []byte("\n"))
	return string(id)
}

// resumes reports whether a backlog continues where its reader stopped.
func resumes(backlog [][]byte) bool {
	if len(backlog) == 0 {
		return true
	}
	return bytes.Contains(backlog[0], []byte(`"verdict":"`+protocol.ResumeOK+`"`))
}
