package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"bellhop/agenthost"
	"bellhop/agenthost/api"
	"bellhop/protocol"
)

const terminalSize = `"size":{"columns":80,"rows":24}`

// shellHost has the session s1, which is bound to ownKey and has a workspace.
func shellHost(t *testing.T) *host {
	t.Helper()
	h := newHostWith(t, &agenthost.ShellOptions{Command: []string{"/bin/sh"}}, func(a *api.API, _ *http.Server) {
		a.PublicURL = "https://host.example/base/"
	})
	h.bind("s1", ownKey)
	h.prompt("s1", h.announceKeyed("t1"), "text hi").readAll()
	return h
}

// dialTerminal connects to a path of the host. status is 101 for an accepted connection.
func (h *host) dialTerminal(path string, header ...string) (conn *terminalClient, status int, named string) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), guard)
	h.t.Cleanup(cancel)
	fields := http.Header{}
	for _, field := range header {
		name, value, _ := strings.Cut(field, ": ")
		fields.Add(name, value)
	}
	ws, resp, err := websocket.Dial(ctx, strings.Replace(h.url, "http", "ws", 1)+path, &websocket.DialOptions{
		HTTPHeader: fields, Subprotocols: []string{protocol.TerminalProtocol},
	})
	if resp == nil {
		h.t.Fatal(err)
	}
	if resp.Body != nil {
		_ = resp.Body.Close()
	}
	if err != nil {
		return nil, resp.StatusCode, ""
	}
	h.t.Cleanup(func() { _ = ws.CloseNow() })
	return &terminalClient{t: h.t, conn: ws, ctx: ctx}, resp.StatusCode, resp.Header.Get(protocol.HeaderTerminalURL)
}

// byBroker connects as the broker of s1 for a page of the console.
func (h *host) byBroker(first string) *terminalClient {
	h.t.Helper()
	conn, status, _ := h.dialTerminal("/session/s1/shell", bearerPassword, keyHeader(ownKey),
		protocol.HeaderTerminalOrigin+": "+console)
	if status != http.StatusSwitchingProtocols {
		h.t.Fatalf("the broker's connection: %d", status)
	}
	conn.send(first)
	return conn
}

// byPage connects as a page.
func (h *host) byPage(first string) *terminalClient {
	h.t.Helper()
	conn, status, _ := h.dialTerminal("/session/s1/shell/direct", "Origin: "+console)
	if status != http.StatusSwitchingProtocols {
		h.t.Fatalf("the page's connection: %d", status)
	}
	conn.send(first)
	return conn
}

type terminalClient struct {
	t      *testing.T
	conn   *websocket.Conn
	ctx    context.Context
	output strings.Builder
}

func (c *terminalClient) send(request string) {
	c.t.Helper()
	if err := c.conn.Write(c.ctx, websocket.MessageText, []byte(request)); err != nil {
		c.t.Fatal(err)
	}
}

func (c *terminalClient) typeLine(line string) {
	c.t.Helper()
	if err := c.conn.Write(c.ctx, websocket.MessageBinary, []byte(line+"\n")); err != nil {
		c.t.Fatal(err)
	}
}

// next reads a message: a notice, or output, which it acknowledges.
func (c *terminalClient) next() (protocol.TerminalNotice, error) {
	kind, raw, err := c.conn.Read(c.ctx)
	var notice protocol.TerminalNotice
	switch {
	case err != nil:
		return notice, err
	case kind == websocket.MessageText:
		return notice, json.Unmarshal(raw, &notice)
	}
	c.output.Write(raw)
	ack, err := json.Marshal(protocol.TerminalRequest{Shown: len(raw)})
	if err == nil {
		_ = c.conn.Write(c.ctx, websocket.MessageText, ack) // it may be closed by now
	}
	return notice, err
}

// notice reads up to the next notice.
func (c *terminalClient) notice() protocol.TerminalNotice {
	c.t.Helper()
	for {
		notice, err := c.next()
		if err != nil {
			c.t.Fatalf("read: %v after %q", err, c.output.String())
		}
		if notice != (protocol.TerminalNotice{}) {
			return notice
		}
	}
}

// until reads until text was shown.
func (c *terminalClient) until(text string) {
	c.t.Helper()
	for !strings.Contains(c.output.String(), text) {
		if notice, err := c.next(); err != nil || notice.Ended != "" {
			c.t.Fatalf("read: %v %+v after %q", err, notice, c.output.String())
		}
	}
}

