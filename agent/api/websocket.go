package api

import (
	"github.com/coder/websocket"
	"github.com/labstack/echo/v4"

	"bellhop/internal/wsline"
	"bellhop/protocol"
)

// serveWebSocket rejects a request before the upgrade with an HTTP error, later with a close
// code.
func (s *Server) serveWebSocket(c echo.Context) error {
	one, err := s.member(c)
	if err != nil {
		return err
	}
	replay := c.QueryParam("replay")
	if replay != "" && replay != "all" {
		return protocol.Errorf(protocol.CodeInvalid, "replay must be \"all\" or absent")
	}
	if !s.enter() {
		return protocol.Errorf(protocol.CodeUnavailable, "The server stops")
	}
	defer s.clients.Done()
	w, err := one.hub.Watch(replay == "all")
	if err != nil {
		return err
	}
	defer s.wake()
	defer w.Leave()
	conn, err := websocket.Accept(c.Response(), c.Request(), nil)
	if err != nil { // Accept has sent the error response
		return nil
	}
	ctx := c.Request().Context()
	wsline.Serve(ctx, conn, w, s.config.Times, func(raw []byte) { one.handle(w, raw) })
	return nil
}

// enter counts a client; it returns false if the server stops.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return false
	}
	s.clients.Add(1)
	return true
}
