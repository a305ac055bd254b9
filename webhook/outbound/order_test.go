package outbound_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"bellhop/protocol"
	"bellhop/webhook/outbound"
	"bellhop/webhook/outbound/outboundtest"
)

// Requirement OUT-6.
func TestAConversationKeepsItsOrderAndOthersDoNotWait(t *testing.T) {
	t.Parallel()
	outboundtest.Databases(t, func(t *testing.T, site *outboundtest.Site) {
		p := newKit(t, site)
		var failing atomic.Int32
		failing.Store(2)
		var got []string
		var mu sync.Mutex
		collect := outboundtest.Receive(t, func(w http.ResponseWriter, q *http.Request, _ int) {
			mu.Lock()
			defer mu.Unlock()
			id := q.Header.Get("webhook-id")
			if id == "a1" && failing.Add(-1) >= 0 {
				w.WriteHeader(http.StatusInternalServerError)
				got = append(got, id+"!")
				return
			}
			got = append(got, id)
		})
		e := p.endpoint(collect.URL)
		p.enqueue(e, "a", "a1", "a2", "a3")
		p.enqueue(e, "b", "b1")
		p.enqueue(e, "b", "b2")
		for range 40 {
			p.sweep()
			p.clock.Advance(100 * time.Millisecond)
		}
		mu.Lock()
		defer mu.Unlock()
		a := slices.DeleteFunc(slices.Clone(got), func(s string) bool { return s[0] == 'b' })
		b := slices.DeleteFunc(slices.Clone(got), func(s string) bool { return s[0] == 'a' })
		if strings.Join(a, " ") != "a1! a1! a1 a2 a3" || strings.Join(b, " ") != "b1 b2" || slices.Index(got, "b2") > 3 {
			t.Error(got)
		}
	})
}

// What docs/protocol/webhooks.md promises of task webhooks: an earlier one holds up no later one, a repetition is the same
// event, and the timestamps have the order.
func TestTaskWebhooksDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	outboundtest.Databases(t, func(t *testing.T, site *outboundtest.Site) {
		p := newKit(t, site)
		r := outboundtest.Receive(t, func(w http.ResponseWriter, _ *http.Request, n int) {
			if n == 1 {
				w.WriteHeader(http.StatusInternalServerError)
			}
		})
		p.webhook(r.URL, protocol.WebhookTurnFinished, protocol.WebhookInteractionOpened)
		for i, kind := range []protocol.WebhookEvent{
			protocol.WebhookTurnFinished, protocol.WebhookInteractionOpened, protocol.WebhookTurnFinished,
		} {
			p.must(p.worker.Emit(t.Context(), p.user, outbound.TaskEvent{
				ID: fmt.Sprint("evt_", i+1), Type: kind, TaskID: "task", At: p.clock.Now(), Data: struct{}{},
			}))
			p.sweep()
			p.clock.Advance(10 * time.Millisecond)
		}
		var arrived []string
		for _, q := range r.Requests() {
			arrived = append(arrived, q.ID())
		}
		if got := strings.Join(arrived, " "); got != "evt_1 evt_2 evt_3" {
			t.Errorf("before the repetition: %s", got)
		}
		for range 3 {
			p.clock.Advance(5 * time.Second)
			p.sweep()
		}
		taken := r.Requests()
		first, last := taken[0], taken[len(taken)-1]
		if len(taken) != 4 || last.ID() != "evt_1" || string(last.Body) != string(first.Body) {
			t.Fatalf("%d requests, the last is %s %s", len(taken), last.ID(), last.Body)
		}
		delivered := [][]byte{taken[1].Body, taken[2].Body, last.Body} // as the receiver got them
		slices.SortFunc(delivered, func(a, b []byte) int { return strings.Compare(timestampOf(t, a), timestampOf(t, b)) })
		if got := [][]byte{last.Body, taken[1].Body, taken[2].Body}; !slices.EqualFunc(got, delivered, slices.Equal[[]byte]) {
			t.Errorf("by their timestamps: %s", delivered)
		}
	})
}

