package notification

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"

	"bellhop/crypto/webpush"
	"bellhop/protocol"
	"bellhop/webhook/outbound"
)

const (
	lifetime = 24 * time.Hour // of a notification, at the broker and at the push service together
	critical = "CRITICAL"
)

// Emit queues an event for each browser of the user that wants it, in the transaction of ctx. The caller holds the
// lock of the event's task. An event with the ID of an earlier one is dropped.
func (s *Service) Emit(ctx context.Context, userID string, event outbound.TaskEvent) error {
	browsers, err := s.List(ctx, userID)
	if err != nil || len(browsers) == 0 {
		return err
	}
	summary, err := event.Summary()
	if err != nil || summary.Event == "" {
		return err
	}
	id := event.ID
	if id == "" {
		id = protocol.NewID()
	}
	body, err := protocol.Marshal(protocol.Notification{
		ID: id, Event: summary.Event, TaskID: event.TaskID, InteractionID: summary.InteractionID,
		SourceID: summary.SourceID, Title: summary.Title, Text: summary.Text, Answerable: answerable(summary),
		At: event.At.UTC(),
	})
	if err != nil {
		return err
	}
	expires := s.nowUTC().Add(lifetime)
	if at := summary.ExpiresAt; !at.IsZero() && at.Before(expires) {
		expires = at
	}
	for i := range browsers {
		if !slices.Contains(browsers[i].Events, protocol.WebhookEvent(summary.Event)) {
			continue
		}
		_, err := s.Outbound.Enqueue(ctx, outbound.Message{
			EndpointID: browsers[i].ID, MessageID: id, OrderKey: event.TaskID, Event: string(summary.Event),
			Body: body, ExpiresAt: expires,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// answerable reports whether Allow and Deny may stand below the text: a user must not allow what they do not see.
func answerable(s *outbound.Summary) bool {
	return s.Event == protocol.NotifyQuestion && s.Kind == protocol.KindConfirm && s.Complete && s.Level != critical
}

// Kind is how the queue handles the deliveries of browsers. A push service answers 404 for a subscription that it
// does not have any more (RFC 8030, section 7.3).
func (s *Service) Kind() outbound.Kind {
	return outbound.Kind{Request: s.request, Ends: []int{http.StatusNotFound}, Notices: notices{s}}
}

// request returns outbound.ErrEndpointEnded if the browser's sign-in has ended, and CodeGone for a question that
// waits no more.
func (s *Service) request(
	ctx context.Context, d *outbound.Delivery, e *outbound.Endpoint, at time.Time,
) (*http.Request, error) {
	signedIn, err := s.SignedIn(ctx, e.OwnerID, e.Credential)
	if err != nil {
		return nil, err
	}
	if !signedIn {
		return nil, outbound.ErrEndpointEnded
	}
	if err := s.checkOpen(ctx, d); err != nil {
		return nil, err
	}
	if e.Secret.IsZero() { // it was sealed with a key that is not loaded now
		return nil, protocol.Errorf(protocol.CodeUnavailable, "the address of a browser cannot be unsealed")
	}
	var to target
	if err := json.Unmarshal([]byte(e.Secret.Reveal()), &to); err != nil {
		return nil, outbound.ErrEndpointEnded
	}
	return s.encrypted(ctx, d, &to, at)
}

func (s *Service) checkOpen(ctx context.Context, d *outbound.Delivery) error {
	var n protocol.Notification
	if err := json.Unmarshal(d.Body, &n); err != nil {
		return protocol.Errorf(protocol.CodeGone, "the notification is malformed")
	}
	if n.Event != protocol.NotifyQuestion {
		return nil
	}
	open, err := s.Open(ctx, d.UserID, n.InteractionID)
	if err == nil && !open {
		return protocol.Errorf(protocol.CodeGone, "the question was answered")
	}
	return err
}

func (s *Service) encrypted(
	ctx context.Context, d *outbound.Delivery, to *target, at time.Time,
) (*http.Request, error) {
	receiver, err := webpush.ParseReceiver(to.P256dh, to.Auth)
	if err != nil {
		return nil, outbound.ErrEndpointEnded
	}
	body, err := receiver.Encrypt(d.Body)
	if err != nil {
		return nil, protocol.Errorf(protocol.CodeGone, "the notification is too large")
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to.Endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, outbound.ErrEndpointEnded
	}
	authorization, err := s.Identity.Authorization(to.Endpoint, s.Contact, at)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", authorization)
	request.Header.Set("Content-Type", "application/octet-stream")
	request.Header.Set("Content-Encoding", webpush.ContentEncoding)
	request.Header.Set("TTL", strconv.Itoa(max(0, int(d.ExpiresAt.Sub(at).Seconds()))))
	request.Header.Set("Urgency", urgency(d))
	if d.OrderKey != "" {
		request.Header.Set("Topic", topic(d.OrderKey))
	}
	return request, nil
}

// topic names a task to a push service, which keeps only the newest message of each topic. The hash reveals
// nothing about the task. A topic has at most 32 characters.
func topic(taskID string) string {
	sum := sha256.Sum256([]byte("bellhop topic\x00" + taskID))
	return base64.RawURLEncoding.EncodeToString(sum[:24])
}

func urgency(d *outbound.Delivery) string {
	if d.Event == string(protocol.NotifyQuestion) {
		return "high"
	}
	return "normal"
}

// notices implements outbound.Notices and outbound.DisableNotices.
type notices struct{ *Service }

// Delivered stores when a push service took the last notification.
func (n notices) Delivered(ctx context.Context, d *outbound.Delivery, _ []byte) error {
	_, err := n.Store.UpdateEndpoint(ctx, d.UserID, d.EndpointID, func(e *outbound.Endpoint) error {
		at := n.nowUTC()
		e.SucceededAt = &at
		return nil
	})
	return err
}

// Failed does nothing: the log of deliveries has the reason.
func (n notices) Failed(context.Context, *outbound.Delivery, string) error { return nil }

// Disabled makes Run delete the browser.
func (n notices) Disabled(ctx context.Context, _ *outbound.Endpoint, _ string) error {
	n.wakeAfter(ctx)
	return nil
}

var (
	_ outbound.Notices        = notices{}
	_ outbound.DisableNotices = notices{}
)
