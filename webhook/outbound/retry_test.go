package outbound_test

import (
	"context"
	"net/http"
	"runtime"
	"testing"
	"time"

	"bellhop/webhook/outbound"
	"bellhop/webhook/outbound/outboundtest"
)

func TestTwoFailuresThenSuccess(t *testing.T) {
	t.Parallel()
	outboundtest.Databases(t, func(t *testing.T, site *outboundtest.Site) {
		p := newKit(t, site)
		r := outboundtest.Receive(t, outboundtest.Statuses(500, 500, 200))
		e := p.endpoint(r.URL)
		id := p.enqueue(e, "", "msg_1")[0]
		p.sweep()
		p.next(id)
		p.next(id)
		if got := p.state(id) + ", " + p.line(id) + ", " +
			p.recordedNotices.take(); got != "delivered, 500 500 200, delivered msg_1" {
			t.Error(got)
		}
		requests := r.Requests()
		verify(t, requests, e.Secret)
		seen := map[string]bool{}
		for _, q := range requests {
			if q.ID() != "msg_1" || string(q.Body) != `{"messageId":"msg_1"}` ||
				q.Header.Get("Content-Type") != "application/json" {
				t.Errorf("%+v", q)
			}
			seen[q.Header.Get("webhook-timestamp")] = true
		}
		if len(requests) != 3 || len(seen) != 3 {
			t.Errorf("%d requests, %d timestamps", len(requests), len(seen))
		}
		p.clock.Advance(24 * time.Hour)
		p.sweep()
		if n := len(r.Requests()); n != 3 {
			t.Errorf("%d requests a day later", n)
		}
	})
}

// Requirements OUT-3 and OUT-4.
func TestFastLaneSlowLaneExpired(t *testing.T) {
	t.Parallel()
	outboundtest.Databases(t, func(t *testing.T, site *outboundtest.Site) {
		p := newKit(t, site)
		r := outboundtest.Receive(t, outboundtest.Statuses(500))
		id := p.enqueue(p.endpoint(r.URL), "", "msg_1")[0]
		p.sweep()
		want := []time.Duration{
			time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second,
			30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute, 2 * time.Hour, 6 * time.Hour,
			6 * time.Hour, 6 * time.Hour,
		}
		for i, w := range want {
			if got := p.next(id); got != w {
				t.Errorf("pause %d: %s, want %s", i+1, got, w)
			}
		}
		sent := len(r.Requests())
		p.next(id) // it expires before the next attempt
		if got := p.state(id) + ", " + p.recordedNotices.take(); got != "expired expired, failed msg_1 expired" ||
			p.clock.Now() != start.Add(24*time.Hour) {
			t.Error(got, p.clock.Now())
		}
		p.clock.Advance(48 * time.Hour)
		p.sweep()
		if got := p.recordedNotices.take(); got != "" || len(r.Requests()) != sent || sent != len(want)+1 {
			t.Errorf("%q, %d requests", got, sent)
		}
	})
}