func timestampOf(t *testing.T, body []byte) string {
	t.Helper()
	var event struct{ Timestamp time.Time }
	if err := json.Unmarshal(body, &event); err != nil {
		t.Fatal(err)
	}
	return event.Timestamp.Format("2006-01-02T15:04:05.000000000")
}

func TestASuccessorIsSentWhenItsPredecessorFailsOrExpires(t *testing.T) {
	t.Parallel()
	outboundtest.Databases(t, func(t *testing.T, site *outboundtest.Site) {
		p := newKit(t, site)
		r := outboundtest.Receive(t, outboundtest.Statuses(404, 500, 500, 200))
		e := p.endpoint(r.URL)
		ids := p.enqueue(e, "c", "m1", "m2")
		id, err := p.worker.Enqueue(t.Context(), outbound.Message{EndpointID: e.ID, MessageID: "m3", OrderKey: "c"})
		p.must(err)
		p.sweep()
		if got := p.state(ids[0]) + ", " + p.state(ids[1]) + ", " +
			p.state(id); got != "failed status 404, queued, queued waiting" {
			t.Error(got)
		}
		site.Exec(t, `UPDATE deliveries SET expires_at = ? WHERE id = ?`, p.clock.Now().Add(2*time.Second).UTC(), ids[1])
		p.next(ids[1])
		p.clock.Advance(2 * time.Second)
		p.sweep() // m2 expires, which lets m3 start
		if got := p.state(ids[1]) + ", " + p.state(id) + ", " +
			p.recordedNotices.take(); got != "expired expired, delivered, failed m1 status 404; failed m2 expired; "+
			"delivered m3" {
			t.Error(got)
		}
	})
}

// A delivery reopened by the user is queued behind the waiting ones of its order.
func TestAReopenedDeliveryNeverRunsBesideItsSuccessor(t *testing.T) {
	t.Parallel()
	outboundtest.Databases(t, func(t *testing.T, site *outboundtest.Site) {
		p := newKit(t, site)
		r := outboundtest.Receive(t, outboundtest.Statuses(400, 500, 200))
		ids := p.enqueue(p.endpoint(r.URL), "c", "m1", "m2")
		p.sweep()
		p.clock.Advance(500 * time.Millisecond)
		_, err := p.worker.Retry(t.Context(), p.user, ids[0])
		p.must(err)
		p.sweep()
		p.clock.Advance(500 * time.Millisecond)
		p.sweep()
		var order []string
		for _, q := range r.Requests() {
			order = append(order, q.ID())
		}
		if got := strings.Join(order, " "); got != "m1 m2 m2 m1" {
			t.Error(got)
		}
	})
}

// Under random failures and several workers, the first successes of an order come in the order
// of its messages, and every message succeeds.
func TestOrderHoldsUnderRandomFailures(t *testing.T) {
	t.Parallel()
	outboundtest.Databases(t, func(t *testing.T, site *outboundtest.Site) {
		n := 0
		rapid.Check(t, func(rt *rapid.T) {
			n++
			p := newKit(t, site)
			failures := map[string]int{}
			delivered := map[string][]string{}
			var mu sync.Mutex
			r := outboundtest.Receive(t, func(w http.ResponseWriter, q *http.Request, _ int) {
				mu.Lock()
				defer mu.Unlock()
				id := q.Header.Get("webhook-id")
				if failures[id]--; failures[id] >= 0 {
					w.WriteHeader(http.StatusInternalServerError)
					return
				}
				delivered[id[:1]] = append(delivered[id[:1]], id)
			})
			e := p.endpoint(r.URL)
			want := map[string][]string{}
			for i := range rapid.IntRange(1, 8).Draw(rt, "messages") {
				order := rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "order")
				id := fmt.Sprintf("%s%d_%d", order, n, i)
				failures[id] = rapid.IntRange(0, 2).Draw(rt, "failures")
				want[order] = append(want[order], id)
				p.enqueue(e, order, id)
			}
			for range 20 {
				p.sweep()
				p.clock.Advance(5 * time.Second)
			}
			mu.Lock()
			defer mu.Unlock()
			if fmt.Sprint(delivered) != fmt.Sprint(want) {
				rt.Fatalf("%v, want %v", delivered, want)
			}
		})
	})
}
