package hosts

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"bellhop/broker"
	"bellhop/crypto/seal"
	"bellhop/internal/generations"
	"bellhop/internal/netguard"
	"bellhop/internal/observe"
	"bellhop/protocol"
)

// Limits of one call.
const (
	callLimit   = 10 * time.Second
	maxResponse = 8 << 20
	longestCall = shipLimit + callLimit
)

const rememberHosts = 10_000

// Timeouts returns those of a guarded client. Each call has a shorter limit of its own.
func Timeouts() netguard.Timeouts { return netguard.Timeouts{Header: longestCall, Total: longestCall} }

// Options of a Client.
type Options struct {
	// HTTP calls the hosts that an administrator registered or named; nil means a
	// client without a proxy.
	HTTP *http.Client
	// Guarded calls URLs that other users gave. It must refuse forbidden addresses
	// when it dials, and have Timeouts. If it is nil, such targets are refused.
	Guarded *http.Client
	// GuardedStreams does the same for relayed streams; it must not limit the
	// duration of a response. If it is nil, such streams are refused.
	GuardedStreams *http.Client
	// Timeout limits one call with all its passwords; 0 means 10 s.
	Timeout time.Duration
	// Keys are the keys of the broker's sessions; nil: it has none.
	Keys Keys
	// Life is the broker's own, named in every request; nil = none.
	Life func() protocol.Life
	// Lives gets the life of every host that answers; nil = none.
	Lives func(ctx context.Context, url string, life protocol.Life)
	// Dates gets the time of every registered host on another machine that answers; nil = none.
	Dates func(at time.Time)
	// Log records hosts that still use an old password; nil is slog.Default().
	Log *slog.Logger
	// Observer observes every call except relayed streams. It may be nil.
	Observer observe.Observer
}

// Keys are the session keys that authenticate the broker to hosts; *broker.SessionKeys
// implements them.
type Keys interface {
	Key(sessionID string) (seal.Secret, error)
	// OwnerKey returns the key of a user, which opens the workspaces that the user's sessions created.
	OwnerKey(userID string) (seal.Secret, error)
}

// Client implements broker.Link.
type Client struct {
	trusted *http.Client
	guarded *http.Client // nil: such targets are refused
	streams *http.Client // for guarded targets; nil: such streams are refused
	timeout time.Duration
	keys    Keys                 // nil: none
	life    func() protocol.Life // nil: none
	lives   func(ctx context.Context, url string, life protocol.Life)
	dates   func(at time.Time)
	log     *slog.Logger

	observer observe.Observer // nil: none
	copies   copies
	answered *generations.Cache[string, time.Time] // the last answer, by URL
}

var (
	_ broker.Link     = (*Client)(nil)
	_ broker.LifeLink = (*Client)(nil)
)

// New returns a Client. It copies the given clients, and the copies follow no
// redirect.
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
	return &Client{
		trusted: direct(opts.HTTP), guarded: direct(opts.Guarded), streams: direct(opts.GuardedStreams),
		timeout: opts.Timeout, keys: opts.Keys, life: opts.Life, lives: opts.Lives, dates: opts.Dates, log: opts.Log, observer: opts.Observer,
		answered: generations.New[string, time.Time](rememberHosts),
	}
}

func newTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{ // no Proxy: the environment's proxy is not meant for agent hosts
		DialContext:         dialer.DialContext,
		ForceAttemptHTTP2:   true,
		MaxIdleConns:        256,
		MaxIdleConnsPerHost: 32,
		IdleConnTimeout:     90 * time.Second,
		TLSHandshakeTimeout: 5 * time.Second,
	}
}

// direct copies a client and returns redirects as responses, because following one
// would send the password to another server.
func direct(c *http.Client) *http.Client {
	if c == nil {
		return nil
	}
	out := *c
	out.Jar = nil
	out.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &out
}

// CloseIdleConnections closes the connections that are not in use.
func (c *Client) CloseIdleConnections() {
	c.trusted.CloseIdleConnections()
	for _, guarded := range []*http.Client{c.guarded, c.streams} {
		if guarded != nil {
			guarded.CloseIdleConnections()
		}
	}
}

// Open implements broker.Link.
func (c *Client) Open(
	ctx context.Context, t broker.Target, req *protocol.OpenSessionRequest,
) (*protocol.OpenSessionResponse, error) {
	names := t.Names
	t.Names = false // a host of an earlier version may serve there by now, and says so in its response
	body := *req
	body.BindKey = c.keys != nil && req.BrokerID != ""
	resp, err := c.do(ctx, t, call{
		method: http.MethodPost, path: "/session", session: req.SessionID, owner: req.Owner, body: &body,
	})
	if errors.As(err, new(tooSlow)) {
		return nil, &protocol.Error{
			Code: protocol.CodeBadGateway, Message: "Failed to connect to agent server", Err: err,
			Hint: "POST /session of the agent server must answer within 10 s: let it start slow work at POST /stream",
		}
	}
	if err != nil {
		return nil, unreachable(err)
	}
	var opened *protocol.OpenSessionResponse
	if resp.ok() {
		if opened, err = parseSession(resp, req.SessionID); err != nil {
			return nil, err
		}
	}
	switch {
	case names && !resp.named && (opened == nil || len(opened.Capabilities) == 0):
		return nil, foreign(errForeign{resp.status})
	case opened == nil:
		return nil, resp.sessionRefused()
	}
	return opened, nil
}

