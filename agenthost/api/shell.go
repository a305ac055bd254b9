package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/labstack/echo/v4"

	"bellhop/agenthost"
	"bellhop/protocol"
)

const (
	shellHello = 10 * time.Second // until the first message of a client
	shellWrite = 10 * time.Second // for one message to a client
	shellPing  = 30 * time.Second
)

// shell shows a terminal in the session's workspace over a WebSocket. Brokers alone connect to it: it needs the
// session's key, and no page of a browser has that. The connection lasts as long as the broker lets the user have the
// terminal: it also ends the page's own connection (directShell).
func (a *API) shell(c echo.Context) error {
	r := c.Request()
	switch {
	case !isWebSocket(c):
		return protocol.Errorf(protocol.CodeInvalid, "This route speaks WebSocket")
	case r.Header.Get("Origin") != "":
		return protocol.Errorf(protocol.CodeForbidden, "Pages reach terminals through their broker")
	case !a.Host.HasShells():
		return agenthost.ErrNoShells()
	}
	view := a.newShellView(c.Param("id"))
	if view.origin = onlyHeader(r, protocol.HeaderTerminalOrigin); view.origin != "" && a.PublicURL != "" {
		at := strings.TrimRight(a.PublicURL, "/") + "/session/" + url.PathEscape(view.session) + "/shell/direct"
		c.Response().Header().Set(protocol.HeaderTerminalURL, at)
	}
	if !view.accept(c, false) {
		return nil
	}
	defer view.close()
	if err := view.open(r.Context()); err != nil {
		view.refuse(err)
		return nil
	}
	view.serve(func() { view.shell.Hide(view) })
	return nil
}

func isWebSocket(c echo.Context) bool {
	return strings.EqualFold(c.Request().Header.Get("Upgrade"), "websocket")
}

// shellView is the screen of one WebSocket client.
type shellView struct {
	api     *API
	session string
	origin  string     // of the page; "" = it has no connection of its own
	main    *shellView // of a page's own connection: the broker's
	conn    *websocket.Conn
	shell   *agenthost.Shell
	once    sync.Once
	left    chan protocol.TerminalNotice
	gone    context.Context // ends with the client
	goes    context.CancelFunc
}

func (a *API) newShellView(session string) *shellView {
	v := &shellView{api: a, session: session, left: make(chan protocol.TerminalNotice, 1)}
	v.gone, v.goes = context.WithCancel(context.Background())
	return v
}

// accept reports whether the client speaks the protocol of terminals; otherwise it has the response.
func (v *shellView) accept(c echo.Context, originChecked bool) bool {
	conn, err := websocket.Accept(c.Response(), c.Request(), &websocket.AcceptOptions{
		Subprotocols: []string{protocol.TerminalProtocol}, InsecureSkipVerify: originChecked,
	})
	if err != nil { // Accept has sent the response
		return false
	}
	conn.SetReadLimit(protocol.MaxTerminalMessage)
	v.conn = conn
	return true
}

func (v *shellView) close() {
	v.goes()
	_ = v.conn.CloseNow()
}

// Begin implements agenthost.ShellScreen.
func (v *shellView) Begin(last []byte, isRepeated bool) error {
	notice := protocol.TerminalNotice{ID: v.shell.ID}
	if isRepeated {
		notice.Repeated = len(last)
	}
	if err := v.notify(notice); err != nil {
		return err
	}
	return v.Show(last)
}

// Show implements agenthost.ShellScreen.
func (v *shellView) Show(output []byte) error {
	for len(output) > 0 {
		n := min(len(output), protocol.MaxTerminalMessage/2)
		if err := v.write(websocket.MessageBinary, output[:n]); err != nil {
			return err
		}
		output = output[n:]
	}
	return nil
}

// Leave implements agenthost.ShellScreen.
func (v *shellView) Leave(cause error, exitCode int) {
	notice := protocol.TerminalNotice{Ended: cause.Error()}
	if errors.Is(cause, agenthost.ErrShellExited) {
		notice.Exit = &exitCode
	}
	v.leave(notice)
}

func (v *shellView) leave(notice protocol.TerminalNotice) {
	v.once.Do(func() { v.left <- notice })
	if v.main != nil {
		v.main.leave(notice)
	}
}

