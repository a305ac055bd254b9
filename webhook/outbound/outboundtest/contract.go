package outboundtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"bellhop/crypto/seal"
	"bellhop/internal/testenv"
	"bellhop/protocol"
	"bellhop/webhook/outbound"
)

var now = time.Date(2026, 3, 4, 5, 6, 7, 891_000, time.UTC)

// Run checks that a store keeps the contract of outbound.Store.
func Run(t *testing.T, open func(t testing.TB) *Site) {
	t.Helper()
	for _, c := range []struct {
		name string
		test func(*testing.T, suite)
	}{
		{"Endpoints", testEndpoints},
		{"Insert", testInsert},
		{"Due", testDue},
		{"Claim", testClaim},
		{"ClaimOnce", testClaimOnce},
		{"Fence", testFence},
		{"Order", testOrder},
		{"Hosts", testHosts},
		{"Hold", testHold},
		{"Log", testLog},
		{"Reopen", testReopen},
		{"Prune", testPrune},
	} {
		t.Run(c.name, func(t *testing.T) {
			site := open(t)
			c.test(t, suite{T: t, ctx: t.Context(), site: site, store: site.Store, user: site.User(t)})
		})
	}
}

type suite struct {
	*testing.T
	ctx   context.Context
	site  *Site
	store outbound.Store
	user  string
}

func (s suite) must(err error) {
	s.Helper()
	testenv.Must(s, err)
}

func (s suite) code(err error, want protocol.Code) {
	s.Helper()
	testenv.WantCode(s, err, want)
}

func (s suite) endpoint(url string) *outbound.Endpoint {
	s.Helper()
	e := &outbound.Endpoint{
		ID: protocol.NewID(), OwnerID: s.user, Kind: "agent", URL: url, Secret: seal.NewSecret("one"),
		Events: []protocol.WebhookEvent{}, CreatedAt: now,
	}
	s.must(s.store.CreateEndpoint(s.ctx, e))
	return e
}

// insert adds a delivery that is due after a delay.
func (s suite) insert(e *outbound.Endpoint, order string, after time.Duration) *outbound.Delivery {
	s.Helper()
	d := &outbound.Delivery{
		ID: protocol.NewID(), EndpointID: e.ID, UserID: s.user, Kind: e.Kind, Host: e.Host(), MessageID: protocol.NewID(),
		Event: "x", OrderKey: order, State: outbound.Queued, NextAt: now.Add(after), ExpiresAt: now.Add(time.Hour), CreatedAt: now,
	}
	inserted, err := s.store.Insert(s.ctx, d)
	s.must(err)
	if !inserted {
		s.Fatal("not inserted")
	}
	return d
}

func (s suite) claim(at time.Time, lease string, ids ...string) []outbound.Delivery {
	s.Helper()
	list, err := s.store.Claim(s.ctx, ids, outbound.Claim{Lease: lease, Now: at, Until: at.Add(time.Minute)})
	s.must(err)
	return list
}

func (s suite) get(id string) *outbound.Delivery {
	s.Helper()
	d, err := s.store.Delivery(s.ctx, s.user, id)
	s.must(err)
	return d
}

// finish claims a delivery and records its end.
func (s suite) finish(d *outbound.Delivery, state outbound.State) {
	s.Helper()
	at := s.get(d.ID).NextAt
	taken := s.claim(at, "finish", d.ID)
	if len(taken) != 1 {
		s.Fatalf("%d claimed", len(taken))
	}
	taken[0].State, taken[0].FinishedAt = state, &at
	s.must(s.store.Record(s.ctx, &taken[0], nil))
}

func ids(list []outbound.Delivery) []string {
	all := make([]string, len(list))
	for i := range list {
		all[i] = list[i].ID
	}
	return all
}

func (s suite) same(got, want []string) {
	s.Helper()
	if !slices.Equal(got, want) {
		s.Errorf("%v, want %v", got, want)
	}
}

