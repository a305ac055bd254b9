package notification_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"bellhop/internal/testenv"
	"bellhop/protocol"
	"bellhop/webhook/outbound"
	"bellhop/webhook/outbound/notification"
	"bellhop/webhook/outbound/outboundtest"
)

func TestAQuestionReachesABrowserThatIsClosed(t *testing.T) {
	t.Parallel()
	outboundtest.Databases(t, func(t *testing.T, site *outboundtest.Site) {
		k := newKit(t, site)
		k.subscribe()
		k.question("q1", map[string]any{"expiresAt": "2026-03-04T05:16:07Z"})
		k.sweep()
		got := k.browser.Messages()
		if len(got) != 1 {
			t.Fatalf("%d messages; %s", len(got), k.log())
		}
		const want = `{"id":"evt_q1","event":"question","taskId":"t1","interactionId":"q1","title":"Tidy up",` +
			`"text":"Run make?","answerable":true,"at":"2026-03-04T05:06:07Z"}`
		if m := got[0]; string(m.Plain) != want || m.TTL != 600 || m.Urgency != "high" || len(m.Topic) != 32 ||
			m.Contact != "https://bellhop.example" {
			t.Errorf("%s %+v\nwant %s", m.Plain, m, want)
		}
		list, err := k.service.List(t.Context(), k.user)
		if err != nil || len(list) != 1 || list[0].SucceededAt == nil || !list[0].SucceededAt.Equal(start) {
			t.Errorf("%+v %v", list, err)
		}
	})
}

// The same event is stored once for each browser, and replicas do not send a delivery twice.
func TestAnEventIsSentOnceByAllReplicas(t *testing.T) {
	t.Parallel()
	outboundtest.Databases(t, func(t *testing.T, site *outboundtest.Site) {
		k := newKit(t, site)
		k.subscribe()
		replicas := []*replica{k.replica, k.newReplica(site.OpenAgain(t))}
		event := outbound.TaskEvent{
			ID: "evt_1", Type: protocol.WebhookTurnFinished, TaskID: "t1", At: start, Data: map[string]any{"title": "x"},
		}
		for _, r := range replicas {
			k.must(r.service.Emit(t.Context(), k.user, event))
		}
		var running sync.WaitGroup
		for _, r := range replicas {
			running.Go(func() { testenv.Must(t, r.worker.Sweep(t.Context())) })
		}
		running.Wait()
		if n := k.browser.Attempts(); n != 1 {
			t.Errorf("%d requests", n)
		}
	})
}

// A later message of a task replaces the earlier one at the push service, and they keep their order.
func TestMessagesOfATaskShareATopic(t *testing.T) {
	t.Parallel()
	k := newKit(t, outboundtest.SQLite(t))
	k.subscribe()
	k.browser.Status(http.StatusInternalServerError, "")
	k.question("q1", nil)
	k.sweep() // this one fails
	k.finished("1", map[string]any{"title": "Tidy up", "finishReason": "stop"})
	k.emit(outbound.TaskEvent{ID: "evt_f", Type: protocol.WebhookFollowupAnswered, Data: map[string]any{"sourceId": "s1"}})
	k.sweep()
	if got := k.browser.Messages(); len(got) != 1 || read(t, got[0]).SourceID != "s1" || got[0].Topic != "" {
		t.Errorf("%+v", got)
	}
	k.clock.Advance(time.Minute)
	k.sweep()
	got := k.browser.Messages()
	if len(got) != 3 || got[1].Topic == "" || got[1].Topic != got[2].Topic ||
		read(t, got[1]).Event != protocol.NotifyQuestion || read(t, got[2]).Event != protocol.NotifyFinished {
		t.Errorf("%+v", got)
	}
}

func TestABrowserGetsWhatItsUserChose(t *testing.T) {
	t.Parallel()
	k := newKit(t, outboundtest.SQLite(t))
	e := k.subscribe(protocol.NotifyFailed, protocol.NotifyQuestion)
	for i, data := range []map[string]any{
		{"finishReason": "stop"},
		{"finishReason": "error"},
		{"finishReason": "other", "reason": "aborted"},
		{"finishReason": "other", "reason": "host-lost"},
		{"finishReason": "other", "reason": "not-started"},
	} {
		k.finished(string(rune('a'+i)), data)
	}
	k.sweep()
	want := []string{"The turn has failed", "The turn is lost: its host was lost or restarted"}
	got := k.browser.Messages()
	if len(got) != 2 || read(t, got[0]).Text != want[0] || read(t, got[1]).Text != want[1] {
		t.Errorf("%+v", got)
	}
	_, err := k.service.Choose(t.Context(), k.user, e.ID, []protocol.NotificationEvent{protocol.NotifyFinished})
	k.must(err)
	k.question("q1", nil)
	k.finished("z", map[string]any{"finishReason": "stop"})
	k.sweep()
	if got := k.browser.Messages(); len(got) != 3 || read(t, got[2]).Event != protocol.NotifyFinished {
		t.Errorf("%+v", got)
	}
	k.subscribe() // the console does so again at each start: the choice stays
	if list, err := k.service.List(t.Context(), k.user); err != nil || len(list[0].Events) != 1 {
		t.Errorf("%+v %v", list, err)
	}
}

