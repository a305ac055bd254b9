package notification

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"time"

	"bellhop/crypto/seal"
	"bellhop/crypto/webpush"
	"bellhop/internal/database"
	"bellhop/protocol"
	"bellhop/webhook/outbound"
)

const (
	maxBrowsers = 20 // of a user
	maxAddress  = 2048
	endedAtOnce = 100
)

// Service has the use cases of notifications. All fields but Record and Log are required.
type Service struct {
	Outbound *outbound.Service
	Store    outbound.Store
	CheckURL func(url string) error // netguard.Guard.CheckURL, of the guard that the worker's client has
	Identity *webpush.Identity
	Contact  string // https or mailto URI of this installation, for operators of push services
	// SignedIn reports whether a sign-in of a user is alive.
	SignedIn func(ctx context.Context, userID, signIn string) (bool, error)
	// Open reports whether a question still waits for the user.
	Open func(ctx context.Context, userID, interactionID string) (bool, error)
	// Record runs do and adds its act to the audit log, in one transaction. nil: nothing is recorded.
	Record func(ctx context.Context, act Act, do func(context.Context) error) error
	Now    func() time.Time
	Log    *slog.Logger

	ended chan struct{} // holds a value after a browser has ended
}

// Act is what the audit log gets: a browser of a user was added or removed.
type Act struct {
	Action  protocol.AuditAction
	UserID  string
	Browser string // what it says about itself
}

// New completes the service.
func New(s Service) *Service {
	if s.Log == nil {
		s.Log = slog.New(slog.DiscardHandler)
	}
	if s.Record == nil {
		s.Record = func(ctx context.Context, _ Act, do func(context.Context) error) error { return do(ctx) }
	}
	s.ended = make(chan struct{}, 1)
	return &s
}

// Subscription is what a browser's PushManager returned, and what its user wants to be notified of.
type Subscription struct {
	Endpoint string
	P256dh   string
	Auth     string
	Events   []protocol.NotificationEvent // nil = all, or what the browser had before
}

// target is the sealed part of a browser's endpoint.
type target struct {
	Endpoint string `json:"endpoint"`
	P256dh   string `json:"p256dh"`
	Auth     string `json:"auth"`
}

// Subscribe stores a browser for the user's sign-in, or changes it: a browser has one subscription, also if several
// users use it. browser is what it says about itself. CodeForbidden: the caller has no sign-in.
func (s *Service) Subscribe(
	ctx context.Context, userID, signIn, browser string, sub Subscription,
) (*outbound.Endpoint, error) {
	if signIn == "" {
		return nil, &protocol.Error{
			Code: protocol.CodeForbidden, Message: "Notifications belong to the sign-in of a browser",
			Hint: "Turn them on in the settings of the console",
		}
	}
	wanted, err := s.endpointOf(userID, signIn, browser, sub)
	if err != nil {
		return nil, err
	}
	former, err := s.find(ctx, wanted.ID)
	if err != nil {
		return nil, err
	}
	switch {
	case former == nil:
	case former.OwnerID != userID: // its deliveries go first, because there may be many
		if err := s.Outbound.Clear(ctx, former.OwnerID, outbound.KindBrowser, former.ID); err != nil {
			return nil, err
		}
	case unchanged(former, wanted, sub.Events):
		return former, nil
	}
	var stored *outbound.Endpoint
	err = s.Record(ctx, Act{protocol.AuditNotificationsOn, userID, wanted.Label}, func(ctx context.Context) (err error) {
		stored, err = s.put(ctx, wanted, sub.Events)
		return err
	})
	return stored, err
}

func unchanged(former, wanted *outbound.Endpoint, events []protocol.NotificationEvent) bool {
	return !former.Disabled() && former.Credential == wanted.Credential && former.Label == wanted.Label &&
		former.Secret.Reveal() == wanted.Secret.Reveal() &&
		(events == nil || slices.Equal(former.Events, wanted.Events))
}

