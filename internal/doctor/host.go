package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"bellhop/protocol"
)

// Host is a registered host.
type Host struct {
	Name      string
	URL       string
	Passwords []string // the first that is accepted is the right one
	Relayed   bool     // browsers do not reach it
	Names     bool     // it has named a request in an answer, so that the broker believes no other answers
	Version   string   // that it should have: of this program; "" = not known
}

// Host checks a host. public is the address of the broker for browsers, whose pages read the
// host's streams.
func (p *Prober) Host(ctx context.Context, h Host, public string) []Finding {
	base := strings.TrimRight(h.URL, "/")
	found, ok := p.server(ctx, CheckHost, h.Name, base,
		"Start the host, or correct its address with `bellhop hosts update --url`.")
	if !ok {
		return found
	}
	found = append(found, p.status(ctx, h, base)...)
	page, err := url.Parse(public)
	if h.Relayed || err != nil || page.Host == "" {
		return found
	}
	if page.Scheme == "https" && strings.HasPrefix(base, "http:") {
		found = append(found, Failed(CheckTLS, h.Name, "Browsers refuse its streams: the console is https, the host is not.",
			"Put TLS in front of the host, or set `bellhop hosts update --reach relay`."))
	}
	found = append(found, plainHTTP(base)...)
	return append(found, p.origin(ctx, h.Name, base+"/stream/doctor", page.Scheme+"://"+page.Host,
		"Add this origin to BELLHOP_HOST_ALLOWED_ORIGINS of the host."))
}

// hostStatus has the members that are read from GET /status.
type hostStatus struct {
	Version     string            `json:"version"`
	Notices     []string          `json:"notices"`
	DeadLetters []json.RawMessage `json:"deadLetters"`
	Sessions    []struct {
		ID             string `json:"id"`
		Unacknowledged int64  `json:"unacknowledged"`
		OutboxError    string `json:"outboxError"`
	} `json:"sessions"`
	Sandbox struct {
		Mode string   `json:"mode"` // "" if the host reports no sandbox
		Open []string `json:"open"` // escapes that the system does not block
	} `json:"sandbox"`
}

// requestName names the doctor's requests.
const requestName = "doctor"

// setPassword is the remedy for a wrong password.
const setPassword = "Set the one it was started with: `bellhop hosts update --set-password`."

// withPasswords returns a GET with each of a host's passwords.
func withPasswords(h Host, url string) []request {
	var all []request
	for _, password := range h.Passwords {
		header := map[string]string{"Authorization": "Bearer " + password, protocol.HeaderRequest: requestName}
		all = append(all, request{method: http.MethodGet, url: url, header: header})
	}
	return all
}

func (p *Prober) status(ctx context.Context, h Host, base string) []Finding {
	var a *answer
	var err error
	for _, r := range withPasswords(h, base+"/status") {
		if a, err = p.do(ctx, r); err != nil || a.status != http.StatusUnauthorized {
			break
		}
	}
	if a != nil && err == nil && h.Names && a.header.Get(protocol.HeaderRequest) != requestName {
		return []Finding{Failed(CheckHost, h.Name,
			"The response does not repeat the request's name, which the host did before: the broker believes nothing that answers there.",
			"Let proxies pass the header "+protocol.HeaderRequest+" of requests and responses. If a basic agent server, or an earlier "+
				"version, serves there now, set its URL again with `bellhop hosts update --url`.")}
	}
	var status hostStatus
	switch {
	case a == nil && err == nil:
		return []Finding{Failed(CheckHost, h.Name, "It has no password.", setPassword)}
	case err != nil:
		return []Finding{unreachable(CheckHost, h.Name, err, "Its log names the reason.")}
	case a.status == http.StatusUnauthorized:
		return []Finding{Failed(CheckHost, h.Name, "It refuses the password.", setPassword)}
	case a.status != http.StatusOK || json.Unmarshal(a.body, &status) != nil:
		message := fmt.Sprintf("GET /status is answered %d, not by a host.", a.status)
		return []Finding{Failed(CheckHost, h.Name, message, "Let proxies pass it.")}
	}
	found := []Finding{Good(CheckHost, h.Name, "It accepts the password.")}
	found = append(found, CheckVersion(h.Name, "It runs", protocol.HostVersion(status.Version), h.Version)...)
	if sandbox := status.Sandbox; sandbox.Mode != "" {
		text := "Its sandbox is " + sandbox.Mode
		if len(sandbox.Open) > 0 {
			text += "; programs in it can " + strings.Join(sandbox.Open, ", ")
		}
		found = append(found, Good(CheckHost, h.Name, text+".")) // a sandbox that is not enough is a notice
	}
	if status.Version == h.Version && h.Version != "" && a.header.Get(protocol.HeaderLife) == "" {
		found = append(found, Failed(CheckHost, h.Name,
			"The response does not name the host's life, so that the host's events wait after its next start.",
			"Let proxies pass the header "+protocol.HeaderLife+" of responses and requests."))
	}
	for _, notice := range status.Notices {
		found = append(found, Warn(CheckHost, h.Name, notice, "Its log and its /status say more."))
	}
	found = append(found, deliveries(h, &status)...)
	return append(found, p.agents(ctx, h, base)...)
}

// deliveries looks at what the host has not been able to send to the broker.
func deliveries(h Host, status *hostStatus) []Finding {
	var found []Finding
	for _, s := range status.Sessions {
		if s.Unacknowledged > 0 && s.OutboxError != "" {
			found = append(found, Failed(CheckDelivery, h.Name,
				fmt.Sprintf("%d events of session %s do not reach the broker: %s.", s.Unacknowledged, s.ID, s.OutboxError),
				"Set BELLHOP_WEBHOOK_URL of the broker to an address that this host reaches."))
			break // the others most likely have the same reason
		}
	}
	if n := len(status.DeadLetters); n > 0 {
		found = append(found, Warn(CheckDelivery, h.Name,
			fmt.Sprintf("The broker has refused %d events for good.", n), "Look at deadLetters in its /status."))
	}
	if len(found) == 0 {
		found = append(found, Good(CheckDelivery, h.Name, "Nothing is held back."))
	}
	return found
}
