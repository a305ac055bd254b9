package hosts

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"bellhop/broker"
	"bellhop/crypto/seal"
	"bellhop/internal/observe"
	"bellhop/internal/requestid"
	"bellhop/protocol"
)

// Reasons why a call failed. None of these errors contains the host's address or a
// secret.
var (
	errNotJSON      = errors.New("the response is not the expected JSON")
	errOtherSession = errors.New("the response is about another session")
	errNotHost      = errors.New("the response is not an agent host's")
	errTooLarge     = errors.New("the response is larger than 8 MiB")
	errNoGuard      = errors.New("no guarded client for a user's agent URL")
	errBadTarget    = errors.New("the agent URL is no http or https URL")
	errLeak         = errors.New("the host sent no HTTP, but a secret of the request")
)

// call describes one request, without the host and its passwords.
type call struct {
	method string
	path   string
	query  url.Values
	body   any // JSON; nil for none

	session string // whose key is sent; "" for none
	owner   string // user whose key is sent; "" for none

	timeout time.Duration // 0 = the client's
}

// response is a host's response.
type response struct {
	status  int
	body    []byte
	named   bool          // it repeats the request's name
	date    time.Time     // of the host, zero if unknown
	life    protocol.Life // of the host, if it is named; zero = it told none
	secrets []string      // of the request; the host may have echoed them
}

func (r *response) ok() bool { return r.status >= 200 && r.status < 300 }

// do sends the call, and reports it to the observer.
func (c *Client) do(ctx context.Context, t broker.Target, request call) (*response, error) {
	ctx, operation := observe.Begin(ctx, c.observer, observe.Start{Operation: observe.Call, Name: request.kind()})
	got, err := c.send(ctx, t, request)
	switch {
	case err != nil:
		operation.End(observe.Outcome{Result: observe.ResultUnreachable})
	case !got.ok():
		operation.End(observe.Outcome{Result: observe.ResultRefused})
	default:
		operation.End(observe.Outcome{})
	}
	return got, err
}

// kind returns the part of the path that names the called resource, without the ids in it.
func (c *call) kind() string {
	parts := strings.Split(strings.Trim(c.path, "/"), "/")
	if parts[0] == "session" && len(parts) > 2 { // session/ID/interrupt
		return parts[2]
	}
	return parts[0]
}

// send sends the call with each password in turn until the host accepts one. An answer that is not of a host that names
// its answers is an error.
func (c *Client) send(ctx context.Context, t broker.Target, request call) (*response, error) {
	limit := cmp.Or(request.timeout, c.timeout)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, tooSlow{request.kind(), limit})
	defer cancel()
	client, err := clientFor(t, c.guarded, c.trusted)
	if err != nil {
		return nil, err
	}
	target, err := targetURL(t.URL, request)
	if err != nil {
		return nil, err
	}
	var body []byte
	if request.body != nil {
		if body, err = json.Marshal(request.body); err != nil {
			return nil, fmt.Errorf("encode the request: %w", err)
		}
	}
	passwords := t.Passwords
	if len(passwords) == 0 {
		passwords = []seal.Secret{{}}
	}
	keys, err := c.keysOf(request)
	if err != nil {
		return nil, err
	}
	secrets := secretsOf(slices.AppendSeq(slices.Clone(passwords), maps.Values(keys)), request)
	act := cmp.Or(broker.ActSent(ctx), &broker.ActRow{ID: protocol.NewID(), SeenAt: time.Now().UTC()})
	var got *response
	for i, password := range passwords {
		req, err := newRequest(ctx, request.method, target, body, password)
		if err != nil {
			return nil, err
		}
		observe.SetTrace(ctx, req.Header)
		nameAct(req.Header, request.method, act)
		c.nameLife(req.Header)
		for header, key := range keys {
			req.Header.Set(header, key.Reveal())
		}
		if got, err = exchange(client, req); err != nil {
			return nil, c.away(t.URL, safeError(ctx, err, secrets))
		}
		c.answered.Put(t.URL, time.Now())
		if got.status != http.StatusUnauthorized {
			if i > 0 && (got.named || !t.Names) {
				c.log.WarnContext(ctx, "an agent host accepts only an old password", "call", request.method+" "+request.path)
			}
			break
		}
	}
	if t.Names && !got.named {
		return nil, errForeign{got.status}
	}
	got.secrets = secrets
	c.noteCopy(ctx, t.URL, got)
	if c.dates != nil && !got.date.IsZero() && !t.Guarded && !isHere(t.URL) {
		c.dates(got.date)
	}
	if c.lives != nil && !got.life.IsZero() {
		c.lives(ctx, t.URL, got.life)
	}
	return got, nil
}

// isHere reports whether a URL names this machine, which has the broker's own clock.
func isHere(base string) bool {
	u, err := url.Parse(base)
	return err == nil && (u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback())
}

// keysOf returns the keys that a call sends, by their headers.
func (c *Client) keysOf(request call) (map[string]seal.Secret, error) {
	keys := map[string]seal.Secret{}
	if c.keys == nil {
		return keys, nil
	}
	var errSession, errOwner error
	if request.session != "" {
		keys[protocol.HeaderSessionKey], errSession = c.keys.Key(request.session)
	}
	if request.owner != "" {
		keys[protocol.HeaderOwnerKey], errOwner = c.keys.OwnerKey(request.owner)
	}
	return keys, errors.Join(errSession, errOwner)
}

// clientFor returns the guarded client for URLs that a non-administrator gave.
func clientFor(t broker.Target, guarded, trusted *http.Client) (*http.Client, error) {
	client := trusted
	if t.Guarded {
		client = guarded
	}
	if client == nil {
		return nil, errNoGuard
	}
	return client, nil
}

func targetURL(base string, request call) (string, error) {
	u, err := url.Parse(strings.TrimRight(base, "/") + request.path)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
		return "", errBadTarget
	}
	u.RawQuery = request.query.Encode()
	return u.String(), nil
}

func newRequest(ctx context.Context, method, target string, body []byte, password seal.Secret) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(body))
	if err != nil {
		return nil, errBadTarget
	}
	requestid.Forward(req)
	nameRequest(req.Header)
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if !password.IsZero() {
		req.Header.Set("Authorization", "Bearer "+password.Reveal())
	}
	return req, nil
}

func exchange(client *http.Client, req *http.Request) (*response, error) {
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse+1))
	if err != nil {
		return nil, err
	}
	if len(body) > maxResponse {
		return nil, errTooLarge
	}
	got := &response{status: resp.StatusCode, body: body, named: repeatsName(req.Header, resp.Header)}
	if got.named {
		got.date, _ = http.ParseTime(resp.Header.Get("Date"))
		got.life = protocol.ParseLife(resp.Header.Get(protocol.HeaderLife))
	}
	return got, nil
}

// safeError removes text that must not be logged: a *url.Error prints the URL, and
// the errors of net/http quote bytes that a host sent instead of HTTP.
func safeError(ctx context.Context, err error, secrets []string) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	var urlError *url.Error
	if errors.As(err, &urlError) {
		err = urlError.Err
	}
	for _, secret := range secrets {
		if strings.Contains(err.Error(), secret) {
			return errLeak
		}
	}
	return err
}