// The attempt count survives a restart.
func TestAnotherProcessContinuesTheSchedule(t *testing.T) {
	t.Parallel()
	outboundtest.Databases(t, func(t *testing.T, site *outboundtest.Site) {
		p := newKit(t, site)
		r := outboundtest.Receive(t, outboundtest.Statuses(503))
		id := p.enqueue(p.endpoint(r.URL), "", "msg_1")[0]
		p.sweep()
		for _, want := range []time.Duration{
			time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 30 * time.Second,
		} {
			p.worker = p.process(site.OpenAgain(t))
			if got := p.next(id); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
	})
}

func TestJitterIsATwentyPercentBand(t *testing.T) {
	t.Parallel()
	for random, want := range map[float64]time.Duration{
		0: 800 * time.Millisecond, 0.5: time.Second, 0.999999999: 1200 * time.Millisecond,
	} {
		p := newKit(t,
			outboundtest.SQLite(t), func(o *outbound.WorkerOptions) { o.Random = func() float64 { return random } })
		id := p.enqueue(p.endpoint(outboundtest.Receive(t, outboundtest.Statuses(500)).URL), "", "msg_1")[0]
		p.sweep()
		if got := p.delivery(id).NextAt.Sub(start).Round(time.Millisecond); got != want {
			t.Errorf("%v: %s", random, got)
		}
	}
}

// The statuses of OUT-5.
func TestEveryStatusHasItsRule(t *testing.T) {
	t.Parallel()
	outboundtest.Databases(t, func(t *testing.T, site *outboundtest.Site) {
		p := newKit(t, site)
		for status, want := range map[int]string{
			200: "delivered", 201: "delivered", 202: "delivered", 204: "delivered", 299: "delivered",
			300: "failed status 300", 304: "failed status 304",
			400: "failed status 400", 401: "failed status 401", 402: "failed status 402", 403: "failed status 403",
			404: "failed status 404", 405: "failed status 405", 409: "failed status 409", 413: "failed status 413",
			415: "failed status 415", 418: "failed status 418", 422: "failed status 422", 451: "failed status 451",
			408: "queued", 425: "queued", 429: "queued",
			500: "queued", 501: "queued", 502: "queued", 503: "queued", 504: "queued", 599: "queued",
		} {
			r := outboundtest.Receive(t, outboundtest.Statuses(status))
			id := p.enqueue(p.endpoint(r.URL), "", "msg_1")[0]
			p.sweep()
			if got := p.state(id); got != want || len(r.Requests()) != 1 {
				t.Errorf("%d: %s, want %s", status, got, want)
			}
			notice := p.recordedNotices.take()
			if failed := want[:6] == "failed"; failed != (notice == "failed msg_1 "+p.delivery(id).Reason) {
				t.Errorf("%d: notified %q", status, notice)
			}
		}
	})
}

func TestRetryAfterIsHonouredAndClamped(t *testing.T) {
	t.Parallel()
	p := newKit(t, outboundtest.SQLite(t))
	for _, c := range []struct {
		name, value string
		status      int
		want        time.Duration
	}{
		{"seconds", "7", 429, 7 * time.Second},
		{"408 too", "7", 408, 7 * time.Second},
		{"425 too", "7", 425, 7 * time.Second},
		{"huge", "999999999999999999999999", 429, time.Hour},
		{"two hours", "7200", 429, time.Hour},
		{"negative", "-5", 429, time.Second},
		{"zero", "0", 429, time.Second},
		{"a date", start.Add(90 * time.Second).Format(http.TimeFormat), 429, 90 * time.Second},
		{"a date in the past", start.Add(-time.Hour).Format(http.TimeFormat), 429, time.Second},
		{"a date in a year", start.AddDate(1, 0, 0).Format(http.TimeFormat), 429, time.Hour},
		{"an invalid value counts as absent", "soon", 429, time.Second},
		{"none", "", 429, time.Second},
		{"500 follows the schedule", "7", 500, time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := outboundtest.Receive(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
				if c.value != "" {
					w.Header().Set("Retry-After", c.value)
				}
				w.WriteHeader(c.status)
			})
			id := p.enqueue(p.endpoint(r.URL), "", "msg_1")[0]
			p.sweep()
			if got := p.delivery(id).NextAt.Sub(start); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func TestGoneDisablesTheEndpointAndNotifiesTheUser(t *testing.T) {
	t.Parallel()
	outboundtest.Databases(t, func(t *testing.T, site *outboundtest.Site) {
		p := newKit(t, site)
		r := outboundtest.Receive(t, outboundtest.Statuses(410, 200))
		e := p.endpoint(r.URL)
		ids := p.enqueue(e, "c", "msg_1", "msg_2")
		p.sweep()
		ids = append(ids, p.enqueue(e, "c", "msg_3")...)
		p.sweep()
		want := []string{"failed status 410", "held endpoint_disabled", "held endpoint_disabled"}
		for i, id := range ids {
			if got := p.state(id); got != want[i] {
				t.Errorf("%d: %s", i, got)
			}
		}
		if got := p.recordedNotices.take(); got != "failed msg_1 status 410; disabled "+p.user+" status 410" {
			t.Error(got)
		}
		list, err := p.worker.Endpoints(t.Context(), p.user, agentKind)
		p.must(err)
		if len(list) != 1 || !list[0].Disabled() || list[0].DisabledReason != "status 410" || !list[0].Secret.IsZero() {
			t.Errorf("%+v", list)
		}
		_, err = p.worker.Retry(t.Context(), p.user, ids[1])
		p.code(err, "conflict")
		p.must(p.worker.Enable(t.Context(), p.user, agentKind, e.ID))
		p.sweep()
		if got := p.recordedNotices.take(); got != "delivered msg_2; delivered msg_3" {
			t.Error(got)
		}
	})
}

// What is over only by a clock in the future is tried on, in the usual times, and is delivered.
func TestAClockInTheFutureGivesUpNothing(t *testing.T) {
	t.Parallel()
	outboundtest.Databases(t, func(t *testing.T, site *outboundtest.Site) {
		p := newKit(t, site)
		r := outboundtest.Receive(t, outboundtest.Statuses(500, 500, 200))
		open := p.endpoint(r.URL)
		id := p.enqueue(open, "", "msg_1")[0]
		disabled := p.endpoint("http://127.0.0.1:65000")
		p.must(p.worker.Disable(t.Context(), p.user, disabled.ID, "disconnected"))
		held := p.enqueue(disabled, "", "msg_2")[0]
		short, err := p.worker.Enqueue(t.Context(), outbound.Message{
			EndpointID: disabled.ID, MessageID: "msg_3", ExpiresAt: start.Add(time.Minute),
		})
		p.must(err)
		p.sweep()
		p.ahead = 2 * 365 * 24 * time.Hour
		p.clock.Advance(p.ahead + time.Hour)
		p.sweep()
		if pause := p.next(id); pause != 2*time.Second {
			t.Errorf("a pause of %v", pause)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- p.worker.Run(ctx) }()
		for p.delivery(short).State != outbound.Expired {
			runtime.Gosched()
		}
		stop()
		p.must(<-ended)
		got := p.state(id) + ", " + p.state(held)
		if got != "delivered, held endpoint_disabled" {
			t.Error(got)
		}
	})
}

// An attempt that failed while the clock was years ahead is repeated when the clock is right again.
func TestAClockThatWasAheadPutsOffNothing(t *testing.T) {
	t.Parallel()
	outboundtest.Databases(t, func(t *testing.T, site *outboundtest.Site) {
		p := newKit(t, site)
		p.ahead = 2 * 365 * 24 * time.Hour
		p.clock.Advance(p.ahead)
		id := p.enqueue(p.endpoint(outboundtest.Receive(t, outboundtest.Statuses(500, 200)).URL), "", "msg_1")[0]
		p.sweep()
		p.clock.Advance(-p.ahead)
		p.ahead = 0
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- p.worker.Run(ctx) }()
		for p.delivery(id).FinishedAt == nil && t.Context().Err() == nil {
			runtime.Gosched()
		}
		stop()
		p.must(<-ended)
		if got := p.state(id) + ", " + p.line(id); got != "delivered, 500 200" {
			t.Error(got)
		}
	})
}

func TestHeldDeliveriesExpire(t *testing.T) {
	t.Parallel()
	outboundtest.Databases(t, func(t *testing.T, site *outboundtest.Site) {
		p := newKit(t, site)
		e := p.endpoint("http://127.0.0.1:65000")
		p.must(p.worker.Disable(t.Context(), p.user, e.ID, "disconnected"))
		id := p.enqueue(e, "", "msg_1")[0]
		p.clock.Advance(24 * time.Hour)
		n, err := site.Store.ExpireHeld(t.Context(), p.clock.Now())
		p.must(err)
		p.sweep()
		if got := p.state(id) + ", " + p.recordedNotices.take(); n != 1 || got != "expired expired, failed msg_1 expired" {
			t.Error(n, got)
		}
	})
}
