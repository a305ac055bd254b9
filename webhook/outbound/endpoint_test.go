package outbound_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"bellhop/crypto/seal"
	"bellhop/protocol"
	"bellhop/webhook/outbound"
	"bellhop/webhook/outbound/outboundtest"
)

func (p *kit) webhook(url string, events ...protocol.WebhookEvent) *outbound.Endpoint {
	p.Helper()
	e, err := p.worker.Register(p.Context(), p.user, outbound.EndpointRequest{
		Kind: outbound.KindTask, URL: url, Events: events,
	})
	p.must(err)
	return e
}

func TestTaskEventsReachSubscribedEndpoints(t *testing.T) {
	t.Parallel()
	outboundtest.Databases(t, func(t *testing.T, site *outboundtest.Site) {
		p := newKit(t, site)
		both, one := outboundtest.Receive(t, nil), outboundtest.Receive(t, nil)
		e := p.webhook(both.URL,
			protocol.WebhookTurnFinished, protocol.WebhookInteractionOpened, protocol.WebhookTurnFinished)
		p.webhook(one.URL, protocol.WebhookInteractionOpened)
		p.endpoint("http://127.0.0.1:65000") // an agent's
		otherUser := outboundtest.Receive(t, nil)
		_, err := p.worker.Register(t.Context(), site.User(t), outbound.EndpointRequest{
			Kind: outbound.KindTask, URL: otherUser.URL, Events: []protocol.WebhookEvent{protocol.WebhookTurnFinished},
		})
		p.must(err)
		event := outbound.TaskEvent{
			ID: "evt_1", Type: protocol.WebhookTurnFinished, TaskID: "task", TurnID: "turn", At: start,
			Data: map[string]any{"finishReason": "<stop>"},
		}
		p.must(p.worker.Emit(t.Context(), p.user, event))
		p.must(p.worker.Emit(t.Context(), p.user, event)) // emitted twice
		p.sweep()
		requests := both.Requests()
		if len(requests) != 1 || len(one.Requests())+len(otherUser.Requests()) != 0 {
			t.Fatalf("%d, %d, %d", len(requests), len(one.Requests()), len(otherUser.Requests()))
		}
		verify(t, requests, e.Secret)
		want := `{"type":"turn.finished","taskId":"task","turnId":"turn","timestamp":"2026-03-04T05:06:07Z","data":{"finishReason":"<stop>"}}`
		if got := string(requests[0].Body); got != want || requests[0].ID() != "evt_1" {
			t.Errorf("%s\n%s", got, want)
		}
		event.Type, event.ID = protocol.WebhookInteractionOpened, ""
		p.must(p.worker.Emit(t.Context(), p.user, event))
		p.sweep()
		if len(both.Requests()) != 2 || len(one.Requests()) != 1 || both.Requests()[1].ID() != one.Requests()[0].ID() {
			t.Error("an event has one id for all endpoints")
		}
		event.Type = "task.created"
		if p.worker.Emit(t.Context(), p.user, event) == nil {
			t.Error("an unknown event was taken")
		}
	})
}

func TestEmitJoinsTheTransaction(t *testing.T) {
	t.Parallel()
	outboundtest.Databases(t, func(t *testing.T, site *outboundtest.Site) {
		p := newKit(t, site)
		r := outboundtest.Receive(t, nil)
		p.webhook(r.URL, protocol.WebhookTurnFinished)
		refuse := errors.New("no")
		err := site.Store.Write(t.Context(), func(ctx context.Context) error {
			p.must(p.worker.Emit(ctx, p.user, outbound.TaskEvent{Type: protocol.WebhookTurnFinished, TaskID: "t", At: start}))
			return refuse
		})
		p.sweep()
		if !errors.Is(err, refuse) || len(r.Requests()) != 0 {
			t.Error(err, len(r.Requests()))
		}
	})
}

