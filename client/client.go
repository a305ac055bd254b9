package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"bellhop/protocol"
)

const (
	callLimit   = 30 * time.Second // for every call except streams
	maxResponse = 32 << 20
)

// Options of a Client. A zero value selects the default.
type Options struct {
	Token string       // API token; without it, call SignIn
	HTTP  *http.Client // its Timeout and Jar are ignored; nil = a client of its own
	Force bool         // prompts also start while a terminal client is attached, which is closed first

	// Named: the broker is known to name itself in its answers, so that no other answer counts. Without it, the client
	// knows from the first answer that does.
	Named bool

	// Only for streams and feeds:
	Idle       time.Duration // silence after which a connection is closed and retried: 30 s
	MinBackoff time.Duration // before the first retry: 0.5 s
	MaxBackoff time.Duration // 30 s
	Attempts   int           // failed attempts in a row before an error: 20
}

const defaultAttempts = 20

// Client is a user's connection to one broker. It is safe for concurrent use.
type Client struct {
	base    *url.URL
	baseErr error
	token   string
	opts    Options
	api     *http.Client // for the broker, with cookies
	stream  *http.Client // for streams of brokers and hosts, without timeout and cookies
}

// New returns a client of the broker at brokerURL. The first call reports a malformed URL.
func New(brokerURL string, opts Options) *Client {
	if opts.HTTP == nil {
		opts.HTTP = &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
	}
	if opts.Attempts <= 0 {
		opts.Attempts = defaultAttempts
	}
	c := &Client{token: opts.Token, opts: opts}
	c.base, c.baseErr = parseURL(brokerURL)
	jar, _ := cookiejar.New(nil) // fails only with options
	transport := names{cmp.Or(opts.HTTP.Transport, http.DefaultTransport), new(atomic.Bool)}
	transport.named.Store(opts.Named)
	c.api, c.stream = direct(transport), direct(transport)
	c.api.Jar = jar
	return c
}

// CloseIdleConnections closes connections that were kept for later calls.
func (c *Client) CloseIdleConnections() { c.stream.CloseIdleConnections() }

// direct returns a client without redirects: no route of Bellhop redirects, and following a
// redirect would send credentials to another server.
func direct(transport http.RoundTripper) *http.Client {
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func parseURL(raw string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimRight(raw, "/"))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, protocol.Errorf(protocol.CodeInvalid, "the URL must be http://… or https://…")
	}
	return u, nil
}

// endpoint returns the URL of a route of the broker.
func (c *Client) endpoint(path string, query url.Values) (*url.URL, error) {
	if c.baseErr != nil {
		return nil, c.baseErr
	}
	u := c.base.JoinPath(path)
	u.RawQuery = query.Encode()
	return u, nil
}

// call sends body as JSON, unless it is nil, and decodes the response into out.
func (c *Client) call(ctx context.Context, method, path string, query url.Values, body, out any) error {
	u, err := c.endpoint(path, query)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	req, err := c.request(ctx, method, u, body)
	if err != nil {
		return err
	}
	resp, err := c.api.Do(req)
	if err != nil {
		return noResponse(u, err)
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse))
	if err != nil {
		return noResponse(u, err)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return responseError(u, resp.StatusCode, raw)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return &Error{Origin: origin(u), Status: resp.StatusCode, Err: &protocol.Error{
			Code: protocol.CodeBadGateway, Message: "the answer is no JSON: is this a broker?", Err: err,
		}}
	}
	return nil
}

// request builds a request to the broker, with the API token if there is one.
func (c *Client) request(ctx context.Context, method string, u *url.URL, body any) (*http.Request, error) {
	req, err := jsonRequest(ctx, method, u, body)
	if err == nil && c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	return req, err
}

func jsonRequest(ctx context.Context, method string, u *url.URL, body any) (*http.Request, error) {
	var encoded []byte
	if body != nil {
		var err error
		if encoded, err = json.Marshal(body); err != nil {
			return nil, fmt.Errorf("client: encode the request: %w", err)
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(encoded))
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}
