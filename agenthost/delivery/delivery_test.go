package delivery_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bellhop/agenthost/core"
	"bellhop/agenthost/delivery"
	"bellhop/crypto/seal"
	"bellhop/protocol"
)

const hook = "http://broker/hook?token=secret"

// script is a session that wants one order after the other, and the broker's
// responses to them.
type script struct {
	orders    []delivery.Order
	events    []core.EventRecord
	readErr   error
	prompts   map[string]protocol.TurnPrompt
	responses []func(*http.Request) (*http.Response, error)

	requests []*http.Request
	bodies   []string
	inputs   []core.Input
	counted  int
	waits    []time.Duration // of the inputs, in order
	nudges   chan struct{}
}

func (s *script) Next() delivery.Order {
	if len(s.orders) == 0 {
		return delivery.Order{}
	}
	order := s.orders[0]
	s.orders = s.orders[1:]
	return order
}

func (s *script) Pending(context.Context, protocol.Cursor, int) ([]core.EventRecord, error) {
	return s.events, s.readErr
}

func (s *script) Prompts(context.Context, []core.EventRecord) (map[string]protocol.TurnPrompt, error) {
	return s.prompts, s.readErr
}

func (s *script) Recount() { s.counted++ }

func (s *script) Apply(in core.Input) (wait time.Duration) {
	s.inputs = append(s.inputs, in)
	if len(s.waits) > 0 {
		wait, s.waits = s.waits[0], s.waits[1:]
	}
	return wait
}

func (s *script) Nudges() <-chan struct{} { return s.nudges }

func (s *script) Trace() string { return "" }

func (s *script) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	s.requests, s.bodies = append(s.requests, r), append(s.bodies, string(body))
	respond := s.responses[0]
	s.responses = s.responses[1:]
	return respond(r)
}

func (s *script) run(ctx context.Context) {
	delivery.NewSender(s, seal.NewSecret("pass"), time.Now).Run(ctx, s)
}

func respond(status int, body string) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		header := http.Header{"Retry-After": {"7"}}
		header.Set(protocol.HeaderBroker, "b1")
		header.Set(protocol.HeaderRequest, r.Header.Get(protocol.HeaderRequest))
		return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body)), Header: header}, nil
	}
}

// brokerID names the broker of respond if it is named.
func brokerID(named bool) string {
	if named {
		return "b1"
	}
	return ""
}

// event has a body of size bytes.
func event(epoch, seq int64, kind protocol.EventType, size int) core.EventRecord {
	body := fmt.Sprintf(`{"seq":%d}`, seq)
	body += strings.Repeat(" ", max(0, size-len(body)))
	return core.EventRecord{Cursor: protocol.Cursor{Epoch: epoch, Seq: seq}, Type: kind, Body: json.RawMessage(body)}
}

func sent(in core.Input) core.Sent {
	switch in := in.(type) {
	case core.DeliveryAccepted:
		return in.Sent
	case core.DeliveryRefused:
		return in.Sent
	}
	return core.Sent{}
}

func TestARequestHoldsWhatFits(t *testing.T) {
	t.Parallel()
	text, status := protocol.EventText, protocol.EventStatus
	for name, c := range map[string]struct {
		events []core.EventRecord
		basic  bool
		want   int    // events that the input is about
		body   string // "" for a batch; "none" when nothing is sent
	}{
		"one event is its own body": {[]core.EventRecord{event(1, 1, text, 0)}, false, 1, `{"seq":1}`},
		"several are a batch":       {[]core.EventRecord{event(1, 1, text, 0), event(1, 2, text, 0)}, false, 2, ""},
		"of one epoch": {
			[]core.EventRecord{event(1, 1, text, 0), event(2, 1, text, 0)}, false, 1, `{"seq":1}`,
		},
		"of at most a mebibyte": {
			[]core.EventRecord{event(1, 1, text, 600<<10), event(1, 2, text, 600<<10)},
			false,
			1, string(event(1, 1, text, 600<<10).Body),
		},
		"a basic broker gets one text": {
			[]core.EventRecord{event(1, 1, status, 0), event(1, 2, text, 0), event(1, 3, text, 0)}, true, 2, `{"seq":2}`,
		},
		"or nothing": {[]core.EventRecord{event(1, 1, status, 0)}, true, 1, "none"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &script{
				orders: []delivery.Order{
					{Job: core.JobSend, SessionID: "s1", URL: hook, Basic: c.basic, BrokerID: brokerID(!c.basic), NamedAnswers: !c.basic, Version: 3},
				}, events: c.events,
				responses: []func(*http.Request) (*http.Response, error){respond(200, `{"cursor":{"epoch":1,"seq":9}}`)},
			}
			s.run(t.Context())
			got := sent(s.inputs[0])
			if len(s.inputs) != 1 || len(got.Cursors) != c.want || got.Version != 3 || got.Basic != c.basic ||
				string(got.Last.Body) != string(c.events[c.want-1].Body) {
				t.Errorf("inputs %+v", s.inputs)
			}
			switch {
			case c.body == "none":
				if len(s.bodies) != 0 {
					t.Errorf("sent %q", s.bodies)
				}
			case c.body != "" && s.bodies[0] != c.body:
				t.Errorf("sent %.60q", s.bodies[0])
			case c.body == "":
				var batch protocol.WebhookBatch
				if err := json.Unmarshal([]byte(s.bodies[0]), &batch); err != nil || batch.SessionID != "s1" ||
					len(batch.Events) != c.want {
					t.Errorf("sent %q, %v", s.bodies[0], err)
				}
			}
		})
	}
}

