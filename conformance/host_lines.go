package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/coder/websocket"

	"bellhop/protocol"
)

// checkLines uses lines to run a session that has no broker.
func checkLines(s *scope, h *host) {
	created := h.owner(s, http.MethodPost, "/sessions", "{}")
	if created.status == http.StatusNotFound {
		s.skip("the host has no POST /sessions")
	}
	var one struct {
		ID    string `json:"session_id"`
		Token string `json:"token"`
	}
	if err := json.Unmarshal(created.body, &one); err != nil || created.status != http.StatusCreated || one.ID == "" ||
		one.Token == "" {
		s.stopf("POST /sessions: %s", created)
	}
	h.opened = append(h.opened, one.ID)
	s.expect("POST /sessions without the password", h.call(s, call{http.MethodPost, "/sessions", "{}", nil}), 401,
		protocol.CodeUnauthorized)
	path := "/ws/" + one.ID + "?token="
	if _, err := h.dial(s, path+"wrong"); err == nil {
		s.failf("a wrong token is let in to the lines")
	}
	conn, err := h.dial(s, path+url.QueryEscape(one.Token))
	if err != nil {
		s.stopf("the lines: %v", err)
	}
	c := &lines{scope: s, conn: conn}
	ctx, cancel := context.WithTimeout(s.ctx, h.options.Patience)
	s.later(cancel)
	c.ctx = ctx
	c.send(`{"type":"dance"}`)
	if got := c.next(); got.Type != protocol.LineStatus || got.Level != "error" {
		s.failf("an unknown type is answered with %s", outline(&got))
	}
	c.turn(h.options.Plain)
	history := h.owner(s, http.MethodGet, "/sessions/"+one.ID+"/history", "")
	var body struct {
		Lines []protocol.Line `json:"lines"`
	}
	if err := json.Unmarshal(history.body, &body); err != nil ||
		!slices.ContainsFunc(body.Lines, func(l protocol.Line) bool {
			return l.Type == protocol.LineInput && l.Text != nil && *l.Text == h.options.Plain
		}) {
		s.failf("the history lacks the input: %s", history)
	}
	if list := h.owner(s, http.MethodGet, "/sessions", ""); !strings.Contains(string(list.body), one.ID) {
		s.failf("GET /sessions does not name the session: %s", list)
	}
}

func (h *host) dial(s *scope, path string) (*websocket.Conn, error) {
	ctx, cancel := context.WithTimeout(s.ctx, h.options.Patience)
	defer cancel()
	url, options := strings.Replace(h.options.URL, "http", "ws", 1)+path, &websocket.DialOptions{HTTPClient: h.http}
	conn, resp, err := websocket.Dial(ctx, url, options) //nolint:bodyclose // the library closes it
	if err != nil {
		if resp != nil {
			return nil, fmt.Errorf("the upgrade was answered %s", resp.Status)
		}
		return nil, unquoted(err)
	}
	conn.SetReadLimit(2 * protocol.MaxLine)
	s.later(func() { _ = conn.CloseNow() })
	return conn, nil
}

// lines is a WebSocket client of a session.
type lines struct {
	*scope
	conn *websocket.Conn
	ctx  context.Context //nolint:containedctx // the check's context, with its patience
}

func (c *lines) send(raw string) {
	if err := c.conn.Write(c.ctx, websocket.MessageText, []byte(raw)); err != nil {
		c.stopf("the lines: %v", err)
	}
}

func (c *lines) next() protocol.Line {
	_, raw, err := c.conn.Read(c.ctx)
	if err != nil {
		c.stopf("the lines ended: %v", err)
	}
	line, problem := parseLine(raw, nil)
	if problem != "" {
		c.stopf("%s", problem)
	}
	if line.Type == protocol.LineHello {
		return c.next()
	}
	return *line
}

// turn checks that an input gets a response and ends once. Questions are allowed.
func (c *lines) turn(text string) {
	raw, err := json.Marshal(protocol.Line{Type: protocol.LineInput, Text: &text})
	if err != nil {
		c.stopf("encode: %v", err)
	}
	c.send(string(raw))
	texts := 0
	for {
		line := c.next()
		switch {
		case line.Type == protocol.LineChunk, line.Type == protocol.LineMessage:
			texts++
		case line.Type == protocol.LineConfirm:
			c.send(fmt.Sprintf(`{"type":"confirmation","request_id":%q,"value":true}`, line.RequestID))
		case line.EndsTurn():
			if line.Reason != protocol.WaitingDone || texts == 0 {
				c.failf("the turn ended with reason %q after %d lines of text", line.Reason, texts)
			}
			return
		}
	}
}
