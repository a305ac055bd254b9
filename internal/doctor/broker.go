package doctor

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"bellhop/protocol"
)

// Broker has the addresses that a broker is configured with.
type Broker struct {
	PublicURL  string // for browsers
	WebhookURL string // for hosts
	Origins    []string
}

// Broker checks a running broker at its two addresses.
func (p *Prober) Broker(ctx context.Context, b Broker) []Finding {
	public, webhook := strings.TrimRight(b.PublicURL, "/"), strings.TrimRight(b.WebhookURL, "/")
	found, ok := p.server(ctx, CheckPublicURL, public, public,
		"Set BELLHOP_PUBLIC_URL to the address at which browsers reach the broker, and start it.")
	if ok {
		found = append(found, plainHTTP(public)...)
		for _, origin := range b.Origins {
			found = append(found, p.origin(ctx, public, public+"/api/tasks", origin,
				"Set BELLHOP_ALLOWED_ORIGINS for the running broker, and let proxies pass the CORS headers."))
		}
	}
	if webhook != public {
		const remedy = "Set BELLHOP_WEBHOOK_URL to an address at which hosts reach the broker."
		more, reached := p.server(ctx, CheckWebhooks, webhook, webhook, remedy)
		if found = append(found, more...); !reached {
			return found
		}
	} else if !ok {
		return found
	}
	return append(found, p.webhooks(ctx, webhook), p.renewal(ctx, webhook))
}

// plainHTTP warns of passwords that cross a network without encryption.
func plainHTTP(base string) []Finding {
	u, err := url.Parse(base)
	if err != nil || u.Scheme == "https" {
		return nil
	}
	if addr, err := netip.ParseAddr(u.Hostname()); u.Hostname() == "localhost" || err == nil && addr.IsLoopback() {
		return nil
	}
	return []Finding{Warn(CheckTLS, base, "It is not encrypted, so passwords and tokens can be read on the way.",
		"Put TLS in front of the server, and use its https URL.")}
}

// wrongToken has the shape of a webhook token; its signature is of no task.
const wrongToken = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJ0YXNrSWQiOiJkb2N0b3IifQ." +
	"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

// webhooks posts a request as large as a host's, with a token that the broker refuses.
func (p *Prober) webhooks(ctx context.Context, base string) Finding {
	body := append(bytes.Repeat([]byte(" "), webhookSize), "{}"...)
	a, err := p.do(ctx, request{
		method: http.MethodPost, url: base + "/api/agent/webhook?token=" + wrongToken, body: body,
		header: map[string]string{"Content-Type": "application/json", protocol.HeaderRequest: requestName},
	})
	switch {
	case err != nil:
		return unreachable(CheckWebhooks, base, err, "Let proxies pass requests of 1 MiB.")
	case a.status == http.StatusRequestEntityTooLarge:
		return Failed(CheckWebhooks, base, "A request of 900 KiB is refused as too large.",
			"Raise the limit of the proxy to 1 MiB (nginx: client_max_body_size).")
	case !refused(a):
		return Failed(CheckWebhooks, base, fmt.Sprintf("POST /api/agent/webhook is answered %d, not by a broker.", a.status),
			"Let proxies pass POST requests, with their query, below /api/agent/webhook.")
	case a.header.Get(protocol.HeaderBroker) == "" || a.header.Get(protocol.HeaderRequest) != requestName:
		return Failed(CheckWebhooks, base, "The response does not name the broker and the request, so hosts take it for a gateway's.",
			fmt.Sprintf("Let proxies pass the header %s of requests, and %[1]s and %s of responses.", protocol.HeaderRequest,
				protocol.HeaderBroker))
	}
	return Good(CheckWebhooks, base, "Requests of hosts arrive.")
}

func (p *Prober) renewal(ctx context.Context, base string) Finding {
	a, err := p.do(ctx, request{
		method: http.MethodPost, url: base + "/api/agent/webhook/renew?token=" + wrongToken,
		header: map[string]string{"Authorization": "Bearer doctor"},
	})
	const remedy = "Let proxies pass POST requests, with query and Authorization, to /api/agent/webhook/renew."
	switch {
	case err != nil:
		return unreachable(CheckRenewal, base, err, remedy)
	case !refused(a):
		message := fmt.Sprintf("POST /api/agent/webhook/renew is answered %d, not by a broker.", a.status)
		return Failed(CheckRenewal, base, message, remedy)
	}
	return Good(CheckRenewal, base, "Requests for new tokens arrive.")
}

// refused reports whether a broker refused the token.
func refused(a *answer) bool {
	switch a.code() {
	case protocol.CodeUnauthorized, protocol.CodeTokenExpired, protocol.CodeTooManyRequests, protocol.CodeInvalid,
		protocol.CodeNotFound, protocol.CodeGone:
		return true
	}
	return false
}

// origin sends the preflight of a browser.
func (p *Prober) origin(ctx context.Context, where, url, origin, remedy string) Finding {
	a, err := p.do(ctx, request{method: http.MethodOptions, url: url, header: map[string]string{
		"Origin": origin, "Access-Control-Request-Method": http.MethodPost, "Access-Control-Request-Headers": "authorization",
	}})
	switch {
	case err != nil:
		return unreachable(CheckOrigins, where, err, remedy)
	case a.header.Get("Access-Control-Allow-Origin") != origin:
		return Failed(CheckOrigins, where, "Pages of "+origin+" may not call it.", remedy)
	}
	return Good(CheckOrigins, where, "Pages of "+origin+" may call it.")
}
