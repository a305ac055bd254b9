package agenthost_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// Every response in the table of protocol section 2 has a case: the events that are
// delivered in the end, and the status that the host shows. The turn's events are
// busy, text, finish, idle.
func TestTheOutboxHandlesEveryResponse(t *testing.T) {
	t.Parallel()
	plain := []string{"1/1 t1 status busy ", "1/2 t1 text hi", "1/3 t1 finish stop ", "1/4 t1 status idle "}
	header := func(status int, code protocol.Code, name, value string) func(http.ResponseWriter, request) {
		return func(w http.ResponseWriter, _ request) {
			w.Header().Set(name, value)
			refuse(w, status, code, nil)
		}
	}
	for _, c := range []struct {
		name    string
		answers []func(http.ResponseWriter, request)
		refuse  func(request) (int, protocol.Code, int)
		want    []string
		letters int
	}{
		{"2xx", nil, nil, plain, 0},
		{"401 token_expired is renewed", list(answering(401, protocol.CodeTokenExpired)), nil, plain, 0},
		{"another 401 is kept", list(answering(401, protocol.CodeUnauthorized)), nil, plain, 0},
		{"404 is kept", list(answering(404, protocol.CodeNotFound)), nil, plain, 0},
		{"405 is kept", list(answering(405, protocol.CodeMethodNotAllowed)), nil, plain, 0},
		{"415 is kept", list(answering(415, protocol.CodeUnsupportedMedia)), nil, plain, 0},
		{"429 is kept", list(answering(429, protocol.CodeTooManyRequests)), nil, plain, 0},
		{"503 is kept", list(answering(503, protocol.CodeUnavailable)), nil, plain, 0},
		{"a redirect is not followed", list(header(307, "", "Location", "/elsewhere")), nil, plain, 0},
		{
			"a connection that breaks is kept", list(func(http.ResponseWriter, request) { panic(http.ErrAbortHandler) }), nil,
			plain, 0,
		},
		{"a proxy's page is no receipt", list(gateway(body(200, "<html>"))), nil, plain, 0},
		{
			"a gateway's success is no receipt",
			list(gateway(body(200, `{"success":true}`)), gateway(body(202, `{}`)), gateway(body(200, `{"cursor":null}`))), nil, plain, 0,
		},
		{
			"a cursor before the events is no receipt",
			list(body(200, `{"cursor":{"epoch":1,"seq":0}}`), body(200, `{"cursor":{}}`)), nil, plain, 0,
		},
		{"a gateway's 410 ends nothing", list(gateway(body(410, "<html>gone"))), nil, plain, 0},
		{"a gateway's 400 drops nothing", list(gateway(body(400, "<html>bad request")), gateway(body(400, "{}"))), nil, plain, 0},
		{"a gateway's 409 drops nothing", list(gateway(body(409, `{"message":"conflict"}`))), nil, plain, 0},
		{
			"a gap ahead of the host acknowledges nothing", list(body(409, `{"code":"gap","cursor":{"epoch":1,"seq":99}}`)),
			nil, plain, 0,
		},
		{"400 about the token drops no event", list(func(w http.ResponseWriter, _ request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"error":"Invalid token format","code":"invalid"}`))
		}), nil, plain, 0},
		{"413 halves the batch", nil, func(r request) (int, protocol.Code, int) {
			if len(r.events) > 1 {
				return 413, protocol.CodeTooLarge, 0
			}
			return 0, "", 0
		}, plain, 0},
		{"409 gap rewinds", list(nil, func(w http.ResponseWriter, _ request) {
			refuse(w, 409, protocol.CodeGap, &protocol.Cursor{Epoch: 1, Seq: 0})
		}), nil, plain, 0},
		{
			"409 diverged goes on in the next epoch", list(answering(409, protocol.CodeDiverged)), nil,
			[]string{"2/1 t1 status busy ", "2/2 t1 text hi", "2/3 t1 finish stop ", "2/4 t1 status idle "},
			0,
		},
		{
			"400 puts a dropped event in its place", nil, refusing("text", 400, protocol.CodeInvalid),
			[]string{"1/1 t1 status busy ", "1/2 t1 dropped 400 refused", "1/3 t1 finish stop ", "1/4 t1 status idle "},
			1,
		},
		{
			"409 conflict too", nil, refusing("text", 409, protocol.CodeConflict),
			[]string{"1/1 t1 status busy ", "1/2 t1 dropped 409 refused", "1/3 t1 finish stop ", "1/4 t1 status idle "},
			1,
		},
		{
			"413 for a single event too", nil, refusing("text", 413, protocol.CodeTooLarge),
			[]string{"1/1 t1 status busy ", "1/2 t1 dropped 413 refused", "1/3 t1 finish stop ", "1/4 t1 status idle "},
			1,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t).start()
			r.broker.next(c.answers...)
			r.broker.refuse = c.refuse
			r.turn("s1", "t1", writeText("hi"))
			r.delivered()
			wantLines(t, "events", summary(r.broker.of("s1")), c.want)
			status, err := r.host.Status(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(status.DeadLetters) != c.letters || status.Sessions[0].Outbox != agenthost.OutboxOK {
				t.Errorf("status: %+v", status)
			}
		})
	}
}

// body is an answer with a status and a body, of any sender.
func body(status int, text string) func(http.ResponseWriter, request) {
	return func(w http.ResponseWriter, _ request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(text))
	}
}

func list(f ...func(http.ResponseWriter, request)) []func(http.ResponseWriter, request) { return f }

// refusing refuses every request with an event of a type and names its index.
func refusing(kind protocol.EventType, status int, code protocol.Code) func(request) (int, protocol.Code, int) {
	return func(r request) (int, protocol.Code, int) {
		i := slices.IndexFunc(r.events, func(e protocol.Event) bool { return e.Type == kind })
		if i < 0 {
			return 0, "", 0
		}
		return status, code, i
	}
}

func TestAStoppedOutboxKeepsItsEventsForTheNextSession(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		stop func(http.ResponseWriter, request)
	}{
		{"410", answering(410, protocol.CodeGone)},
		{"fenced in the current epoch", answering(409, protocol.CodeFenced)},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t).start()
			r.broker.next(c.stop)
			stream := r.startNew("s1", "t1", writeText("hi"), forever)
			frames := r.read(stream)
			if frames[len(frames)-1].part.Type != "abort" {
				t.Errorf("the turn is stopped: %q", types(frames))
			}
			if n := len(r.broker.seen()); n != 1 {
				t.Errorf("%d requests after the end", n)
			}
			status, err := r.host.Status(t.Context())
			if err != nil || status.Sessions[0].Outbox != agenthost.OutboxStopped {
				t.Errorf("status %+v, %v", status, err)
			}
			r.announce("s1", "t2")
			r.delivered()
			got := summary(r.broker.of("s1"))
			if !slices.ContainsFunc(got, func(l string) bool { return strings.HasSuffix(l, "t1 finish other aborted") }) {
				t.Errorf("delivered: %q", got)
			}
		})
	}
}

func TestARenewalUsesTheOldTokenAndThePassword(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	r.broker.next(answering(401, protocol.CodeTokenExpired))
	r.broker.fragment = "#" + protocol.WebhookInHeader
	r.turn("s1", "t1", writeText("hi"))
	r.delivered()
	seen := r.broker.seen()
	for i, want := range []request{
		{path: "/api/agent/webhook", bearer: "Bearer first"},
		{path: "/api/agent/webhook/renew", token: "first", bearer: "Bearer " + agentPassword},
		{path: "/api/agent/webhook", bearer: "Bearer renewed"},
	} {
		if got := seen[i]; got.path != want.path || got.query != "" || got.bearer != want.bearer || got.token != want.token {
			t.Errorf("request %d: %s?%s with %q and %q", i, got.path, got.query, got.bearer, got.token)
		}
	}
}

func TestManyEventsGoInBatches(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	hold := make(chan struct{})
	r.broker.next(func(w http.ResponseWriter, q request) {
		<-hold
		r.broker.ingest(w, q)
	})
	var script []step
	for i := range 150 {
		script = append(script, callTool(fmt.Sprint("c", i), "ls", `{}`))
	}
	script = append(script, func() step {
		return func(context.Context, agenthost.Output) error { close(hold); return nil }
	}())
	r.turn("s1", "t1", script...)
	r.delivered()
	events := r.broker.of("s1")
	if len(events) != 2*150+3 { // a call that has no result gets one when the turn ends
		t.Errorf("%d events", len(events))
	}
	for _, q := range r.broker.seen() {
		if len(q.events) > 100 || len(q.body) > 1<<20 {
			t.Errorf("a request of %d events, %d bytes", len(q.events), len(q.body))
		}
	}
	if n := len(r.broker.seen()); n > 12 {
		t.Errorf("%d requests", n)
	}
}

func TestEpochs(t *testing.T) {
	t.Parallel()
	open := func(r *rig, c *protocol.Cursor) protocol.Cursor {
		return *r.openSession(&protocol.OpenSessionRequest{
			SessionID: "s1", WebhookURL: r.broker.url(), Cursor: c, Attach: true,
		}).Cursor
	}
	for _, c := range []struct {
		name   string
		turn   bool // the host has events 1/1 … 1/4
		theirs *protocol.Cursor
		want   protocol.Cursor
	}{
		{"nothing on either side", false, &protocol.Cursor{}, protocol.Cursor{Epoch: 1}},
		{"a basic broker", false, nil, protocol.Cursor{Epoch: 1}},
		{"a lost disk", false, &protocol.Cursor{Epoch: 3, Seq: 7}, protocol.Cursor{Epoch: 4}},
		{"in step", true, &protocol.Cursor{Epoch: 1, Seq: 4}, protocol.Cursor{Epoch: 1, Seq: 4}},
		{"the broker is behind", true, &protocol.Cursor{Epoch: 1, Seq: 2}, protocol.Cursor{Epoch: 1, Seq: 4}},
		{"the host is an older copy", true, &protocol.Cursor{Epoch: 1, Seq: 5}, protocol.Cursor{Epoch: 2}},
		{"a lower epoch", true, &protocol.Cursor{Epoch: 2, Seq: 1}, protocol.Cursor{Epoch: 3}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t).start()
			if c.turn {
				r.turn("s1", "t1", writeText("hi"))
				r.delivered()
			}
			if got := open(r, c.theirs); got != c.want {
				t.Errorf("epoch %v, want %v", got, c.want)
			}
		})
	}
}

func TestABrokerThatWasRestoredGetsWhatItLacks(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	r.turn("s1", "t1", writeText("one"))
	r.delivered()
	before := r.broker.of("s1")
	r.broker.mu.Lock()
	r.broker.events["s1"] = r.broker.events["s1"][:1]
	r.broker.mu.Unlock()
	r.announce("s1", "t2")
	r.delivered()
	after := r.broker.of("s1")
	a, _ := json.Marshal(before)
	b, _ := json.Marshal(after)
	if string(a) != string(b) {
		t.Errorf("restored\n got  %s\n want %s", b, a)
	}
}

func TestNoLogHoldsATokenOrThePassword(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	var mu sync.Mutex
	r := newRig(t)
	r.options = func(o *agenthost.Options) {
		o.Log = slog.New(slog.NewTextHandler(writerFunc(func(p []byte) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			return log.Write(p)
		}), nil))
	}
	r.start()
	r.broker.server.Close()
	r.turn("s1", "t1", writeText("hi"))
	r.until("a failed delivery", func() bool {
		status, err := r.host.Status(t.Context())
		return err == nil && status.Sessions[0].Outbox == agenthost.OutboxRetrying
	})
	r.stop()
	for _, canary := range []string{"token=", agentPassword, r.broker.base} {
		if strings.Contains(log.String(), canary) {
			t.Errorf("the log holds %q:\n%s", canary, log.String())
		}
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// A host that was an older copy: what it still had to send is over; the broker keeps
// it as late, answers fenced, and the host continues with its own epoch.
func TestEventsOfAnEpochThatIsOverAreDropped(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	r.broker.mu.Lock()
	r.broker.unreachable = true
	r.broker.mu.Unlock()
	r.turn("s1", "t1", writeText("lost"))
	r.broker.mu.Lock()
	r.broker.unreachable = false
	r.broker.events["s1"] = []protocol.Event{{SessionID: "s1", Type: protocol.EventStatus, Epoch: 3, Seq: 2}}
	r.broker.mu.Unlock()
	r.turn("s1", "t2", writeText("new"))
	r.delivered()
	wantLines(t, "events", summary(r.broker.of("s1"))[1:], []string{
		"4/1 t2 status busy ", "4/2 t2 text new", "4/3 t2 finish stop ", "4/4 t2 status idle ",
	})
}
