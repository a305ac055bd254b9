package delivery

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"bellhop/agenthost/core"
	"bellhop/internal/observe"
	"bellhop/protocol"
)

const (
	maxResponse   = 64 << 10 // bytes that are read of a response
	maxRetryAfter = time.Hour
)

// Poster sends requests; an *http.Client is one. It must not follow redirects:
// they would send the webhook token elsewhere.
type Poster interface {
	Do(*http.Request) (*http.Response, error)
}

// NewPoster returns a client with its own connections, so that ending the host ends
// them.
func NewPoster() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 64 // usually all go to one broker
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// response is what a broker answered, or something in between.
type response struct {
	foreign    bool // of something in between: only status and retryAfter are set
	status     int
	retryAfter time.Duration
	body       []byte
	object     bool // the body is a JSON object
	form       struct {
		Error  string           `json:"error"`
		Code   protocol.Code    `json:"code"`
		Cursor *protocol.Cursor `json:"cursor"`
		Index  *int             `json:"index"`
		// Time is that of the broker's clock. It is ignored if it is not a time, because another program may have
		// answered.
		Time json.RawMessage `json:"time"`

		Incarnation string `json:"incarnation"`
	}
}

func (r *response) refusal() core.Refusal {
	return core.Refusal{
		Foreign: r.foreign, Status: r.status, Code: r.form.Code, Message: r.form.Error, Cursor: r.form.Cursor, Index: r.form.Index,
		RetryAfter: r.retryAfter, Incarnation: r.form.Incarnation, Time: r.time(),
	}
}

func (r *response) time() *time.Time {
	var at time.Time
	if len(r.form.Time) == 0 || json.Unmarshal(r.form.Time, &at) != nil || at.IsZero() {
		return nil
	}
	return &at
}

// exchange posts JSON. Its errors never contain the URL, which may have a token.
func (d *Sender) exchange(ctx context.Context, p *post) (*response, error) {
	ctx, cancel := context.WithTimeout(ctx, protocol.WebhookTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(p.body))
	if err != nil {
		return nil, errors.New("the webhook address cannot be used")
	}
	req.Header = p.header
	observe.SetTrace(ctx, req.Header)
	resp, err := d.poster.Do(req)
	if err != nil {
		return nil, withoutURL(err)
	}
	defer func() { _ = resp.Body.Close() }()
	r := &response{status: resp.StatusCode}
	if r.body, err = io.ReadAll(io.LimitReader(resp.Body, maxResponse)); err != nil {
		return nil, withoutURL(err)
	}
	r.object = json.Unmarshal(r.body, &r.form) == nil
	if p.isForeign(r, resp.Header) {
		r = &response{status: resp.StatusCode, foreign: true}
	} else if life := protocol.ParseLife(resp.Header.Get(protocol.HeaderLife)); p.order.NamedAnswers && d.BrokerLife != nil &&
		life.Host == p.order.BrokerID && !life.IsZero() {
		d.BrokerLife(life)
	}
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && seconds > 0 {
		r.retryAfter = time.Duration(min(seconds, int(maxRetryAfter/time.Second))) * time.Second
	}
	return r, nil
}

// withoutURL returns the reason of a failed request: *url.Error prints the address,
// and that has the token.
func withoutURL(err error) error {
	var outer *url.Error
	if errors.As(err, &outer) {
		return outer.Err
	}
	return err
}