// The payload arrives complete and unchanged.
func TestWebhookPayloadCompleteness(t *testing.T) {
	t.Parallel()
	outboundtest.Databases(t, func(t *testing.T, site *outboundtest.Site) {
		p := newKit(t, site)
		r := outboundtest.Receive(t, nil)
		e := p.webhook(r.URL, protocol.WebhookTurnFinished, protocol.WebhookFollowupAnswered)
		someEvents := []protocol.WebhookEvent{protocol.WebhookTurnFinished, protocol.WebhookFollowupAnswered}
		rapid.Check(t, func(rt *rapid.T) {
			event := outbound.TaskEvent{
				Type:   rapid.SampledFrom(someEvents).Draw(rt, "type"),
				TaskID: rapid.StringMatching(`[a-z0-9-]{0,36}`).Draw(rt, "task"),
				TurnID: rapid.StringMatching(`[a-z0-9-]{0,36}`).Draw(rt, "turn"),
				At:     start.Add(time.Duration(rapid.Int64Range(0, 1e15).Draw(rt, "at"))),
				Data:   map[string]any{"text": rapid.String().Draw(rt, "text")},
			}
			before := len(r.Requests())
			p.must(p.worker.Emit(t.Context(), p.user, event))
			p.sweep()
			requests := r.Requests()[before:]
			if len(requests) != 1 {
				rt.Fatalf("%d requests", len(requests))
			}
			verify(t, requests, e.Secret)
			var got struct {
				Type           protocol.WebhookEvent
				TaskID, TurnID string
				Timestamp      time.Time
				Data           struct{ Text string }
			}
			if err := json.Unmarshal(requests[0].Body, &got); err != nil {
				rt.Fatal(err)
			}
			want := event.Data.(map[string]any)["text"]
			if got.Type != event.Type || got.TaskID != event.TaskID || got.TurnID != event.TurnID ||
				!got.Timestamp.Equal(event.At) || got.Data.Text != want {
				rt.Fatalf("%+v of %+v", got, event)
			}
		})
	})
}

func TestRegisterRefuses(t *testing.T) {
	t.Parallel()
	p := newKit(t, outboundtest.SQLite(t))
	short := seal.NewSecret("whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 23)))
	events := []protocol.WebhookEvent{protocol.WebhookTurnFinished}
	for name, r := range map[string]outbound.EndpointRequest{
		"a private address":  {Kind: outbound.KindTask, URL: "https://10.0.0.1", Events: events},
		"no URL":             {Kind: outbound.KindTask, Events: events},
		"a secret too short": {Kind: outbound.KindTask, URL: "https://hooks.example.com", Events: events, Secret: short},
		"an unknown event": {
			Kind: outbound.KindTask, URL: "https://hooks.example.com", Events: []protocol.WebhookEvent{"turn.started"},
		},
		"no event": {Kind: outbound.KindTask, URL: "https://hooks.example.com"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := p.worker.Register(t.Context(), p.user, r)
			p.code(err, protocol.CodeInvalid)
		})
	}
	for range 20 {
		p.webhook("https://hooks.example.com", events...)
	}
	_, err := p.worker.Register(t.Context(), p.user, outbound.EndpointRequest{
		Kind: outbound.KindTask, URL: "https://hooks.example.com", Events: events,
	})
	p.code(err, protocol.CodeConflict)
}

func TestEndpointsBelongToTheirOwner(t *testing.T) {
	t.Parallel()
	outboundtest.Databases(t, func(t *testing.T, site *outboundtest.Site) {
		p := newKit(t, site)
		other := site.User(t)
		e := p.webhook("https://hooks.example.com", protocol.WebhookTurnFinished)
		p.code(p.worker.Remove(t.Context(), other, outbound.KindTask, e.ID), protocol.CodeNotFound)
		p.code(p.worker.Remove(t.Context(), p.user, agentKind, e.ID), protocol.CodeNotFound)
		p.code(p.worker.Enable(t.Context(), other, outbound.KindTask, e.ID), protocol.CodeNotFound)
		p.code(p.worker.Disable(t.Context(), other, e.ID, "x"), protocol.CodeNotFound)
		_, err := p.worker.Rotate(t.Context(), other, outbound.KindTask, e.ID, seal.Secret{})
		p.code(err, protocol.CodeNotFound)
		_, err = p.worker.Rotate(t.Context(), p.user, agentKind, e.ID, seal.Secret{})
		p.code(err, protocol.CodeNotFound)
		list, err := p.worker.Endpoints(t.Context(), other, outbound.KindTask)
		p.must(err)
		if len(list) != 0 {
			t.Errorf("%+v", list)
		}
		id := p.enqueue(e, "", "msg_1")[0]
		p.must(p.worker.Remove(t.Context(), p.user, outbound.KindTask, e.ID))
		p.code(p.worker.Remove(t.Context(), p.user, outbound.KindTask, e.ID), protocol.CodeNotFound)
		_, err = site.Store.Delivery(t.Context(), p.user, id)
		p.code(err, protocol.CodeNotFound)
		p.sweep()
	})
}