func testEndpoints(t *testing.T, s suite) {
	until := now.Add(time.Hour)
	e := &outbound.Endpoint{
		ID: protocol.NewID(), OwnerID: s.user, Kind: outbound.KindTask, URL: "https://a.example", Secret: seal.NewSecret("one"),
		PreviousSecret: seal.NewSecret("zero"), PreviousUntil: &until,
		Events: []protocol.WebhookEvent{"a", "b"}, DisabledAt: &until,
		DisabledReason: "why", CreatedAt: now,
	}
	s.must(s.store.CreateEndpoint(s.ctx, e))
	s.code(s.store.CreateEndpoint(s.ctx, e), protocol.CodeConflict)
	for _, owner := range []string{s.user, ""} {
		got, err := s.store.Endpoint(s.ctx, owner, e.ID)
		s.must(err)
		if got.Secret.Reveal() != "one" || got.PreviousSecret.Reveal() != "zero" || !got.PreviousUntil.Equal(until) ||
			!slices.Equal(got.Events, e.Events) || !got.DisabledAt.Equal(until) || got.DisabledReason != "why" || !got.CreatedAt.Equal(now) {
			t.Errorf("%+v", got)
		}
	}
	_, err := s.store.Endpoint(s.ctx, s.site.User(t), e.ID)
	s.code(err, protocol.CodeNotFound)
	other := s.endpoint("https://b.example")
	found, err := s.store.EndpointsByID(s.ctx, []string{e.ID, other.ID, "none"})
	s.must(err)
	if len(found) != 2 || found[other.ID].Secret.Reveal() != "one" {
		t.Errorf("%+v", found)
	}
	refuse := errors.New("no")
	_, err = s.store.UpdateEndpoint(s.ctx, s.user, e.ID, func(e *outbound.Endpoint) error { e.URL = "https://z.example"; return refuse })
	if !errors.Is(err, refuse) {
		t.Error(err)
	}
	_, err = s.store.UpdateEndpoint(s.ctx, s.user, e.ID, func(e *outbound.Endpoint) error {
		e.DisabledAt, e.PreviousSecret, e.PreviousUntil, e.Secret = nil, seal.Secret{}, nil, seal.NewSecret("two")
		return nil
	})
	s.must(err)
	got, err := s.store.Endpoint(s.ctx, s.user, e.ID)
	s.must(err)
	if got.URL != e.URL || got.Secret.Reveal() != "two" || !got.PreviousSecret.IsZero() || got.Disabled() {
		t.Errorf("%+v", got)
	}
	list, err := s.store.Endpoints(s.ctx, s.user, outbound.KindTask)
	s.must(err)
	if len(list) != 1 || list[0].ID != e.ID || !list[0].Secret.IsZero() {
		t.Errorf("%+v", list)
	}
	s.must(s.store.DeleteEndpoint(s.ctx, s.user, outbound.KindTask, e.ID))
	s.code(s.store.DeleteEndpoint(s.ctx, s.user, outbound.KindTask, e.ID), protocol.CodeNotFound)
}

func testInsert(t *testing.T, s suite) {
	e := s.endpoint("https://a.example")
	d := s.insert(e, "c", time.Second)
	again := *d
	again.ID = protocol.NewID()
	if inserted, err := s.store.Insert(s.ctx, &again); inserted || err != nil {
		t.Error(inserted, err)
	}
	got := s.get(d.ID)
	if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", d) {
		t.Errorf("%+v\n%+v", got, d)
	}
	orphan := *d
	orphan.ID, orphan.EndpointID = protocol.NewID(), "none"
	if _, err := s.store.Insert(s.ctx, &orphan); err == nil {
		t.Error("a delivery without its endpoint was stored")
	}
}

