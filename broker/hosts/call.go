package hosts

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"bellhop/broker"
	"bellhop/crypto/seal"
)

// Why a call failed; none of them names the host or a secret.
var (
	errNotJSON   = errors.New("the answer is not the JSON that was asked for")
	errTooLarge  = errors.New("the answer is over 8 MiB")
	errNoGuard   = errors.New("no guarded client for a user's agent URL")
	errBadTarget = errors.New("the agent URL is no http or https URL")
	errTimeout   = errors.New("no answer in time")
	errRepeated  = errors.New("the host sent no HTTP, and repeated a secret in it")
)

// call is one request, but for where it goes and who asks.
type call struct {
	method string
	path   string
	query  url.Values
	body   any // JSON; nil for none

	timeout time.Duration // 0 = the client's
}

// answer is what a host said.
type answer struct {
	status  int
	body    []byte
	secrets []string // never to be repeated
}

func (a *answer) ok() bool { return a.status >= 200 && a.status < 300 }

// do asks with each password until the host takes one.
func (c *Client) do(ctx context.Context, t broker.Target, what call) (*answer, error) {
	if what.timeout <= 0 {
		what.timeout = c.timeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, what.timeout, errTimeout)
	defer cancel()
	client := c.trusted
	if t.Guarded {
		client = c.guarded
	}
	if client == nil {
		return nil, errNoGuard
	}
	target, err := targetURL(t.URL, what)
	if err != nil {
		return nil, err
	}
	var body []byte
	if what.body != nil {
		if body, err = json.Marshal(what.body); err != nil {
			return nil, fmt.Errorf("encode the request: %w", err)
		}
	}
	passwords := t.Passwords
	if len(passwords) == 0 {
		passwords = []seal.Secret{{}}
	}
	secrets := secretsOf(passwords, what)
	var got *answer
	for i, password := range passwords {
		got, err = send(ctx, client, what.method, target, body, password)
		if err != nil {
			return nil, presentable(ctx, err, secrets)
		}
		if got.status == http.StatusUnauthorized {
			continue
		}
		if i > 0 {
			c.log.WarnContext(ctx, "an agent host takes an old password only", "call", what.method+" "+what.path)
		}
		break
	}
	got.secrets = secrets
	return got, nil
}

func targetURL(base string, what call) (string, error) {
	u, err := url.Parse(strings.TrimRight(base, "/") + what.path)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
		return "", errBadTarget
	}
	u.RawQuery = what.query.Encode()
	return u.String(), nil
}

func send(ctx context.Context, client *http.Client, method, target string, body []byte, password seal.Secret) (*answer, error) {
	req, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(body))
	if err != nil {
		return nil, errBadTarget
	}
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if !password.IsZero() {
		req.Header.Set("Authorization", "Bearer "+password.Reveal())
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	read, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return nil, err
	}
	if len(read) > maxAnswer {
		return nil, errTooLarge
	}
	return &answer{status: resp.StatusCode, body: read}, nil
}

// presentable makes an error fit for a log: a *url.Error prints the URL, and
// what a host sent instead of HTTP is quoted in net/http's errors.
func presentable(ctx context.Context, err error, secrets []string) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	var urlError *url.Error
	if errors.As(err, &urlError) {
		err = urlError.Err
	}
	for _, secret := range secrets {
		if strings.Contains(err.Error(), secret) {
			return errRepeated
		}
	}
	return err
}