func TestAPushServiceThatIsGoneEndsTheSubscription(t *testing.T) {
	t.Parallel()
	outboundtest.Databases(t, func(t *testing.T, site *outboundtest.Site) {
		for _, status := range []int{http.StatusGone, http.StatusNotFound} {
			k := newKit(t, site)
			k.subscribe()
			k.browser.Status(status, "")
			k.question("q1", nil)
			k.question("q2", nil)
			k.sweep()
			if n := k.browser.Attempts(); n != 1 {
				t.Errorf("%d: %d requests", status, n)
			}
			if n := k.count(); n != 0 {
				t.Errorf("%d: %d subscriptions are left", status, n)
			}
			if got := k.log(); got != "" {
				t.Errorf("%d: %s", status, got)
			}
		}
	})
}

func TestAPushServiceThatFails(t *testing.T) {
	t.Parallel()
	k := newKit(t, outboundtest.SQLite(t))
	k.subscribe()
	k.browser.Status(http.StatusTooManyRequests, "120")
	k.browser.Status(http.StatusServiceUnavailable, "7")
	k.browser.Status(http.StatusInternalServerError, "")
	k.question("q1", nil)
	k.sweep()
	for _, pause := range []time.Duration{120 * time.Second, 7 * time.Second} {
		before := k.browser.Attempts()
		k.clock.Advance(pause - time.Second)
		k.sweep()
		if k.browser.Attempts() != before {
			t.Errorf("it was asked before %v had passed", pause)
		}
		k.clock.Advance(time.Second)
		k.sweep()
		if k.browser.Attempts() != before+1 {
			t.Errorf("it was not asked after %v", pause)
		}
	}
	k.clock.Advance(time.Minute)
	k.sweep()
	if got := k.browser.Messages(); len(got) != 1 || k.browser.Attempts() != 4 {
		t.Errorf("%d requests, %+v", k.browser.Attempts(), got)
	}
}

func TestRedirectsOfAPushServiceAreRefused(t *testing.T) {
	t.Parallel()
	k := newKit(t, outboundtest.SQLite(t))
	other := outboundtest.Receive(t, nil)
	k.subscribe()
	for i, status := range []int{301, 302, 303, 307, 308} {
		k.browser.Answer(func(w http.ResponseWriter) {
			w.Header().Set("Location", other.URL)
			w.WriteHeader(status)
		})
		k.question(string(rune('a'+i)), nil)
	}
	k.sweep()
	if len(other.Requests()) != 0 || strings.Count(k.log(), "failed status 30") != 5 || k.count() != 1 {
		t.Errorf("%d requests, %s", len(other.Requests()), k.log())
	}
}

func TestAnAnsweredQuestionIsNotSent(t *testing.T) {
	t.Parallel()
	k := newKit(t, outboundtest.SQLite(t))
	k.subscribe()
	k.question("q1", nil)
	k.answered["q1"] = true
	k.question("q2", map[string]any{"expiresAt": "2026-03-04T05:06:17Z"})
	k.browser.Status(http.StatusServiceUnavailable, "10")
	k.sweep()
	k.clock.Advance(10 * time.Second)
	k.sweep()
	if len(k.browser.Messages()) != 0 || k.log() != "expired expired; failed gone; " {
		t.Errorf("%+v %s", k.browser.Messages(), k.log())
	}
}

// Nothing is sent after the sign-in has ended, even if the queue learns of it last.
func TestNotificationsEndWithTheSignIn(t *testing.T) {
	t.Parallel()
	k := newKit(t, outboundtest.SQLite(t))
	k.subscribe()
	k.question("q1", nil)
	delete(k.signedIn, signIn)
	k.sweep()
	if k.browser.Attempts() != 0 || k.count() != 0 {
		t.Errorf("%d requests, %s", k.browser.Attempts(), k.log())
	}
}

// A database rule ends them in the transaction that ends the sign-in, whatever code ends it.
func TestTheEndOfASignInEndsItsBrowser(t *testing.T) {
	t.Parallel()
	outboundtest.Databases(t, func(t *testing.T, site *outboundtest.Site) {
		k := newKit(t, site)
		k.subscribe()
		site.Exec(t, `INSERT INTO logins (token, data, expires_at, id, user_id) VALUES ('x', ?, ?, ?, ?)`,
			[]byte("x"), start, signIn, k.user)
		site.Exec(t, `INSERT INTO logins (token, data, expires_at, id, user_id) VALUES ('y', ?, ?, '', ?)`,
			[]byte("y"), start, k.user)
		_, err := k.worker.Register(t.Context(), k.user, outbound.EndpointRequest{
			Kind: outbound.KindTask, URL: k.browser.URL, Events: protocol.WebhookEvents(),
		})
		k.must(err)
		site.Exec(t, `DELETE FROM logins WHERE token = 'y'`)
		if list, err := k.service.List(t.Context(), k.user); err != nil || len(list) != 1 {
			t.Errorf("%+v %v", list, err)
		}
		site.Exec(t, `DELETE FROM logins WHERE token = 'x'`)
		if list, err := k.service.List(t.Context(), k.user); err != nil || len(list) != 0 {
			t.Errorf("%+v %v", list, err)
		}
		k.question("q1", nil)
		k.sweep()
		if k.browser.Attempts() != 0 || k.count() != 1 {
			t.Errorf("%d requests, %d endpoints", k.browser.Attempts(), k.count())
		}
	})
}