func testDue(t *testing.T, s suite) {
	e := s.endpoint("https://a.example")
	late, early, future := s.insert(e, "", -time.Second), s.insert(e, "", -time.Minute), s.insert(e, "", time.Microsecond)
	list, err := s.store.Candidates(s.ctx, now, 10)
	s.must(err)
	s.same(ids(list), []string{early.ID, late.ID})
	if d := list[0]; d.Host != "a.example:443" || !d.ExpiresAt.Equal(now.Add(time.Hour)) || d.Blocked {
		t.Errorf("%+v", d)
	}
	list, err = s.store.Candidates(s.ctx, now, 1)
	s.must(err)
	s.same(ids(list), []string{early.ID})
	at, found, err := s.store.NextDue(s.ctx, now)
	s.must(err)
	if !found || !at.Equal(future.NextAt) {
		t.Error(at, found)
	}
	if _, found, err := s.store.NextDue(s.ctx, future.NextAt); found || err != nil {
		t.Error(found, err)
	}
}

func testClaim(t *testing.T, s suite) {
	e := s.endpoint("https://a.example")
	a, b, future := s.insert(e, "", 0), s.insert(e, "", 0), s.insert(e, "", time.Second)
	taken := s.claim(now, "l1", a.ID, b.ID, future.ID, "none")
	s.same(ids(taken), []string{a.ID, b.ID})
	if d := s.get(a.ID); d.Lease != "l1" || !d.NextAt.Equal(now.Add(time.Minute)) || !d.AttemptedAt.Equal(now) || taken[0].Lease != "l1" {
		t.Errorf("%+v", d)
	}
	s.same(ids(s.claim(now, "l2", a.ID, b.ID)), []string{})
	held, err := s.store.Renew(s.ctx, map[string]string{a.ID: "l1", b.ID: "other", future.ID: "l1"}, now.Add(time.Hour))
	s.must(err)
	s.same(held, []string{a.ID})
	lapsed := s.claim(now.Add(2*time.Minute), "l3", a.ID, b.ID)
	s.same(ids(lapsed), []string{b.ID})
	if d := s.get(b.ID); d.Attempts != 1 || len(d.Log) != 1 || d.Log[0].Error != outbound.FaultAbandoned || !d.Log[0].At.Equal(now) || lapsed[0].Attempts != 1 {
		t.Errorf("%+v", d)
	}
}

// Six goroutines claim at the same time over three connections; each row goes to one.
func testClaimOnce(t *testing.T, s suite) {
	e := s.endpoint("https://a.example")
	var all []string
	for range 30 {
		all = append(all, s.insert(e, "", 0).ID)
	}
	stores := []outbound.Store{s.store, s.site.Again(t), s.site.Again(t)}
	var mu sync.Mutex
	taken := map[string]int{}
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			list, err := stores[i%3].Claim(s.ctx, all, outbound.Claim{Lease: fmt.Sprint(i), Now: now, Until: now.Add(time.Minute)})
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, d := range list {
				taken[d.ID]++
			}
		})
	}
	wg.Wait()
	for _, d := range s.claim(now, "rest", all...) {
		taken[d.ID]++
	}
	for id, n := range taken {
		if n != 1 {
			t.Errorf("%s taken %d times", id, n)
		}
	}
	if len(taken) != 30 {
		t.Errorf("%d taken", len(taken))
	}
}

func testFence(t *testing.T, s suite) {
	d := s.insert(s.endpoint("https://a.example"), "", 0)
	first := s.claim(now, "l1", d.ID)[0]
	second := s.claim(now.Add(time.Minute), "l2", d.ID)[0]
	first.State = outbound.Delivered
	attempt := &outbound.Attempt{DeliveryID: d.ID, Number: 2, At: now, Duration: 3 * time.Millisecond, Status: 500, Answer: []byte{0, 255}}
	for _, err := range []error{s.store.KeepBody(s.ctx, &first, []byte("x")), s.store.Record(s.ctx, &first, attempt)} {
		if !errors.Is(err, outbound.ErrLeaseLost) {
			t.Error(err)
		}
	}
	s.must(s.store.KeepBody(s.ctx, &second, []byte("body")))
	second.Attempts, second.NextAt, second.AttemptedAt = 2, now.Add(2*time.Minute), &now
	s.must(s.store.Record(s.ctx, &second, attempt))
	got := s.get(d.ID)
	if got.State != outbound.Queued || got.InFlight() || got.Attempts != 2 || len(got.Log) != 2 || fmt.Sprint(got.Log[1]) != fmt.Sprint(*attempt) {
		t.Errorf("%+v", got)
	}
	if err := s.store.Record(s.ctx, &second, nil); !errors.Is(err, outbound.ErrLeaseLost) {
		t.Errorf("recorded twice: %v", err)
	}
	if third := s.claim(now.Add(2*time.Minute), "l3", d.ID); len(third) != 1 || string(third[0].Body) != "body" {
		t.Errorf("%+v", third)
	}
}

