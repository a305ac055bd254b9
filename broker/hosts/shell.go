package hosts

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/coder/websocket"

	"bellhop/broker"
	"bellhop/crypto/seal"
	"bellhop/internal/observe"
	"bellhop/internal/requestid"
	"bellhop/protocol"
)

var _ broker.ShellLink = (*Client)(nil)

// shellConnect limits how long a host may take to accept a terminal's connection.
const shellConnect = 20 * time.Second

// Shell implements broker.ShellLink. It tries each password until the host accepts one.
func (c *Client) Shell(
	ctx context.Context, t broker.Target, sessionID, origin string,
) (broker.ShellConn, error) {
	client, err := clientFor(t, c.streams, c.trusted)
	if err != nil {
		return nil, unreachable(err)
	}
	request := sessionCall(sessionID, call{path: "/shell"})
	target, err := targetURL(t.URL, request)
	if err != nil {
		return nil, unreachable(err)
	}
	keys, err := c.keysOf(request)
	if err != nil {
		return nil, err
	}
	header := http.Header{protocol.HeaderTerminalOrigin: {origin}}
	c.nameLife(header)
	for name, key := range keys {
		header.Set(name, key.Reveal())
	}
	passwords := t.Passwords
	if len(passwords) == 0 {
		passwords = []seal.Secret{{}}
	}
	secrets := secretsOf(passwords, request)
	ctx, cancel := context.WithTimeoutCause(ctx, shellConnect, tooSlow{"shell", shellConnect})
	defer cancel()
	for _, password := range passwords {
		conn, refused, err := dialShell(ctx, client, target, header, password)
		switch {
		case conn != nil:
			return conn, nil
		case refused == nil:
			return nil, unreachable(c.away(t.URL, safeError(ctx, err, secrets)))
		case t.Names && !refused.named:
			return nil, foreign(errForeign{refused.status})
		}
		refused.secrets = secrets
		if refused.status != http.StatusUnauthorized {
			return nil, refused.shellRefused()
		}
	}
	return nil, (&response{status: http.StatusUnauthorized}).failed()
}

func (r *response) shellRefused() error {
	if r.lacksRoute() || r.hidesRoute() || r.errorBody().Code == protocol.CodeMethodNotAllowed {
		return protocol.Errorf(protocol.CodeMethodNotAllowed, "The agent host opens no terminals")
	}
	return r.failed()
}

// dialShell returns a connection, or the response of a host that refused it, or an error.
func dialShell(
	ctx context.Context, client *http.Client, target string, header http.Header, password seal.Secret,
) (*shellConn, *response, error) {
	header = header.Clone()
	if !password.IsZero() {
		header.Set("Authorization", "Bearer "+password.Reveal())
	}
	nameRequest(header)
	if id := observe.RequestID(ctx); id != "" {
		header.Set(requestid.Header, id)
	}
	conn, resp, err := websocket.Dial(ctx, target, &websocket.DialOptions{ //nolint:bodyclose // Dial closes it
		HTTPClient: client, HTTPHeader: header, Subprotocols: []string{protocol.TerminalProtocol},
	})
	if err == nil {
		conn.SetReadLimit(protocol.MaxTerminalMessage)
		return &shellConn{conn, resp.Header.Get(protocol.HeaderTerminalURL)}, nil, nil
	}
	if resp == nil || resp.StatusCode < 300 {
		return nil, nil, err
	}
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 1024)) // Dial has read as much
	return nil, &response{status: resp.StatusCode, body: body, named: repeatsName(header, resp.Header)}, nil
}

// shellConn is a broker.ShellConn over a WebSocket.
type shellConn struct {
	*websocket.Conn

	direct string
}

// Direct implements broker.ShellConn.
func (s *shellConn) Direct() string { return s.direct }

// Read implements broker.ShellConn.
func (s *shellConn) Read(ctx context.Context) (binary bool, message []byte, err error) {
	kind, message, err := s.Conn.Read(ctx)
	return kind == websocket.MessageBinary, message, err
}

// Write implements broker.ShellConn.
func (s *shellConn) Write(ctx context.Context, binary bool, message []byte) error {
	kind := websocket.MessageText
	if binary {
		kind = websocket.MessageBinary
	}
	return s.Conn.Write(ctx, kind, message)
}

// Close implements broker.ShellConn.
func (s *shellConn) Close() { _ = s.CloseNow() }