// closed reads to the end of the connection.
func (c *terminalClient) closed() {
	c.t.Helper()
	for {
		if _, err := c.next(); err != nil {
			if errors.Is(err, context.DeadlineExceeded) {
				c.t.Fatal("the connection is open")
			}
			return
		}
	}
}

func TestABrokerShowsATerminalOfASession(t *testing.T) {
	t.Parallel()
	h := shellHost(t)
	conn, status, named := h.dialTerminal("/session/s1/shell", bearerPassword, keyHeader(ownKey),
		protocol.HeaderTerminalOrigin+": "+console)
	if status != http.StatusSwitchingProtocols || named != "https://host.example/base/session/s1/shell/direct" {
		t.Fatalf("%d, the page's URL is %q", status, named)
	}
	conn.send("{" + terminalSize + "}")
	opened := conn.notice()
	if opened.ID == "" || opened.Repeated != 0 || opened.Ticket != "" {
		t.Fatalf("%+v", opened)
	}
	conn.typeLine(`stty size; echo größe-'世界'`)
	conn.until("24 80")
	conn.until("größe-世界")
	conn.send(`{"size":{"columns":100,"rows":30}}`)
	conn.typeLine("stty size")
	conn.until("30 100")
	conn.typeLine("yes 'a flood of lines'")
	conn.until(strings.Repeat("a flood of lines\r\n", 40_000)) // more than twice the window
	conn.typeLine("\x03")
	conn.typeLine("echo interrup'ted'")
	conn.until("interrupted")

	again := h.byBroker(`{"id":"` + opened.ID + `",` + terminalSize + `}`)
	if shown := again.notice(); shown.ID != opened.ID || shown.Repeated == 0 {
		t.Errorf("shown again: %+v", shown)
	}
	if left := conn.notice(); left.Ended != "another page shows this terminal now" || left.Exit != nil {
		t.Errorf("the first connection: %+v", left)
	}
	again.typeLine("exit 7")
	if ended := again.notice(); ended.Ended == "" || ended.Exit == nil || *ended.Exit != 7 {
		t.Errorf("ended: %+v", ended)
	}
	again.closed()
	gone := h.byBroker(`{"id":"` + opened.ID + `",` + terminalSize + `}`)
	if refused := gone.notice(); refused.Error == nil || refused.Error.Code != protocol.CodeGone {
		t.Errorf("after its end: %+v", refused)
	}
}

func TestTerminalsEndWithTheirSession(t *testing.T) {
	t.Parallel()
	h := shellHost(t)
	conn := h.byBroker("{" + terminalSize + "}")
	conn.notice()
	end := request{"DELETE", "/session/s1", "", []string{bearerPassword, keyHeader(ownKey)}}
	if status, _, answer := h.call(end); status != http.StatusOK {
		t.Fatalf("delete: %d %s", status, answer)
	}
	if ended := conn.notice(); ended.Ended != "the session has ended" {
		t.Errorf("%+v", ended)
	}
	conn.closed()
}

func TestATerminalThatCannotBeShownReportsWhy(t *testing.T) {
	t.Parallel()
	h := shellHost(t)
	h.bind("s2", ownKey)
	for name, c := range map[string]struct{ first, code string }{
		"no size":                  {`{}`, "invalid"},
		"no JSON":                  {`size`, "invalid"},
		"an impossible size":       {`{"size":{"columns":0,"rows":24}}`, "invalid"},
		"a terminal of no session": {`{"id":"other",` + terminalSize + `}`, "gone"},
	} {
		if refused := h.byBroker(c.first).notice(); refused.Error == nil || string(refused.Error.Code) != c.code {
			t.Errorf("%s: %+v", name, refused)
		}
	}
	early, _, _ := h.dialTerminal("/session/s2/shell", bearerPassword, keyHeader(ownKey))
	early.send("{" + terminalSize + "}")
	if refused := early.notice(); refused.Error == nil || refused.Error.Code != protocol.CodeNoWorkspace {
		t.Errorf("before the first turn: %+v", refused)
	}
	wrong := h.byBroker("{" + terminalSize + "}")
	wrong.notice()
	wrong.send(`{"size":{"columns":5000,"rows":1}}`)
	if left := wrong.notice(); !strings.Contains(left.Ended, "columns and rows must be 1 to 1000") {
		t.Errorf("an impossible size later: %+v", left)
	}
	for name, header := range map[string]string{
		"no WebSocket": "Accept: text/html", "a page": "Origin: " + console,
	} {
		ask := request{"GET", "/session/s1/shell", "", []string{bearerPassword, keyHeader(ownKey), header}}
		if name == "a page" {
			ask.header = append(ask.header, "Upgrade: websocket", "Connection: Upgrade")
		}
		if status, _, answer := h.call(ask); status != 400 && status != 403 {
			t.Errorf("%s: %d %s", name, status, answer)
		}
	}
	none := boundHost(t)
	_, status, _ := none.dialTerminal("/session/s1/shell", bearerPassword, keyHeader(ownKey))
	if status != http.StatusMethodNotAllowed {
		t.Errorf("a host without terminals: %d", status)
	}
}