// The user who signed in at a browser last has it: what another user was notified of stays theirs.
func TestABrowserBelongsToOneUser(t *testing.T) {
	t.Parallel()
	k := newKit(t, outboundtest.SQLite(t))
	k.subscribe()
	k.question("q1", nil)
	former := k.user
	k.user = k.site.User(t)
	k.subscribe()
	k.sweep()
	if k.browser.Attempts() != 0 || k.count() != 1 {
		t.Errorf("%d requests", k.browser.Attempts())
	}
	if list, err := k.service.List(t.Context(), former); err != nil || len(list) != 0 {
		t.Errorf("%+v %v", list, err)
	}
}

func TestASubscriptionIsASecret(t *testing.T) {
	t.Parallel()
	k := newKit(t, outboundtest.SQLite(t))
	k.subscribe()
	var url string
	var secret []byte
	k.must(k.site.DB.Conn(t.Context()).Raw(`SELECT url, secret FROM webhook_endpoints`).Row().Scan(&url, &secret))
	if url != k.browser.URL || strings.Contains(string(secret), "capability") || len(secret) < 100 {
		t.Errorf("%s %q", url, secret)
	}
}

func TestOthersReachNoSubscription(t *testing.T) {
	t.Parallel()
	k := newKit(t, outboundtest.SQLite(t))
	e := k.subscribe()
	other := k.site.User(t)
	_, err := k.service.Choose(t.Context(), other, e.ID, protocol.NotificationEvents())
	testenv.WantCode(t, err, protocol.CodeNotFound)
	testenv.WantCode(t, k.service.Remove(t.Context(), other, e.ID), protocol.CodeNotFound)
	k.question("q1", nil)
	k.must(k.service.Remove(t.Context(), k.user, e.ID))
	k.sweep()
	if k.browser.Attempts() != 0 || k.count() != 0 || k.log() != "" {
		t.Errorf("%d requests, %s", k.browser.Attempts(), k.log())
	}
}

func TestSubscriptionsThatAreRefused(t *testing.T) {
	t.Parallel()
	k := newKit(t, outboundtest.SQLite(t))
	for _, c := range []struct {
		name   string
		change func(*notification.Subscription)
		code   protocol.Code
	}{
		{"a private address", func(s *notification.Subscription) { s.Endpoint = "https://10.0.0.1/x" }, protocol.CodeInvalid},
		{"metadata", func(s *notification.Subscription) { s.Endpoint = "https://169.254.169.254/x" }, protocol.CodeInvalid},
		{"no address", func(s *notification.Subscription) { s.Endpoint = "" }, protocol.CodeInvalid},
		{"a file", func(s *notification.Subscription) { s.Endpoint = "file:///etc/passwd" }, protocol.CodeInvalid},
		{
			"a huge address",
			func(s *notification.Subscription) { s.Endpoint += strings.Repeat("x", 2048) },
			protocol.CodeInvalid,
		},
		{"no key", func(s *notification.Subscription) { s.P256dh = "" }, protocol.CodeInvalid},
		{
			"a key off the curve",
			func(s *notification.Subscription) { s.P256dh = "B" + s.P256dh[2:] + "A" },
			protocol.CodeInvalid,
		},
		{"a short secret", func(s *notification.Subscription) { s.Auth = "AAAA" }, protocol.CodeInvalid},
		{
			"no events",
			func(s *notification.Subscription) { s.Events = []protocol.NotificationEvent{} },
			protocol.CodeInvalid,
		},
		{
			"an unknown event",
			func(s *notification.Subscription) { s.Events = []protocol.NotificationEvent{"x"} },
			protocol.CodeInvalid,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := k.subscription()
			c.change(&s)
			_, err := k.service.Subscribe(t.Context(), k.user, signIn, "x", s)
			testenv.WantCode(t, err, c.code)
		})
	}
	_, err := k.service.Subscribe(t.Context(), k.user, "", "curl", k.subscription())
	testenv.WantCode(t, err, protocol.CodeForbidden)
	if n := k.count(); n != 0 {
		t.Errorf("%d are stored", n)
	}
}

func TestAUserHasTwentyBrowsers(t *testing.T) {
	t.Parallel()
	k := newKit(t, outboundtest.SQLite(t))
	s := k.subscription()
	for i := range 20 {
		s.Endpoint = k.browser.Address() + string(rune('a'+i))
		_, err := k.service.Subscribe(t.Context(), k.user, signIn, "x", s)
		k.must(err)
	}
	s.Endpoint = k.browser.Address()
	_, err := k.service.Subscribe(t.Context(), k.user, signIn, "x", s)
	testenv.WantCode(t, err, protocol.CodeConflict)
}
