package hosts

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"bellhop/broker"
	"bellhop/protocol"
)

// Limits of one call.
const (
	callLimit = 10 * time.Second
	maxAnswer = 8 << 20
)

// Options of a Client.
type Options struct {
	// HTTP reaches hosts that an administrator vouches for; nil is a client
	// without proxy.
	HTTP *http.Client
	// Guarded reaches the URLs of other users. It must refuse forbidden addresses
	// when it dials. Without it such targets are refused.
	Guarded *http.Client
	// GuardedStreams is the same for streams that are relayed: it must not limit
	// how long an answer takes. Without it they are refused.
	GuardedStreams *http.Client
	// Timeout of one call, all passwords tried; 0 is 10 s.
	Timeout time.Duration
	// Log hears of hosts that still go by an old password; nil is slog.Default().
	Log *slog.Logger
}

// Client implements broker.Link.
type Client struct {
	trusted *http.Client
	guarded *http.Client // nil: refuse
	streams *http.Client // guarded, nil: refuse
	timeout time.Duration
	log     *slog.Logger
}

var _ broker.Link = (*Client)(nil)

// New returns a Client. It changes nothing of the clients it is given: it uses
// copies that follow no redirect.
func New(opts Options) *Client {
	if opts.HTTP == nil {
		opts.HTTP = &http.Client{Transport: newTransport()}
	}
	if opts.Timeout <= 0 {
		opts.Timeout = callLimit
	}
	if opts.Log == nil {
		opts.Log = slog.Default()
	}
	return &Client{trusted: direct(opts.HTTP), guarded: direct(opts.Guarded), streams: direct(opts.GuardedStreams), timeout: opts.Timeout, log: opts.Log}
}

func newTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{ // no Proxy: the environment's is not meant for agent hosts
		DialContext:         dialer.DialContext,
		ForceAttemptHTTP2:   true,
		MaxIdleConns:        256,
		MaxIdleConnsPerHost: 32,
		IdleConnTimeout:     90 * time.Second,
		TLSHandshakeTimeout: 5 * time.Second,
	}
}

// direct copies a client so that a redirect is an answer like any other: one
// that is not followed takes no password elsewhere.
func direct(c *http.Client) *http.Client {
	if c == nil {
		return nil
	}
	out := *c
	out.Jar = nil
	out.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &out
}

// CloseIdleConnections closes what is kept for later calls.
func (c *Client) CloseIdleConnections() {
	c.trusted.CloseIdleConnections()
	for _, guarded := range []*http.Client{c.guarded, c.streams} {
		if guarded != nil {
			guarded.CloseIdleConnections()
		}
	}
}

// Open implements broker.Link.
func (c *Client) Open(ctx context.Context, t broker.Target, req *protocol.OpenSessionRequest) (*protocol.OpenSessionResponse, error) {
	answer, err := c.do(ctx, t, call{method: http.MethodPost, path: "/session", body: req})
	if err != nil {
		return nil, unreachable(err)
	}
	if !answer.ok() {
		return nil, answer.refusedSession()
	}
	return parseSession(answer)
}

// Events implements broker.Link. It takes the answer's events as they are; the
// ingest checks each.
func (c *Client) Events(ctx context.Context, t broker.Target, sessionID string, epoch, after int64, limit int) (*protocol.EventsResponse, error) {
	query := url.Values{
		"epoch": {strconv.FormatInt(epoch, 10)},
		"after": {strconv.FormatInt(after, 10)},
		"limit": {strconv.Itoa(limit)},
	}
	answer, err := c.session(ctx, t, call{method: http.MethodGet, path: "/events", query: query}, sessionID)
	if err != nil {
		return nil, err
	}
	var events protocol.EventsResponse
	if err := json.Unmarshal(answer.body, &events); err != nil {
		return nil, unreachable(errNotJSON)
	}
	return &events, nil
}

// Interrupt implements broker.Link.
func (c *Client) Interrupt(ctx context.Context, t broker.Target, sessionID string) error {
	_, err := c.session(ctx, t, call{method: http.MethodPost, path: "/interrupt", body: struct{}{}}, sessionID)
	return err
}

// Answer implements broker.Link.
func (c *Client) Answer(ctx context.Context, t broker.Target, sessionID, interactionID string, req *protocol.AnswerRequest) error {
	path := "/interactions/" + url.PathEscape(interactionID)
	_, err := c.session(ctx, t, call{method: http.MethodPost, path: path, body: req}, sessionID)
	return err
}

// Delete implements broker.Link.
func (c *Client) Delete(ctx context.Context, t broker.Target, sessionID string) error {
	_, err := c.session(ctx, t, call{method: http.MethodDelete}, sessionID)
	return err
}

// Revoke implements broker.Link.
func (c *Client) Revoke(ctx context.Context, t broker.Target, sessionID string) error {
	_, err := c.session(ctx, t, call{method: http.MethodPost, path: "/revoke", body: struct{}{}}, sessionID)
	return err
}

// Ready implements broker.Link.
func (c *Client) Ready(ctx context.Context, t broker.Target) error {
	t.Passwords = nil // /readyz is open: a password has no business there
	answer, err := c.do(ctx, t, call{method: http.MethodGet, path: "/readyz"})
	if err != nil {
		return unreachable(err)
	}
	if !answer.ok() {
		return answer.failed()
	}
	return nil
}

func sessionCall(sessionID string, what call) call {
	what.path = "/session/" + url.PathEscape(sessionID) + what.path
	return what
}

// session is a call below /session/:id that must succeed.
func (c *Client) session(ctx context.Context, t broker.Target, what call, sessionID string) (*answer, error) {
	answer, err := c.do(ctx, t, sessionCall(sessionID, what))
	if err != nil {
		return nil, unreachable(err)
	}
	if !answer.ok() {
		return nil, answer.failed()
	}
	return answer, nil
}
