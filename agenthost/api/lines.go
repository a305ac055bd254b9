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

// zeroTime is the clock of the hubs, because this package does not use the times at
// which clients left.
func zeroTime() time.Time { return time.Time{} }

func (a *API) createSession(ctx context.Context, req *agenthost.HeadlessRequest) (*createdSession, error) {
	opened, err := a.Host.OpenHeadless(ctx, req)
	if err != nil {
		return nil, err
	}
	return &createdSession{*opened, req.SessionID == ""}, nil
}

type createdSession struct {
	agenthost.HeadlessResponse
	isNew bool
}

// HTTPStatus is 201 for a new session and 200 for an existing one.
func (c *createdSession) HTTPStatus() int {
	if c.isNew {
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

// endSession deletes a session for callers of the headless interface.
func (a *API) endSession(ctx context.Context, req *sessionRequest) (*struct{}, error) {
	_, err := a.Host.Delete(ctx, req.ID, "")
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

// serveLines checks the request before the upgrade, so that errors have a JSON body.
// Later errors are close codes.
func (a *API) serveLines(c echo.Context) error {
	r := c.Request()
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: "This route speaks WebSocket",
			Hint: "Connect to it as ws:// or wss://, with the session's stream token as ?token=",
		}
	}
	if origin := r.Header.Get("Origin"); origin != "" && !a.allowsOrigin(r, origin) {
		return &protocol.Error{
			Code: protocol.CodeForbidden, Message: "This server does not answer pages of that origin",
			Hint: "Add the origin to the server's allowed origins",
		}
	}
	grant, leave, err := a.lineGrant(c)
	if err != nil {
		return err
	}
	defer leave()
	granted := c.Request().Context() // ends with the credential of the grant
	channel, watcher, err := a.channels.join(r.Context(), grant.SessionID)
	if err != nil {
		return err
	}
	defer channel.release()
	defer watcher.Leave()
	// allowsOrigin has checked the origin.
	conn, err := websocket.Accept(c.Response(), r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil { // Accept has sent the error response
		return nil
	}
	client := &lineClient{api: a, channel: channel, watcher: watcher, grant: grant, by: protocol.ByStreamToken}
	if a.hasPassword(r) {
		client.by = protocol.ByLocal
	}
	defer context.AfterFunc(granted, func() {
		if errors.Is(context.Cause(granted), agenthost.ErrCredentialEnded) {
			watcher.End(websocket.StatusPolicyViolation, "the sign-in of this client has ended")
		}
	})()
	wsline.Serve(r.Context(), conn, watcher, a.Times, func(raw []byte) { client.handle(granted, raw) })
	return nil
}

func (a *API) lineGrant(c echo.Context) (g agenthost.Grant, leave func(), err error) {
	if !a.hasPassword(c.Request()) {
		g, held, leave, err := a.openGrant(c.Request().Context(), c)
		if err != nil {
			return g, nil, a.wrongPassword(c, err)
		}
		c.SetRequest(c.Request().WithContext(held))
		return g, leave, nil
	}
	if err = a.checkKey(c); err == nil {
		g, err = a.Host.OwnerGrant(c.Param("id"))
	}
	return g, func() {}, err
}

// allowsOrigin reports whether a page may use sessions: its origin is this server or
// an allowed origin.
func (a *API) allowsOrigin(r *http.Request, origin string) bool {
	_, host, _ := strings.Cut(origin, "://")
	return strings.EqualFold(host, r.Host) || slices.Contains(a.AllowedOrigins, origin)
}

// lineClient is one WebSocket client of a session.
type lineClient struct {
	api     *API
	channel *channel
	watcher *wsline.Watcher
	grant   agenthost.Grant
	by      string // who the client is, in the answers that it gives
}

// handle parses and dispatches a line. An invalid line has no effect, and only its
// sender gets the error. A blank line is ignored, and so are all lines after the end of ctx.
func (l *lineClient) handle(ctx context.Context, raw []byte) {
	if len(bytes.TrimSpace(raw)) == 0 || ctx.Err() != nil {
		return
	}
	line, err := protocol.ParseLine(raw)
	if err == nil {
		err = l.dispatch(ctx, line)
	}
	if err != nil {
		refusal := protocol.RefusalLine(l.grant.SessionID, err, l.api.clientMessage(err), line)
		l.watcher.Send(l.channel.lines.Stamp(refusal))
	}
}

func (l *lineClient) dispatch(ctx context.Context, line *protocol.Line) error {
	if line.SessionID != "" && line.SessionID != l.grant.SessionID {
		return protocol.Errorf(protocol.CodeNotFound, "This is not session %.100q", line.SessionID)
	}
	switch line.Type {
	case protocol.LineInput:
		return l.startTurn(ctx, line)
	case protocol.LineAnswer, protocol.LineConfirmation:
		return l.api.Host.Reply(ctx, l.grant.SessionID, line, l.by)
	case protocol.LineInterrupt:
		return l.api.Host.BeginInterrupt(l.grant.SessionID) // the state waiting_for_input follows after the stop
	default:
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: "Unknown type " + quote(line.Type),
			Hint: "Known are input, answer, confirmation and interrupt",
		}
	}
}

// startTurn starts a turn, which continues when the client disconnects.
func (l *lineClient) startTurn(ctx context.Context, line *protocol.Line) error {
	if err := protocol.CheckAttachments(line.Attachments); err != nil {
		return err
	}
	return l.channel.startTurn(context.WithoutCancel(ctx), l.grant, line, l.watcher)
}

// clientMessage returns the text of an error for a client. It logs internal errors and
// hides their cause.
func (a *API) clientMessage(err error) string {
	var e *protocol.Error
	if !errors.As(err, &e) || e.Code == protocol.CodeInternal {
		if a.Log != nil {
			a.Log.Error("handle a client's line", "err", err)
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

// frameID returns the id of an encoded frame, or "" if it has none.
func frameID(frame []byte) string {
	rest, ok := bytes.CutPrefix(frame, []byte("id: "))
	if !ok {
		return ""
	}
	id, _, _ := bytes.Cut(rest, []byte("\n"))
	return string(id)
}

// isContinuation reports whether a backlog continues where its reader stopped.
func isContinuation(backlog [][]byte) bool {
	if len(backlog) == 0 {
		return true
	}
	return bytes.Contains(backlog[0], []byte(`"verdict":"`+protocol.ResumeOK+`"`))
}
