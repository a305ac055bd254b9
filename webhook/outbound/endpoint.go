package outbound

import (
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"bellhop/crypto/seal"
	"bellhop/protocol"
)

// Kinds of endpoints that belong to users.
const (
	KindTask    = "task"    // a webhook that a user registered
	KindBrowser = "browser" // a browser that gets notifications
)

// Endpoint is an address that a user chose for deliveries.
type Endpoint struct {
	ID             string
	OwnerID        string // the user
	Kind           string
	URL            string
	Secret         seal.Secret
	PreviousSecret seal.Secret // also signs until PreviousUntil
	PreviousUntil  *time.Time
	Events         []protocol.WebhookEvent // for KindBrowser names of protocol.NotificationEvent
	Format         protocol.WebhookFormat  // only for KindTask
	Credential     string                  // the sign-in that ends the endpoint; only for KindBrowser
	Label          string                  // what a browser says about itself; only for KindBrowser
	DisabledAt     *time.Time
	DisabledReason string
	SucceededAt    *time.Time // of the last delivery; only for KindBrowser
	CreatedAt      time.Time
}

// Disabled reports whether the endpoint gets no requests. Its deliveries are then held.
func (e *Endpoint) Disabled() bool { return e.DisabledAt != nil }

// Host returns host and port, the key of the limit of requests in flight.
func (e *Endpoint) Host() string {
	u, err := url.Parse(e.URL)
	if err != nil {
		return ""
	}
	port := u.Port()
	switch {
	case port != "":
	case u.Scheme == "http":
		port = "80"
	default:
		port = "443"
	}
	return net.JoinHostPort(strings.TrimSuffix(strings.ToLower(u.Hostname()), "."), port)
}

// secrets returns the secrets that sign a request at now, the current one first.
func (e *Endpoint) secrets(now time.Time) []seal.Secret {
	if e.PreviousSecret.IsZero() || e.PreviousUntil == nil || !now.Before(*e.PreviousUntil) {
		return []seal.Secret{e.Secret}
	}
	return []seal.Secret{e.Secret, e.PreviousSecret}
}

func (e *Endpoint) rotate(secret seal.Secret, now time.Time, overlap time.Duration) {
	if e.Secret.Reveal() == secret.Reveal() {
		return
	}
	until := now.Add(overlap)
	e.PreviousSecret, e.PreviousUntil, e.Secret = e.Secret, &until, secret
}

func checkEvents(events []protocol.WebhookEvent) ([]protocol.WebhookEvent, error) {
	known := protocol.WebhookEvents()
	all := make([]string, len(known))
	for i, name := range known {
		all[i] = string(name)
	}
	names := strings.Join(all, ", ")
	for _, name := range events {
		if !slices.Contains(known, name) {
			return nil, protocol.Errorf(protocol.CodeInvalid, "events must be among %s", names)
		}
	}
	if len(events) == 0 {
		return nil, protocol.Errorf(protocol.CodeInvalid, "events must name at least one of %s", names)
	}
	events = slices.Clone(events)
	slices.Sort(events)
	return slices.Compact(events), nil
}