// endpointOf checks a subscription. Its id is derived from the address, so that a browser is stored once.
func (s *Service) endpointOf(userID, signIn, browser string, sub Subscription) (*outbound.Endpoint, error) {
	if len(sub.Endpoint) > maxAddress {
		return nil, protocol.Errorf(protocol.CodeInvalid, "endpoint must have at most %d bytes", maxAddress)
	}
	if err := s.CheckURL(sub.Endpoint); err != nil {
		return nil, err
	}
	at, err := url.Parse(sub.Endpoint)
	if err != nil {
		return nil, protocol.Errorf(protocol.CodeInvalid, "endpoint must be the URL of a push service")
	}
	if _, err := webpush.ParseReceiver(sub.P256dh, sub.Auth); err != nil {
		return nil, &protocol.Error{
			Code: protocol.CodeInvalid, Message: "The keys of the subscription are not usable",
			Hint: "Send keys.p256dh and keys.auth as the browser's PushSubscription has them",
		}
	}
	events, err := checkEvents(sub.Events)
	if err != nil {
		return nil, err
	}
	sealed, err := json.Marshal(target{sub.Endpoint, sub.P256dh, sub.Auth})
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(sub.Endpoint))
	return &outbound.Endpoint{
		ID: "browser_" + hex.EncodeToString(sum[:16]), OwnerID: userID, Kind: outbound.KindBrowser,
		URL: at.Scheme + "://" + at.Host, Secret: seal.NewSecret(string(sealed)), Events: events,
		Credential: signIn, Label: protocol.PlainText(browser, 300), CreatedAt: s.nowUTC(),
	}, nil
}

func checkEvents(events []protocol.NotificationEvent) ([]protocol.WebhookEvent, error) {
	known := protocol.NotificationEvents()
	if events == nil {
		events = known
	}
	var checked []protocol.WebhookEvent
	for _, name := range known {
		if slices.Contains(events, name) {
			checked = append(checked, protocol.WebhookEvent(name))
		}
	}
	for _, name := range events {
		if !slices.Contains(known, name) {
			return nil, protocol.Errorf(protocol.CodeInvalid, "events must be among question, finished, failed, followup")
		}
	}
	if len(checked) == 0 {
		return nil, &protocol.Error{
			Code: protocol.CodeInvalid, Message: "events must name at least one of question, finished, failed, followup",
			Hint: "Remove the browser to get no notifications",
		}
	}
	return checked, nil
}

// find returns an endpoint of any user, nil if there is none.
func (s *Service) find(ctx context.Context, id string) (*outbound.Endpoint, error) {
	found, err := s.Store.EndpointsByID(ctx, []string{id})
	return found[id], err
}

// put inserts the endpoint, or changes the one that the user has. It takes a browser over from another user.
func (s *Service) put(
	ctx context.Context, wanted *outbound.Endpoint, events []protocol.NotificationEvent,
) (stored *outbound.Endpoint, err error) {
	err = s.Store.Write(ctx, func(ctx context.Context) error {
		former, err := s.find(ctx, wanted.ID)
		if err != nil {
			return err
		}
		if former != nil && former.OwnerID == wanted.OwnerID {
			stored, err = s.Store.UpdateEndpoint(ctx, wanted.OwnerID, wanted.ID, func(e *outbound.Endpoint) error {
				if events != nil {
					e.Events = wanted.Events
				}
				e.Secret, e.Credential, e.Label = wanted.Secret, wanted.Credential, wanted.Label
				e.DisabledAt, e.DisabledReason = nil, ""
				return nil
			})
			return err
		}
		if former != nil {
			if err := s.Store.DeleteEndpoint(ctx, former.OwnerID, outbound.KindBrowser, former.ID); err != nil {
				return err
			}
		}
		have, err := s.List(ctx, wanted.OwnerID)
		if err != nil {
			return err
		}
		if len(have) >= maxBrowsers {
			return &protocol.Error{
				Code: protocol.CodeConflict, Message: "Too many browsers get notifications",
				Hint: "Remove one in the settings of the console",
			}
		}
		stored = wanted
		return s.Store.CreateEndpoint(ctx, wanted)
	})
	return stored, err
}

// List returns the browsers of a user that get notifications, without secrets.
func (s *Service) List(ctx context.Context, userID string) ([]outbound.Endpoint, error) {
	all, err := s.Store.Endpoints(ctx, userID, outbound.KindBrowser)
	return slices.DeleteFunc(all, func(e outbound.Endpoint) bool { return e.Disabled() }), err
}