func TestAPagesOwnConnectionNeedsATicketOfItsBroker(t *testing.T) {
	t.Parallel()
	h := shellHost(t)
	if _, status, _ := h.dialTerminal("/session/s1/shell/direct", "Origin: "+console); status != http.StatusUnauthorized {
		t.Errorf("a page that no broker announced: %d", status)
	}
	broker := h.byBroker(`{"direct":true,` + terminalSize + `}`)
	broker.notice()
	ticket := broker.notice().Ticket
	if ticket == "" {
		t.Fatal("there is no ticket")
	}
	for name, c := range map[string]struct{ path, header string }{
		"a page of another origin":      {"/session/s1/shell/direct", "Origin: http://127.0.0.1:1"},
		"no page":                       {"/session/s1/shell/direct", "Accept: */*"},
		"a terminal of another session": {"/session/s2/shell/direct", "Origin: " + console},
	} {
		if _, status, _ := h.dialTerminal(c.path, c.header); status != http.StatusUnauthorized {
			t.Errorf("%s: %d", name, status)
		}
	}
	wrong := h.byPage(`{"ticket":"` + strings.Repeat("A", len(ticket)) + `",` + terminalSize + `}`)
	if refused := wrong.notice(); refused.Error == nil || refused.Error.Code != protocol.CodeUnauthorized {
		t.Errorf("a wrong ticket: %+v", refused)
	}

	broker.typeLine("echo by-'broker'")
	broker.until("by-broker")
	page := h.byPage(`{"ticket":"` + ticket + `",` + terminalSize + `}`)
	if shown := page.notice(); shown.Repeated == 0 {
		t.Errorf("%+v", shown)
	}
	page.until("by-broker")
	page.typeLine("echo by-'page'")
	page.until("by-page")
	if _, status, _ := h.dialTerminal("/session/s1/shell/direct", "Origin: "+console); status != http.StatusUnauthorized {
		t.Errorf("a used ticket: %d", status)
	}

	// The broker's connection shows the terminal again when the page's is lost.
	_ = page.conn.CloseNow()
	if back := broker.notice(); back.ID == "" || back.Repeated == 0 {
		t.Errorf("%+v", back)
	}
	broker.typeLine("echo by-broker-'again'")
	broker.until("by-broker-again")
	if strings.Count(broker.output.String(), "by-page") == 0 {
		t.Error("what the page showed is not shown again")
	}
}

func TestAPagesOwnConnectionEndsWithItsBrokers(t *testing.T) {
	t.Parallel()
	h := shellHost(t)
	open := func() (broker, page *terminalClient) {
		broker = h.byBroker(`{"direct":true,` + terminalSize + `}`)
		broker.notice()
		page = h.byPage(`{"ticket":"` + broker.notice().Ticket + `",` + terminalSize + `}`)
		page.notice()
		return broker, page
	}
	broker, page := open()
	_ = broker.conn.CloseNow()
	page.closed()

	broker, page = open()
	page.typeLine("exit 5")
	for name, conn := range map[string]*terminalClient{"page": page, "broker": broker} {
		if ended := conn.notice(); ended.Exit == nil || *ended.Exit != 5 {
			t.Errorf("%s: %+v", name, ended)
		}
	}

	late := h.byBroker(`{"direct":true,` + terminalSize + `}`)
	late.notice()
	late.notice()
	h.clock.Advance(30 * time.Second)
	if _, status, _ := h.dialTerminal("/session/s1/shell/direct", "Origin: "+console); status != http.StatusUnauthorized {
		t.Errorf("an expired ticket: %d", status)
	}
}
