package agenthost

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"bellhop/protocol"
)

const (
	renewBefore = time.Minute
	// renewAtLeast keeps a token that lives shorter than renewBefore from being
	// renewed without pause.
	renewAtLeast = 5 * time.Second
)

// armRenewal has the webhook token renewed before it expires, while a turn is
// open, and not before least has passed. The lock is held.
func (s *session) armRenewal(least time.Duration) {
	s.stopRenewal()
	if s.turn == nil || s.rec.Basic || s.gone {
		return
	}
	exp, ok := tokenExpiry(s.rec.WebhookURL)
	if !ok {
		return
	}
	left := max(exp.Add(-renewBefore).Sub(s.host.opts.Now()), least)
	s.outbox.renewal = time.AfterFunc(left, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.turn == nil || s.gone {
			return
		}
		s.outbox.renewDue = true
		s.outbox.nudge()
		s.wakeOutbox()
	})
}

func (s *session) stopRenewal() {
	stopTimer(&s.outbox.renewal)
	s.outbox.renewDue = false
}

// tokenExpiry reads exp without a proof: it only says when to ask for a new token.
func tokenExpiry(webhookURL string) (time.Time, bool) {
	_, exp := tokenTimes(webhookURL)
	return time.Unix(exp, 0), exp > 0
}

// tokenLifetime is 0 for a token that does not state when it was issued.
func tokenLifetime(webhookURL string) time.Duration {
	iat, exp := tokenTimes(webhookURL)
	if iat <= 0 || exp <= iat {
		return 0
	}
	return time.Duration(exp-iat) * time.Second
}

// tokenTimes returns iat and exp in seconds, 0 where there is none.
func tokenTimes(webhookURL string) (iat, exp int64) {
	u, err := url.Parse(webhookURL)
	if err != nil {
		return 0, 0
	}
	parts := strings.Split(u.Query().Get("token"), ".")
	if len(parts) != 3 {
		return 0, 0
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return 0, 0
	}
	var claims struct {
		Iat int64 `json:"iat"`
		Exp int64 `json:"exp"`
	}
	if json.Unmarshal(raw, &claims) != nil {
		return 0, 0
	}
	return claims.Iat, claims.Exp
}

// renewURL is the webhook's path + /renew with the same token.
func renewURL(webhookURL string) (string, error) {
	u, err := url.Parse(webhookURL)
	if err != nil {
		return "", err
	}
	return u.JoinPath("renew").String(), nil
}

// renew asks for a new webhook address (protocol section 1.5).
func (s *session) renew(ctx context.Context) time.Duration {
	s.mu.Lock()
	old, named := s.rec.WebhookURL, s.rec.BrokerID != ""
	s.mu.Unlock()
	target, err := renewURL(old)
	if err != nil {
		return s.failed("the webhook address cannot be used", nil, 0)
	}
	a := s.exchange(ctx, target, []byte("{}"), s.host.opts.Password.Reveal())
	if a.err != nil {
		return s.failed("the broker cannot be reached for a renewal", a.err, 0)
	}
	if named && a.status/100 == 4 && a.foreign() {
		return s.doubtful(fmt.Sprintf("%d without a broker's error code", a.status), a.retryAfter)
	}
	if a.status == http.StatusGone {
		return s.halted(nil, "the broker has deleted the task")
	}
	var renewed protocol.RenewResponse
	if a.status != http.StatusOK || json.Unmarshal(a.body, &renewed) != nil || renewed.WebhookURL == "" {
		return s.failed("the broker does not renew the webhook token", nil, a.retryAfter)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outbox.renewDue = false
	if s.rec.WebhookURL != old || s.gone { // a check-in brought another meanwhile
		return 0
	}
	b := s.begin()
	rec := b.record()
	rec.WebhookURL = renewed.WebhookURL
	if rec.Outbox == OutboxRetrying {
		rec.Outbox, rec.OutboxError = OutboxOK, ""
	}
	if err := b.commit(); err != nil {
		return s.failedLocked("the journal cannot be written", err, 0)
	}
	s.armRenewal(max(renewAtLeast, tokenLifetime(renewed.WebhookURL)-renewBefore)) // by its length: the clocks may differ
	if renewed.WebhookURL == old {
		return renewAtLeast
	}
	return 0
}
