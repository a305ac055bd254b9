package outboundtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
		{"RecordAll", testRecordAll},
		{"Renew", testRenew},
		{"Order", testOrder},
		{"Hosts", testHosts},
		{"Hold", testHold},
		{"Log", testLog},
		{"Reopen", testReopen},
		{"Prune", testPrune},
		{"Backlog", testBacklog},
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
		Event: "x", OrderKey: order, State: outbound.Queued, NextAt: now.Add(after),
		ExpiresAt: now.Add(time.Hour), CreatedAt: now,
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
	list, err := s.store.Claim(s.ctx, ids, outbound.Claim{Lease: lease, Now: at, Held: at, Until: at.Add(time.Minute)})
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
	s.must(s.store.Record(s.ctx, outbound.Conclusion{Delivery: &taken[0]}))
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
		ID: protocol.NewID(), OwnerID: s.user, Kind: outbound.KindTask, URL: "https://a.example",
		Secret: seal.NewSecret("one"), PreviousSecret: seal.NewSecret("zero"), PreviousUntil: &until,
		Events: []protocol.WebhookEvent{"a", "b"}, DisabledAt: &until, DisabledReason: "why", CreatedAt: now,
	}
	s.must(s.store.CreateEndpoint(s.ctx, e))
	s.code(s.store.CreateEndpoint(s.ctx, e), protocol.CodeConflict)
	for _, owner := range []string{s.user, ""} {
		got, err := s.store.Endpoint(s.ctx, owner, e.ID)
		s.must(err)
		if got.Secret.Reveal() != "one" || got.PreviousSecret.Reveal() != "zero" || !got.PreviousUntil.Equal(until) ||
			!slices.Equal(got.Events, e.Events) || !got.DisabledAt.Equal(until) || got.DisabledReason != "why" ||
			!got.CreatedAt.Equal(now) {
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
	_, err = s.store.UpdateEndpoint(s.ctx, s.user, e.ID, func(e *outbound.Endpoint) error {
		e.URL = "https://z.example"
		return refuse
	})
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
	other.Kind, e.Kind = "agent", outbound.KindTask
	testRemovedEndpoints(s, e, other)
}

// testRemovedEndpoints clears and deletes endpoints of different kinds.
func testRemovedEndpoints(s suite, e, other *outbound.Endpoint) {
	kept, gone := s.insert(other, "", 0), s.insert(e, "", 0)
	for range 1100 { // more than DeleteEndpoint removes in one statement
		s.insert(e, "c", 0)
	}
	s.code(s.store.ClearEndpoint(s.ctx, s.site.User(s.T), "agent", other.ID), protocol.CodeNotFound)
	s.must(s.store.ClearEndpoint(s.ctx, s.user, outbound.KindTask, other.ID)) // it is of another kind
	s.code(s.store.DeleteEndpoint(s.ctx, s.site.User(s.T), "agent", other.ID), protocol.CodeNotFound)
	s.code(s.store.DeleteEndpoint(s.ctx, s.user, outbound.KindTask, other.ID), protocol.CodeNotFound)
	s.code(s.store.DeleteEndpoint(s.ctx, "", "agent", other.ID), protocol.CodeNotFound)
	s.must(s.store.DeleteEndpoint(s.ctx, s.user, outbound.KindTask, e.ID))
	s.get(kept.ID)
	_, err := s.store.Delivery(s.ctx, s.user, gone.ID)
	s.code(err, protocol.CodeNotFound)
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
	for limit, want := range map[int][]string{1: {late.ID}, 10: {early.ID, late.ID}} {
		list, err := s.store.LatestCandidates(s.ctx, now, limit)
		s.must(err)
		s.same(ids(list), want)
	}
	at, found, err := s.store.NextDue(s.ctx, now)
	s.must(err)
	if !found || !at.Equal(future.NextAt) {
		t.Error(at, found)
	}
	if _, found, err := s.store.NextDue(s.ctx, future.NextAt); found || err != nil {
		t.Error(found, err)
	}
}

func testOrder(t *testing.T, s suite) {
	e, other := s.endpoint("https://a.example"), s.endpoint("https://a.example")
	one, two, three := s.insert(e, "c", 0), s.insert(e, "c", 0), s.insert(e, "c", 0)
	otherEndpoint, unordered := s.insert(other, "c", 0), s.insert(e, "", 0)
	list, err := s.store.Candidates(s.ctx, now, 10)
	s.must(err)
	for _, d := range list {
		if want := d.ID == two.ID || d.ID == three.ID; d.Blocked != want {
			t.Errorf("%+v", d)
		}
	}
	all := []string{one.ID, two.ID, three.ID, otherEndpoint.ID, unordered.ID}
	s.must(s.store.Park(s.ctx, all, now, now.Add(30*time.Second)))
	if d := s.get(two.ID); !d.NextAt.Equal(now.Add(30*time.Second)) || d.Reason != outbound.ReasonWaiting ||
		!s.get(one.ID).NextAt.Equal(now) {
		t.Errorf("%+v", d)
	}
	s.same(ids(s.claim(now.Add(time.Minute), "l1", all...)), []string{one.ID, otherEndpoint.ID, unordered.ID})
	s.finish(one, outbound.Failed)
	s.must(s.store.Advance(s.ctx, []outbound.Order{{EndpointID: e.ID, Key: "c"}, {EndpointID: e.ID, Key: "none"}},
		now.Add(time.Second)))
	if d := s.get(two.ID); !d.NextAt.Equal(now.Add(time.Second)) || d.Reason != "" ||
		s.get(three.ID).Reason != outbound.ReasonWaiting {
		t.Errorf("%+v", d)
	}
	// The delivery is not parked any more.
	s.must(s.store.Advance(s.ctx, []outbound.Order{{EndpointID: e.ID, Key: "c"}, {EndpointID: e.ID, Key: "none"}}, now))
	if d := s.get(two.ID); !d.NextAt.Equal(now.Add(time.Second)) {
		t.Errorf("%+v", d)
	}
	s.same(ids(s.claim(now.Add(time.Minute), "l2", two.ID, three.ID)), []string{two.ID})
	// The delivery has expired, so it is claimed although it is blocked.
	s.same(ids(s.claim(now.Add(time.Hour), "l3", three.ID)), []string{three.ID})
}

func testHosts(t *testing.T, s suite) {
	var want []string
	var idle string // nothing is due there yet
	for _, name := range []string{"a", "b", "c", "d"} {
		e := s.endpoint("https://" + name + ".example")
		s.insert(e, "", time.Second)
		if name == "b" {
			idle = e.Host()
			continue
		}
		want = append(want, e.Host())
		for range 3 {
			s.insert(e, "", -time.Second)
		}
	}
	for name, c := range map[string]struct {
		walk  outbound.HostWalk
		hosts []string
		next  string
	}{
		"all":                           {outbound.HostWalk{Limit: 10, Visited: 10}, want, ""},
		"the next page":                 {outbound.HostWalk{After: want[0], Limit: 1, Visited: 10}, want[1:2], want[1]},
		"the last page":                 {outbound.HostWalk{After: want[1], Limit: 10, Visited: 10}, want[2:], ""},
		"after the last page":           {outbound.HostWalk{After: want[2], Limit: 10, Visited: 10}, nil, ""},
		"without a busy host":           {outbound.HostWalk{Skip: want[:1], Limit: 1, Visited: 10}, want[1:2], want[1]},
		"without all hosts":             {outbound.HostWalk{Skip: want, Limit: 10, Visited: 10}, nil, ""},
		"the walk ends at a busy host":  {outbound.HostWalk{Skip: want[:1], Limit: 10, Visited: 1}, nil, want[0]},
		"the walk ends at a due host":   {outbound.HostWalk{Limit: 10, Visited: 1}, want[:1], want[0]},
		"the walk ends at an idle host": {outbound.HostWalk{Limit: 10, Visited: 2}, want[:1], idle},
	} {
		hosts, next, err := s.store.DueHosts(s.ctx, now, c.walk)
		s.must(err)
		if !slices.Equal(hosts, c.hosts) || next != c.next {
			t.Errorf("%s: %v, next %q; want %v, next %q", name, hosts, next, c.hosts, c.next)
		}
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