// Choose changes what a browser is notified of.
func (s *Service) Choose(
	ctx context.Context, userID, id string, events []protocol.NotificationEvent,
) (*outbound.Endpoint, error) {
	checked, err := checkEvents(append([]protocol.NotificationEvent{}, events...))
	if err != nil {
		return nil, err
	}
	return s.Store.UpdateEndpoint(ctx, userID, id, func(e *outbound.Endpoint) error {
		if e.Kind != outbound.KindBrowser || e.Disabled() {
			return errNoBrowser()
		}
		e.Events = checked
		return nil
	})
}

// Remove ends the notifications of a browser, and deletes its deliveries.
func (s *Service) Remove(ctx context.Context, userID, id string) error {
	e, err := s.find(ctx, id)
	if err != nil {
		return err
	}
	if e == nil || e.OwnerID != userID || e.Kind != outbound.KindBrowser {
		return errNoBrowser()
	}
	if err := s.Outbound.Clear(ctx, userID, outbound.KindBrowser, id); err != nil {
		return err
	}
	return s.Record(ctx, Act{protocol.AuditNotificationsOff, userID, e.Label}, func(ctx context.Context) error {
		return s.Outbound.Remove(ctx, userID, outbound.KindBrowser, id)
	})
}

// Run deletes browsers that have ended, until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := s.Round(ctx); err != nil && ctx.Err() == nil {
			s.Log.WarnContext(ctx, "ended browsers not removed", "error", err)
		}
		timer := time.NewTimer(time.Minute)
		select {
		case <-ctx.Done():
		case <-s.ended:
		case <-timer.C:
		}
		timer.Stop()
	}
	return nil
}

// Round deletes the browsers that have ended, with their deliveries. One that was stored again meanwhile stays.
func (s *Service) Round(ctx context.Context) error {
	ended, err := s.Store.EndedBrowsers(ctx, endedAtOnce)
	if err != nil {
		return err
	}
	for i := range ended {
		if err := s.deleteEnded(ctx, &ended[i]); err != nil && protocol.CodeOf(err) != protocol.CodeNotFound {
			return err
		}
	}
	return nil
}

func (s *Service) deleteEnded(ctx context.Context, e *outbound.Endpoint) error {
	if err := s.Outbound.Clear(ctx, e.OwnerID, outbound.KindBrowser, e.ID); err != nil {
		return err
	}
	return s.Store.Write(ctx, func(ctx context.Context) error {
		_, err := s.Store.UpdateEndpoint(ctx, e.OwnerID, e.ID, func(e *outbound.Endpoint) error {
			if !e.Disabled() {
				return errNoBrowser()
			}
			return nil
		})
		if err != nil {
			return err
		}
		return s.Store.DeleteEndpoint(ctx, e.OwnerID, outbound.KindBrowser, e.ID)
	})
}

// wakeAfter makes Run delete browsers that ended in the transaction of ctx.
func (s *Service) wakeAfter(ctx context.Context) {
	database.AfterCommit(ctx, func() {
		select {
		case s.ended <- struct{}{}:
		default:
		}
	})
}

// nowUTC returns the time with the precision that the database keeps.
func (s *Service) nowUTC() time.Time { return s.Now().UTC().Truncate(time.Microsecond) }

func errNoBrowser() error {
	return protocol.Errorf(protocol.CodeNotFound, "This browser gets no notifications")
}

// View returns a browser as its user sees it. signIn is the one of the request.
func View(e *outbound.Endpoint, signIn string) protocol.NotificationSubscription {
	events := make([]protocol.NotificationEvent, len(e.Events))
	for i, name := range e.Events {
		events[i] = protocol.NotificationEvent(name)
	}
	return protocol.NotificationSubscription{
		ID: e.ID, Browser: e.Label, Service: strings.TrimPrefix(e.URL, "https://"), Events: events,
		Current: e.Credential == signIn && signIn != "", CreatedAt: e.CreatedAt, LastDeliveredAt: e.SucceededAt,
	}
}
