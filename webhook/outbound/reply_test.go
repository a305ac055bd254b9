package outbound_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"bellhop/protocol"
	"bellhop/webhook/outbound"
	"bellhop/webhook/outbound/outboundtest"
)

func TestAJSONObjectInTheResponseIsTheReply(t *testing.T) {
	t.Parallel()
	p := newKit(t, outboundtest.SQLite(t))
	big := `{"codeUpdate":{"code":"` + strings.Repeat("x", 1<<20) + `"}}`
	for _, c := range []struct{ name, answer, reply string }{
		{"an object", `{"success":true,"response":"<yes>"}`, `{"success":true,"response":"<yes>"}`},
		{"an object of a mebibyte", big, big},
		{"a refusal is a reply too", `{"success":false}`, `{"success":false}`},
		{"nothing", ``, ``},
		{"text", `OK`, ``},
		{"an array", `[1]`, ``},
		{"half an object", `{"response":`, ``},
		{"two objects", `{}{}`, ``},
		{"a NUL", `{"response":"\u0000"}`, ``},
		{"no UTF-8", "{\"response\":\"\xff\"}", ``},
		{"repeated names", `{"a":1,"a":2}`, ``},
		{"more than two mebibytes", `{"a":"` + strings.Repeat("x", 2<<20) + `"}`, ``},
		{
			"two mebibytes exactly", `{"a":"` + strings.Repeat("x", 2<<20-8) + `"}`,
			`{"a":"` + strings.Repeat("x", 2<<20-8) + `"}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := outboundtest.Receive(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
				_, _ = w.Write([]byte(c.answer))
			})
			id := p.enqueue(p.endpoint(r.URL), "", "msg_1")[0]
			p.sweep()
			if got := p.recordedNotices.take(); p.state(id) != "delivered" ||
				got != strings.TrimSpace("delivered msg_1 "+c.reply) {
				t.Errorf("%s, notices %.100s", p.state(id), got)
			}
			if got := string(p.delivery(id).Log[0].Answer); got != c.answer[:min(len(c.answer), 4<<10)] {
				t.Errorf("logged %.100s", got)
			}
		})
	}
}

// The outcome and its effects commit together.
func TestAReplyThatCannotBeStoredFailsTheDelivery(t *testing.T) {
	t.Parallel()
	outboundtest.Databases(t, func(t *testing.T, site *outboundtest.Site) {
		p := newKit(t, site)
		p.recordedNotices.refuse = func(*outbound.Delivery) error { return errors.New("not stored") }
		r := outboundtest.Receive(t, outboundtest.Statuses(200))
		id := p.enqueue(p.endpoint(r.URL), "", "msg_1")[0]
		p.sweep()
		if got := p.state(id) + ", " + p.line(id) + ", " +
			p.recordedNotices.take(); got != "failed reply_refused, 200, failed msg_1 reply_refused" {
			t.Error(got)
		}
	})
}

func TestRecordingSurvivesAShortOutage(t *testing.T) {
	t.Parallel()
	p := newKit(t, outboundtest.SQLite(t))
	tries := 0
	p.recordedNotices.refuse = func(*outbound.Delivery) error {
		if tries++; tries < 3 {
			return protocol.Errorf(protocol.CodeUnavailable, "the database is not available")
		}
		return nil
	}
	r := outboundtest.Receive(t, nil)
	id := p.enqueue(p.endpoint(r.URL), "", "msg_1")[0]
	p.sweep()
	if got := p.state(id); got != "delivered" || tries != 3 || len(r.Requests()) != 1 {
		t.Error(got, tries, len(r.Requests()))
	}
}

// failingNotices fails when it is notified of a failure.
type failingNotices struct{}

func (failingNotices) Delivered(context.Context, *outbound.Delivery, []byte) error {
	return errors.New("not recorded")
}

func (failingNotices) Failed(context.Context, *outbound.Delivery, string) error {
	return errors.New("not recorded")
}

func TestAnEndIsRecordedEvenIfItsNoticeFails(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{200: "failed reply_refused", 404: "failed status 404"} {
		p := newKit(t, outboundtest.SQLite(t), func(o *outbound.WorkerOptions) {
			o.Kinds = map[string]outbound.Kind{agentKind: {Render: render, Notices: failingNotices{}}}
		})
		r := outboundtest.Receive(t, outboundtest.Statuses(status))
		id := p.enqueue(p.endpoint(r.URL), "", "msg_1")[0]
		p.sweep()
		if got := p.state(id); got != want || len(r.Requests()) != 1 {
			t.Errorf("%d: %s, %d requests", status, got, len(r.Requests()))
		}
	}
}

func TestTheBodyIsRenderedOnceAtTheFirstAttempt(t *testing.T) {
	t.Parallel()
	outboundtest.Databases(t, func(t *testing.T, site *outboundtest.Site) {
		rendered, result := 0, errors.New("busy")
		p := newKit(t, site, func(o *outbound.WorkerOptions) {
			o.Kinds = map[string]outbound.Kind{
				agentKind: {Render: func(_ context.Context, d *outbound.Delivery) ([]byte, error) {
					rendered++
					return []byte(`{"n":` + string(rune('0'+rendered)) + `}`), result
				}},
			}
		})
		r := outboundtest.Receive(t, outboundtest.Statuses(500, 200))
		e := p.endpoint(r.URL)
		id := p.enqueue(e, "", "msg_1")[0]
		if rendered != 0 {
			t.Error("rendered when enqueued")
		}
		p.sweep()
		result = nil
		p.next(id)
		p.next(id)
		if got := p.state(id) + ", " + p.line(id); got != "delivered, render 500 200" || rendered != 2 {
			t.Error(got, rendered)
		}
		for _, q := range r.Requests() {
			if string(q.Body) != `{"n":2}` {
				t.Errorf("%s", q.Body)
			}
		}
		result = protocol.Errorf(protocol.CodeNotFound, "Message not found")
		id = p.enqueue(e, "", "msg_2")[0]
		p.sweep()
		if got := p.state(id); got != "failed gone" {
			t.Error(got)
		}
	})
}