func testOrder(t *testing.T, s suite) {
	e, other := s.endpoint("https://a.example"), s.endpoint("https://a.example")
	one, two, three := s.insert(e, "c", 0), s.insert(e, "c", 0), s.insert(e, "c", 0)
	free, elsewhere := s.insert(other, "c", 0), s.insert(e, "", 0)
	list, err := s.store.Candidates(s.ctx, now, 10)
	s.must(err)
	for _, d := range list {
		if want := d.ID == two.ID || d.ID == three.ID; d.Blocked != want {
			t.Errorf("%+v", d)
		}
	}
	all := []string{one.ID, two.ID, three.ID, free.ID, elsewhere.ID}
	s.must(s.store.Park(s.ctx, all, now, now.Add(30*time.Second)))
	if d := s.get(two.ID); !d.NextAt.Equal(now.Add(30*time.Second)) || d.Reason != outbound.ReasonWaiting || !s.get(one.ID).NextAt.Equal(now) {
		t.Errorf("%+v", d)
	}
	s.same(ids(s.claim(now.Add(time.Minute), "l1", all...)), []string{one.ID, free.ID, elsewhere.ID})
	s.finish(one, outbound.Failed)
	s.must(s.store.Advance(s.ctx, e.ID, "c", now.Add(time.Second)))
	if d := s.get(two.ID); !d.NextAt.Equal(now.Add(time.Second)) || d.Reason != "" || s.get(three.ID).Reason != outbound.ReasonWaiting {
		t.Errorf("%+v", d)
	}
	s.must(s.store.Advance(s.ctx, e.ID, "c", now)) // not parked any more
	if d := s.get(two.ID); !d.NextAt.Equal(now.Add(time.Second)) {
		t.Errorf("%+v", d)
	}
	s.same(ids(s.claim(now.Add(time.Minute), "l2", two.ID, three.ID)), []string{two.ID})
	s.same(ids(s.claim(now.Add(time.Hour), "l3", three.ID)), []string{three.ID}) // expired, so it is claimed although it is blocked
}

func testHosts(t *testing.T, s suite) {
	var want []string
	for _, name := range []string{"a", "b", "c", "d"} {
		e := s.endpoint("https://" + name + ".example")
		s.insert(e, "", time.Second)
		if name == "b" {
			continue
		}
		want = append(want, e.Host())
		for range 3 {
			s.insert(e, "", -time.Second)
		}
	}
	hosts, err := s.store.DueHosts(s.ctx, now, "", 10)
	s.must(err)
	s.same(hosts, want)
	hosts, err = s.store.DueHosts(s.ctx, now, want[0], 1)
	s.must(err)
	s.same(hosts, want[1:2])
	others, more, err := s.store.OtherCandidates(s.ctx, now, want[1:], 20, 10)
	s.must(err)
	if len(others) != 3 || others[0].Host != want[0] || more {
		t.Errorf("%+v %v", others, more)
	}
	if _, more, err = s.store.OtherCandidates(s.ctx, now, want[1:], 9, 10); !more || err != nil {
		t.Error(more, err)
	}
	list, err := s.store.CandidatesOf(s.ctx, now, want[:2], 2)
	s.must(err)
	count := map[string]int{}
	for _, d := range list {
		count[d.Host]++
		if !d.ExpiresAt.Equal(now.Add(time.Hour)) {
			t.Errorf("%+v", d)
		}
	}
	if len(count) != 2 || count[want[0]] != 2 || count[want[1]] != 2 {
		t.Errorf("%v", count)
	}
}
