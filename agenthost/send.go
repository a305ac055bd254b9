package agenthost

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

	"bellhop/protocol"
)

const (
	postLimit     = 10 * time.Second
	maxAnswerBody = 64 << 10
)

// answer is what came back from a broker.
type answer struct {
	err        error // no answer
	status     int
	code       protocol.Code
	message    string
	cursor     *protocol.Cursor
	index      *int
	retryAfter time.Duration
	understood bool // the body is a JSON object
	body       []byte
}

func (a *answer) at() int {
	if a.index == nil {
		return 0
	}
	return *a.index
}

// foreign reports that a refusal does not come from a broker that names itself:
// those carry an error code. Statuses that only ask for a retry are excluded,
// because they lead to the same backoff whoever sent them.
func (a *answer) foreign() bool {
	return a.code == "" && a.status < http.StatusInternalServerError && a.status != http.StatusTooManyRequests
}

func (s *session) send(ctx context.Context, p *parcel) *answer {
	body, err := p.body(s.id)
	if err != nil {
		return &answer{err: err}
	}
	return s.exchange(ctx, p.url, body, "")
}

// exchange posts JSON. Its errors never contain the URL, which carries a token.
func (s *session) exchange(ctx context.Context, target string, body []byte, bearer string) *answer {
	ctx, cancel := context.WithTimeout(ctx, postLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return &answer{err: errors.New("the webhook address cannot be used")}
	}
	req.Header.Set("Content-Type", "application/json")
	if bearer != "" {
		req.Header.Set("Authorization", "Bearer "+bearer)
	}
	resp, err := s.host.opts.Poster.Do(req)
	if err != nil {
		return &answer{err: withoutURL(err)}
	}
	defer func() { _ = resp.Body.Close() }()
	a := &answer{status: resp.StatusCode}
	if a.body, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswerBody)); err != nil {
		return &answer{err: withoutURL(err)}
	}
	a.read(resp.Header.Get("Retry-After"))
	return a
}

func (a *answer) read(retryAfter string) {
	var body struct {
		Error  string           `json:"error"`
		Code   protocol.Code    `json:"code"`
		Cursor *protocol.Cursor `json:"cursor"`
		Index  *int             `json:"index"`
	}
	a.understood = json.Unmarshal(a.body, &body) == nil
	a.code, a.message, a.cursor, a.index = body.Code, body.Error, body.Cursor, body.Index
	if seconds, err := strconv.Atoi(retryAfter); err == nil && seconds > 0 {
		a.retryAfter = time.Duration(min(seconds, int(maxBackoff/time.Second))) * time.Second
	}
}

// withoutURL keeps the reason of a failed request: *url.Error prints the address,
// and that carries the token.
func withoutURL(err error) error {
	var outer *url.Error
	if errors.As(err, &outer) {
		return outer.Err
	}
	return err
}
