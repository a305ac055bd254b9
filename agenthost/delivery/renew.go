package delivery

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"bellhop/agenthost/core"
	"bellhop/protocol"
)

// Expiry returns when the token of a webhook address expires, or the zero time if that is not known.
// The token is not verified, because the time only decides when to ask for another token.
func Expiry(webhookURL string) time.Time {
	_, expires := tokenTimes(webhookURL)
	return expires
}

// FreshExpiry returns when a token expires that the broker has just signed: now plus the
// token's lifetime. Unlike Expiry it is right if the clocks of broker and host differ.
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
	d.renewals <- struct{}{}
	defer func() { <-d.renewals }()
	r, err := d.askRenewal(ctx, order)
	if err != nil {
		return core.RenewalRefused{Refusal: core.Refusal{Message: err.Error()}}
	}
	var renewed protocol.RenewResponse
	if r.foreign || r.status != http.StatusOK || json.Unmarshal(r.body, &renewed) != nil || renewed.WebhookURL == "" {
		return core.RenewalRefused{Refusal: r.refusal()}
	}
	return core.TokenRenewed{
		AddressVersion: order.AddressVersion, URL: renewed.WebhookURL, Expires: FreshExpiry(renewed.WebhookURL, d.now()),
		Cursor: renewed.Cursor, Incarnation: renewed.Incarnation,
	}
}

func (d *Sender) askRenewal(ctx context.Context, order *Order) (*response, error) {
	p, err := d.renewal(order)
	if err != nil {
		return nil, errors.New("the webhook address cannot be used")
	}
	return d.exchange(ctx, p)
}
