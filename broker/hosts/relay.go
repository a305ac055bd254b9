package hosts

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"time"

	"bellhop/broker"
)

var _ broker.Relayer = (*Client)(nil)

// Relay implements broker.Relayer. Only the answer's head has a time limit.
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
	req, err := http.NewRequestWithContext(ctx, r.Method, target, r.Body)
	if err != nil {
		cancel(err)
		return nil, unreachable(errBadTarget)
	}
	req.ContentLength = r.Length
	if r.Length == 0 {
		req.Body = http.NoBody
	}
	req.Header = r.Header.Clone()
	req.Header.Set("Accept-Encoding", "identity") // compressed frames would wait for each other
	late := time.AfterFunc(c.timeout, func() { cancel(errTimeout) })
	answer, err := client.Do(req)
	if !late.Stop() && err == nil {
		_ = answer.Body.Close()
		err = errTimeout
	}
	if err != nil {
		err = presentable(ctx, err, []string{r.Query.Get("token"), r.Header.Get("Authorization")})
		cancel(err)
		return nil, unreachable(err)
	}
	answer.Body = &body{answer.Body, cancel}
	return answer, nil
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