func TestAResponseBecomesAnInput(t *testing.T) {
	t.Parallel()
	broken := func(r *http.Request) (*http.Response, error) {
		return nil, &url.Error{Op: "Post", URL: r.URL.String(), Err: errors.New("connection refused")}
	}
	for name, c := range map[string]struct {
		respond func(*http.Request) (*http.Response, error)
		want    string
	}{
		"a cursor": {respond(200, `{"cursor":{"epoch":1,"seq":1}}`), `{"cursor":{"epoch":1,"seq":1},"object":true}`},
		"a page":   {respond(200, "<html>"), `{"object":false}`},
		"a refusal": {
			respond(409, `{"error":"no","code":"gap","cursor":{"epoch":1,"seq":0},"index":2}`),
			`{"refusal":{"status":409,"code":"gap","message":"no","cursor":{"epoch":1,"seq":0},"index":2,"retryAfter":7000000000}}`,
		},
		"no connection": {broken, `{"what":"the broker cannot be reached","cause":"connection refused","least":0}`},
	} {
		t.Run(name, func(t *testing.T) {
			s := &script{
				orders:    []delivery.Order{{Job: core.JobSend, URL: hook}},
				events:    []core.EventRecord{event(1, 1, protocol.EventText, 0)},
				responses: []func(*http.Request) (*http.Response, error){c.respond},
			}
			s.run(t.Context())
			raw, err := json.Marshal(s.inputs[0])
			if err != nil {
				t.Fatal(err)
			}
			members := map[string]json.RawMessage{}
			_ = json.Unmarshal(raw, &members)
			delete(members, "sent")
			got, _ := json.Marshal(members)
			if !sameJSON(t, string(got), c.want) {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestAJournalThatCannotBeReadIsAFailure(t *testing.T) {
	t.Parallel()
	s := &script{orders: []delivery.Order{{Job: core.JobSend}}, readErr: errors.New("disk")}
	s.run(t.Context())
	if s.inputs[0] != (core.DeliveryFailed{What: "the journal cannot be read", Cause: "disk"}) {
		t.Errorf("%+v", s.inputs)
	}
}

func TestACountWithoutEventsIsCorrected(t *testing.T) {
	t.Parallel()
	s := &script{orders: []delivery.Order{{Job: core.JobSend}, {Job: core.JobSave}}}
	s.run(t.Context())
	if s.counted != 1 || len(s.inputs) != 1 || s.inputs[0] != (core.PositionSaved{}) {
		t.Errorf("counted %d, %+v", s.counted, s.inputs)
	}
}

func TestARenewal(t *testing.T) {
	t.Parallel()
	exp := time.Now().Add(time.Hour).Truncate(time.Second)
	next := "http://broker/hook?token=a." + base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil,
		`{"exp":%d}`, exp.Unix())) + ".c"
	for name, c := range map[string]struct {
		respond func(*http.Request) (*http.Response, error)
		want    core.Input
	}{
		"a new address": {
			respond(200, `{"webhookUrl":"`+next+`"}`), core.TokenRenewed{AddressVersion: 4, URL: next, Expires: exp},
		},
		"no address": {
			respond(200, `{}`), core.RenewalRefused{Refusal: core.Refusal{Status: 200, RetryAfter: 7 * time.Second}},
		},
		"gone": {
			respond(410, `{"code":"gone"}`),
			core.RenewalRefused{Refusal: core.Refusal{Status: 410, Code: protocol.CodeGone, RetryAfter: 7 * time.Second}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &script{
				orders:    []delivery.Order{{Job: core.JobRenew, URL: hook, AddressVersion: 4}},
				responses: []func(*http.Request) (*http.Response, error){c.respond},
			}
			s.run(t.Context())
			if s.inputs[0] != c.want {
				t.Errorf("got %+v, want %+v", s.inputs[0], c.want)
			}
			r := s.requests[0]
			if r.URL.String() != "http://broker/hook/renew?token=secret" || r.Header.Get("Authorization") != "Bearer pass" {
				t.Errorf("%s with %q", r.URL, r.Header)
			}
		})
	}
}

func TestOnlyATokenWithAnExpiryHasOne(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"", "http://broker/hook", "http://broker/hook?token=a.b", "http://broker/hook?token=a.!.c",
		"http://broker/hook?token=a.e30.c", ":bad",
	} {
		if got := delivery.Expiry(address); !got.IsZero() {
			t.Errorf("%q: %v", address, got)
		}
	}
}

// A wait ends by itself, by a nudge and with the context.
func TestAWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s := &script{
			orders: []delivery.Order{{Job: core.JobSave}, {Job: core.JobSave}, {Job: core.JobSave}, {Job: core.JobSave}},
			waits:  []time.Duration{time.Second, time.Hour, time.Hour}, nudges: make(chan struct{}),
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			time.Sleep(time.Minute)
			s.nudges <- struct{}{}
			time.Sleep(time.Minute)
			cancel()
		}()
		s.run(ctx)
		if len(s.inputs) != 3 || time.Since(began) != 2*time.Minute {
			t.Errorf("%d inputs in %v", len(s.inputs), time.Since(began))
		}
	})
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	if err := errors.Join(json.Unmarshal([]byte(a), &x), json.Unmarshal([]byte(b), &y)); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(x) == fmt.Sprint(y)
}
