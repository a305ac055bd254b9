package delivery

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"bellhop/agenthost/core"
	"bellhop/protocol"
)

// Expiry returns when the token of a webhook address expires; zero: unknown. The
// token is not verified: the time only says when to ask for another.
func Expiry(webhookURL string) time.Time {
	_, expires := tokenTimes(webhookURL)
	return expires
}

// FreshExpiry is Expiry by the host's clock, for a token that the broker has just
// signed: now and the token's length. The broker's clock may be another.
func FreshExpiry(webhookURL string, now time.Time) time.Time {
	issued, expires := tokenTimes(webhookURL)
	if issued.IsZero() || !expires.After(issued) {
		return expires
	}
	return now.Add(expires.Sub(issued))
}

// tokenTimes returns iat and exp, zero where there is none.
func tokenTimes(webhookURL string) (issued, expires time.Time) {
	u, err := url.Parse(webhookURL)
	if err != nil || u.RawQuery == "" {
		return issued, expires
	}
	parts := strings.Split(u.Query().Get("token"), ".")
	if len(parts) != 3 {
		return issued, expires
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return issued, expires
	}
	var claims struct {
		Iat int64 `json:"iat"`
		Exp int64 `json:"exp"`
	}
	if json.Unmarshal(raw, &claims) != nil || claims.Exp <= 0 {
		return issued, expires
	}
	if claims.Iat > 0 {
		issued = time.Unix(claims.Iat, 0)
	}
	return issued, time.Unix(claims.Exp, 0)
}

// renew asks for a new webhook address (protocol section 1.5), at the webhook's
// path + /renew with the same token.
func (d *Sender) renew(ctx context.Context, order *Order) core.Input {
	u, err := url.Parse(order.URL)
	if err != nil {
		return core.RenewalRefused{Refusal: core.Refusal{Message: "the webhook address cannot be used"}}
	}
	r, err := d.exchange(ctx, u.JoinPath("renew").String(), []byte("{}"), d.Password.Reveal())
	if err != nil {
		return core.RenewalRefused{Refusal: core.Refusal{Message: err.Error()}}
	}
	var renewed protocol.RenewResponse
	if r.status != http.StatusOK || json.Unmarshal(r.body, &renewed) != nil || renewed.WebhookURL == "" {
		return core.RenewalRefused{Refusal: r.refusal()}
	}
	return core.TokenRenewed{Address: order.Address, URL: renewed.WebhookURL, Expires: FreshExpiry(renewed.WebhookURL, d.Now())}
}