// Events implements broker.Link. A response that an agent host cannot have written is an
// error. It does not check the events; Ingest does.
func (c *Client) Events(
	ctx context.Context, t broker.Target, sessionID string, after broker.EventsAfter, limit int,
) (*protocol.EventsResponse, error) {
	return c.events(ctx, t, sessionID, after, limit, true)
}

// EventPage is Events without prompts.
func (c *Client) EventPage(
	ctx context.Context, t broker.Target, sessionID string, after protocol.Cursor, limit int,
) (*protocol.EventsResponse, error) {
	return c.events(ctx, t, sessionID, broker.EventsAfter{Cursor: after}, limit, false)
}

func (c *Client) events(
	ctx context.Context, t broker.Target, sessionID string, after broker.EventsAfter, limit int, prompts bool,
) (*protocol.EventsResponse, error) {
	query := url.Values{
		"epoch":   {strconv.FormatInt(after.Cursor.Epoch, 10)},
		"after":   {strconv.FormatInt(after.Cursor.Seq, 10)},
		"limit":   {strconv.Itoa(limit)},
		"prompts": {strconv.FormatBool(prompts)},
	}
	if after.EventID != "" {
		query.Set("last", after.EventID)
	}
	resp, err := c.session(ctx, t, call{method: http.MethodGet, path: "/events", query: query}, sessionID)
	if err != nil {
		return nil, err
	}
	var events protocol.EventsResponse
	if err := json.Unmarshal(resp.body, &events); err != nil {
		return nil, notHost(errNotJSON)
	}
	// A gateway's {"success":true} would read as an idle session without events, and the
	// host's open turn would be closed as lost.
	if events.Events == nil && events.Status == "" || events.SessionID != "" && events.SessionID != sessionID {
		return nil, notHost(errNotHost)
	}
	return &events, nil
}

// Ready implements broker.Link.
func (c *Client) Ready(ctx context.Context, t broker.Target) (health broker.HostHealth, names bool, err error) {
	t.Passwords = nil // /readyz needs no password
	resp, err := c.do(ctx, t, call{method: http.MethodGet, path: "/readyz"})
	if err != nil {
		return "", false, unreachable(err)
	}
	var ready protocol.Readiness
	switch {
	case resp.errorBody().Code == protocol.CodeStorageFull:
		return broker.HostFull, resp.named, nil
	case resp.lacksRoute(), resp.hidesRoute():
		return broker.HostOK, resp.named, nil // a basic host has no such route, and takes turns
	case !resp.ok():
		return "", resp.named, resp.failed()
	case json.Unmarshal(resp.body, &ready) == nil && ready.Storage == protocol.StorageLow:
		return broker.HostLowSpace, resp.named, nil
	}
	return broker.HostOK, resp.named, nil
}

var errNoLife = errors.New("the response names no life of a host")

// Life implements broker.LifeLink.
func (c *Client) Life(ctx context.Context, t broker.Target) (protocol.Life, error) {
	t.Passwords, t.Names = nil, true
	resp, err := c.do(ctx, t, call{method: http.MethodGet, path: "/healthz"})
	switch {
	case err != nil:
		return protocol.Life{}, unreachable(err)
	case resp.life.IsZero():
		return protocol.Life{}, notHost(errNoLife)
	}
	return resp.life, nil
}

// lacksRoute reports whether a server answered that does not know the route. Hosts
// that have it send a code.
func (r *response) lacksRoute() bool {
	switch r.status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return r.errorBody().Code == ""
	}
	return false
}

// hidesRoute reports whether a server that is no agent host of ours requires a
// credential for every path.
func (r *response) hidesRoute() bool {
	return (r.status == http.StatusUnauthorized || r.status == http.StatusForbidden) && r.errorBody().Code == ""
}

func sessionCall(sessionID string, request call) call {
	request.path, request.session = "/session/"+url.PathEscape(sessionID)+request.path, sessionID
	return request
}

// session sends a call below /session/:id. Every status other than 2xx is an error.
func (c *Client) session(ctx context.Context, t broker.Target, request call, sessionID string) (*response, error) {
	resp, err := c.do(ctx, t, sessionCall(sessionID, request))
	if err != nil {
		return nil, unreachable(err)
	}
	if !resp.ok() {
		return nil, resp.failed()
	}
	return resp, nil
}