// write ends the connection of a client that takes nothing.
func (v *shellView) write(kind websocket.MessageType, message []byte) error {
	ctx, cancel := context.WithTimeout(v.gone, shellWrite)
	defer cancel()
	return v.conn.Write(ctx, kind, message)
}

func (v *shellView) notify(notice protocol.TerminalNotice) error {
	message, err := json.Marshal(notice)
	if err != nil {
		return err
	}
	return v.write(websocket.MessageText, message)
}

// hello reads the first message.
func (v *shellView) hello(ctx context.Context) (request *protocol.TerminalRequest, err error) {
	ctx, cancel := context.WithTimeout(ctx, shellHello)
	defer cancel()
	kind, raw, err := v.conn.Read(ctx)
	if err != nil {
		return nil, err
	}
	if request, err = parseTerminalRequest(kind, raw); err == nil && request.Size == nil {
		err = protocol.Errorf(protocol.CodeInvalid, "The first message has the size of the terminal")
	}
	return request, err
}

// open reads the first message and shows the terminal that it asks for.
func (v *shellView) open(ctx context.Context) error {
	request, err := v.hello(ctx)
	if err != nil {
		return err
	}
	show := func(shell *agenthost.Shell) agenthost.ShellScreen {
		v.shell = shell
		return v
	}
	if err := v.api.Host.OpenShell(ctx, v.session, request.ID, *request.Size, show); err != nil {
		return err
	}
	if request.Direct && v.origin != "" && v.api.PublicURL != "" {
		return v.notify(protocol.TerminalNotice{Ticket: v.api.tickets.issue(v, v.api.now())})
	}
	return nil
}

func parseTerminalRequest(kind websocket.MessageType, raw []byte) (*protocol.TerminalRequest, error) {
	if kind != websocket.MessageText {
		return nil, protocol.Errorf(protocol.CodeInvalid, "The first message of a terminal is text")
	}
	return protocol.ParseTerminalRequest(raw)
}

// refuse says why no terminal is shown.
func (v *shellView) refuse(err error) {
	if websocket.CloseStatus(err) != -1 { // the client has left
		return
	}
	var known *protocol.Error
	if !errors.As(err, &known) {
		known = &protocol.Error{Code: protocol.CodeInternal, Message: "Internal error"}
		if v.api.Log != nil {
			v.api.Log.Error("open a terminal", "err", err)
		}
	}
	_ = v.notify(protocol.TerminalNotice{Error: &protocol.ErrorBody{
		Error: known.Message, Code: known.Code, Hint: known.Hint,
	}})
	_ = v.conn.Close(websocket.StatusNormalClosure, "")
}

// serve passes messages on until the client leaves, the shell ends, or the screen is left. gone is called after the
// client has left by itself.
func (v *shellView) serve(gone func()) {
	go func() {
		defer v.goes()
		v.receive()
	}()
	ping := time.NewTicker(shellPing)
	defer ping.Stop()
	for {
		select {
		case notice := <-v.left:
			_ = v.notify(notice)
			_ = v.conn.Close(websocket.StatusNormalClosure, "")
			<-v.gone.Done()
			return
		case <-v.gone.Done():
			_ = v.conn.CloseNow()
			gone()
			return
		case <-ping.C:
			ctx, cancel := context.WithTimeout(v.gone, shellWrite)
			if v.conn.Ping(ctx) != nil {
				_ = v.conn.CloseNow()
			}
			cancel()
		}
	}
}

// receive handles messages until the client leaves. After one that is wrong it ignores them: the client gets to know.
func (v *shellView) receive() {
	refused := false
	for {
		kind, raw, err := v.conn.Read(context.Background())
		if err != nil {
			return
		}
		if refused {
			continue
		}
		if kind == websocket.MessageBinary {
			err = v.shell.Type(raw)
		} else {
			err = v.handle(kind, raw)
		}
		if refused = err != nil; refused {
			v.Leave(err, 0)
		}
	}
}

func (v *shellView) handle(kind websocket.MessageType, raw []byte) error {
	request, err := parseTerminalRequest(kind, raw)
	if err != nil {
		return err
	}
	v.shell.Acknowledge(v, request.Shown)
	if request.Size != nil {
		err = v.shell.Resize(agenthost.ShellSize(*request.Size))
	}
	if request.End {
		v.api.Host.EndShell(v.shell)
	}
	return err
}
