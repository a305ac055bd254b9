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
	"bellhop/internal/requestid"
)

var _ broker.Relayer = (*Client)(nil)

var errBadStatus = errors.New("the host sent a status that cannot be relayed")

// Relay implements broker.Relayer. The time limit applies only while the host is
// silent before its response header; the time in which the browser sends the prompt
// does not count.
func (c *Client) Relay(ctx context.Context, t broker.Target, r *broker.RelayRequest) (*http.Response, error) {
	client, err := clientFor(t, c.streams, c.trusted)
	if err != nil {
		return nil, unreachable(err)
	}
	target, err := targetURL(t.URL, call{path: "/stream/" + url.PathEscape(r.SessionID), query: r.Query})
	if err != nil {
		return nil, unreachable(err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	silence := newSilenceTimer(c.timeout, func() { cancel(tooSlow{"stream", c.timeout}) })
	req, err := http.NewRequestWithContext(ctx, r.Method, target, &upload{r.Body, silence})
	if err != nil {
		silence.end()
		cancel(err)
		return nil, unreachable(errBadTarget)
	}
	req.ContentLength = r.Length
	if r.Length == 0 {
		req.Body = http.NoBody
	}
	req.Header = r.Header.Clone()
	requestid.Forward(req)
	nameRequest(req.Header)
	c.nameLife(req.Header)
	req.Header.Set("Accept-Encoding", "identity") // a compressed stream would delay frames
	resp, err := client.Do(req)
	silence.end()
	if err == nil {
		err = checkRelayable(ctx, t, resp)
	}
	if err != nil {
		err = c.away(t.URL, safeError(ctx, err, streamSecrets(r)))
		cancel(err)
		return nil, unreachable(err)
	}
	resp.Body = &body{resp.Body, cancel}
	return resp, nil
}

// checkRelayable closes a response that came too late, is not the host's, or has a status that cannot be
// relayed.
func checkRelayable(ctx context.Context, t broker.Target, resp *http.Response) error {
	err := context.Cause(ctx)
	switch {
	case err != nil:
	case t.Names && !repeatsName(resp.Request.Header, resp.Header):
		err = errForeign{resp.StatusCode}
	case !relayable(resp.StatusCode):
		err = errBadStatus
	}
	if err != nil {
		_ = resp.Body.Close()
	}
	return err
}

// relayable excludes redirects, which the browser would follow, and statuses that
// no server may forward, such as 101 and 042.
func relayable(status int) bool {
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

// silenceTimer ends a request when the host is silent for too long. It pauses while
// the browser sends.
type silenceTimer struct {
	limit time.Duration
	mu    sync.Mutex
	timer *time.Timer
	ended bool
}

func newSilenceTimer(limit time.Duration, expired func()) *silenceTimer {
	return &silenceTimer{limit: limit, timer: time.AfterFunc(limit, expired)}
}

func (t *silenceTimer) pause() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.timer.Stop()
}

func (t *silenceTimer) resume() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.ended {
		t.timer.Reset(t.limit)
	}
}

func (t *silenceTimer) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	t.timer.Stop()
}

// upload is the request body that the browser sends.
type upload struct {
	io.Reader
	silence *silenceTimer
}

// Read implements io.Reader.
func (u *upload) Read(p []byte) (int, error) {
	u.silence.pause()
	defer u.silence.resume()
	return u.Reader.Read(p)
}

// body is a response body that ends the request's context when it is closed.
type body struct {
	io.ReadCloser
	cancel context.CancelCauseFunc
}

// Close implements io.Closer.
func (b *body) Close() error {
	b.cancel(context.Canceled)
	return b.ReadCloser.Close()
}