// An agent that registers again keeps its endpoint and its deliveries.
func TestRedirectMovesOpenDeliveriesAndReleasesHeldOnes(t *testing.T) {
	t.Parallel()
	outboundtest.Databases(t, func(t *testing.T, site *outboundtest.Site) {
		p := newKit(t, site)
		before, after := outboundtest.Receive(t, outboundtest.Statuses(500)), outboundtest.Receive(t, nil)
		request := outbound.EndpointRequest{ID: protocol.NewID(), Kind: agentKind, URL: before.URL}
		e, err := p.worker.Redirect(t.Context(), p.user, request)
		p.must(err)
		if e.ID != request.ID || e.Secret.IsZero() {
			t.Errorf("%+v", e)
		}
		id := p.enqueue(e, "", "msg_1")[0]
		p.sweep()
		p.must(p.worker.Disable(t.Context(), p.user, e.ID, "disconnected"))
		if got := p.state(id); got != "held endpoint_disabled" {
			t.Error(got)
		}
		request.URL = after.URL
		_, err = p.worker.Redirect(t.Context(), site.User(t), request)
		p.code(err, protocol.CodeNotFound)
		again, err := p.worker.Redirect(t.Context(), p.user, request)
		p.must(err)
		p.sweep()
		verify(t, after.Requests(), e.Secret, again.Secret)
		if got := p.state(id); got != "delivered" || p.delivery(id).Host != strings.TrimPrefix(after.URL, "http://") {
			t.Error(got, p.delivery(id).Host)
		}
		request.URL = "https://10.0.0.1"
		_, err = p.worker.Redirect(t.Context(), p.user, request)
		p.code(err, protocol.CodeInvalid)
	})
}

// ENC-4: a secret that cannot be unsealed stops only the deliveries of its own endpoint.
func TestADamagedSecretAffectsOnlyItsEndpoint(t *testing.T) {
	t.Parallel()
	outboundtest.Databases(t, func(t *testing.T, site *outboundtest.Site) {
		p := newKit(t, site)
		r := outboundtest.Receive(t, nil)
		damaged, intact := p.endpoint(r.URL), p.endpoint(r.URL)
		site.Exec(t,
			`UPDATE webhook_endpoints SET secret = (SELECT w.secret FROM webhook_endpoints w WHERE w.id = ?) WHERE id = ?`,
			intact.ID, damaged.ID)
		bad, good := p.enqueue(damaged, "", "msg_1")[0], p.enqueue(intact, "", "msg_1")[0]
		p.sweep()
		if got := p.state(bad) + " " + p.line(bad) + ", " + p.state(good); got != "queued secret, delivered" {
			t.Error(got)
		}
		_, err := site.Store.Endpoint(t.Context(), p.user, damaged.ID)
		if !errors.Is(err, seal.ErrCiphertext) {
			t.Error(err)
		}
		rotated, err := p.worker.Rotate(t.Context(), p.user, agentKind, damaged.ID, seal.Secret{})
		p.must(err)
		p.next(bad)
		if got := p.state(bad); got != "delivered" {
			t.Error(got)
		}
		verify(t, r.Requests()[1:], rotated.Secret)
	})
}

func TestNoSecretIsPrintedOrStoredInTheClear(t *testing.T) {
	t.Parallel()
	site := outboundtest.SQLite(t)
	p := newKit(t, site)
	e := p.endpoint("https://hooks.example.com")
	canary := strings.TrimPrefix(e.Secret.Reveal(), "whsec_")
	if strings.Contains(fmt.Sprintf("%+v", *e), canary) {
		t.Error("printed")
	}
	var stored []byte
	p.must(site.DB.Conn(t.Context()).Raw(`SELECT secret FROM webhook_endpoints`).Row().Scan(&stored))
	raw, err := base64.StdEncoding.DecodeString(canary)
	p.must(err)
	if len(stored) == 0 || strings.Contains(string(stored), canary) || strings.Contains(string(stored), string(raw)) {
		t.Error("stored in the clear")
	}
}

func TestHostsAreCountedByNameAndPort(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"https://Hooks.Example.com/a": "hooks.example.com:443", "https://hooks.example.com.:8443": "hooks.example.com:8443",
		"http://127.0.0.1": "127.0.0.1:80", "https://[2001:db8::1]/": "[2001:db8::1]:443", "::": "",
	} {
		if got := (&outbound.Endpoint{URL: url}).Host(); got != want {
			t.Errorf("%s: %s", url, got)
		}
	}
}
