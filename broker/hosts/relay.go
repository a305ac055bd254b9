package hosts

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"bellhop/broker"
)

var _ broker.Relayer = (*Client)(nil)

var errNoAnswer = errors.New("the host answered with a status that is none")

// Relay implements broker.Relayer. Only the host's silence before the answer's head
// has a time limit, not how long the browser takes to send the prompt.
func (c *Client) Relay(ctx context.Context, t broker.Target, r *broker.RelayRequest) (*http.Response, error) {
	client := c.trusted
	if t.Guarded {
		client = c.streams
	}
	if client == nil {
		return nil, unreachable(errNoGuard)
	}
	target, err := targetURL(t.URL, call{path: "/stream/" + url.PathEscape(r.SessionID), query: r.Query})
	if err != nil {
		return nil, unreachable(err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	patience := newPatience(c.timeout, func() { cancel(errTimeout) })
	req, err := http.NewRequestWithContext(ctx, r.Method, target, &upload{r.Body, patience})
	if err != nil {
		patience.end()
		cancel(err)
		return nil, unreachable(errBadTarget)
	}
	req.ContentLength = r.Length
	if r.Length == 0 {
		req.Body = http.NoBody
	}
	req.Header = r.Header.Clone()
	req.Header.Set("Accept-Encoding", "identity") // compressed frames would wait for each other
	answer, err := client.Do(req)
	patience.end()
	if err == nil {
		err = acceptable(ctx, answer)
	}
	if err != nil {
		err = presentable(ctx, err, streamSecrets(r))
		cancel(err)
		return nil, unreachable(err)
	}
	answer.Body = &body{answer.Body, cancel}
	return answer, nil
}

// acceptable closes an answer that cannot be passed on: it came too late, or is
// none to a request for a stream.
func acceptable(ctx context.Context, answer *http.Response) error {
	err := context.Cause(ctx)
	if err == nil && !passable(answer.StatusCode) {
		err = errNoAnswer
	}
	if err != nil {
		_ = answer.Body.Close()
	}
	return err
}

// passable refuses redirects, which would have to be followed by the browser, and
// what no server may send on: 101, 042.
func passable(status int) bool {
	return status >= 200 && status < 300 || status >= 400 && status < 600
}

func streamSecrets(r *broker.RelayRequest) []string {
	_, bearer, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	var secrets []string
	for _, secret := range []string{r.Query.Get("token"), bearer} {
		if secret != "" {
			secrets = append(secrets, secret)
		}
	}
	return secrets
}

// patience ends a request when the host is silent for too long. While the browser
// sends, the host is not waited for.
type patience struct {
	limit time.Duration
	mu    sync.Mutex
	timer *time.Timer
	over  bool
}

func newPatience(limit time.Duration, give func()) *patience {
	return &patience{limit: limit, timer: time.AfterFunc(limit, give)}
}

func (p *patience) pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer.Stop()
}

func (p *patience) resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.over {
		p.timer.Reset(p.limit)
	}
}

func (p *patience) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	p.timer.Stop()
}

// upload is a request's body on its way from the browser.
type upload struct {
	io.Reader
	patience *patience
}

// Read implements io.Reader.
func (u *upload) Read(p []byte) (int, error) {
	u.patience.pause()
	defer u.patience.resume()
	return u.Reader.Read(p)
}

// body ends its request's context with it.
type body struct {
	io.ReadCloser
	cancel context.CancelCauseFunc
}

// Close implements io.Closer.
func (b *body) Close() error {
	b.cancel(context.Canceled)
	return b.ReadCloser.Close()
}
