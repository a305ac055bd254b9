package outboundtest

import (
	"slices"
	"testing"
	"time"

	"bellhop/protocol"
	"bellhop/webhook/outbound"
)

func testHold(t *testing.T, s suite) {
	e := s.endpoint("https://a.example")
	inFlight, waiting, done := s.insert(e, "", 0), s.insert(e, "", time.Hour), s.insert(e, "", 0)
	s.finish(done, outbound.Delivered)
	s.claim(now, "l1", inFlight.ID)
	s.must(s.store.Hold(s.ctx, e.ID))
	a, b, c := s.get(inFlight.ID).State, s.get(waiting.ID).State, s.get(done.ID).State
	if a != outbound.Queued || b != outbound.Held || c != outbound.Delivered {
		t.Error(a, b, c)
	}
	if n, err := s.store.ExpireHeld(s.ctx, now.Add(time.Hour-time.Microsecond)); n != 0 || err != nil {
		t.Error(n, err)
	}
	s.must(s.store.Release(s.ctx, e.ID, now.Add(time.Second)))
	if d := s.get(waiting.ID); d.State != outbound.Queued || d.Reason != "" || !d.NextAt.Equal(now.Add(time.Second)) {
		t.Errorf("%+v", d)
	}
	s.must(s.store.Hold(s.ctx, e.ID))
	if n, err := s.store.ExpireHeld(s.ctx, now.Add(time.Hour)); n != 1 || err != nil {
		t.Error(n, err)
	}
	s.same(ids(s.claim(now.Add(time.Hour), "l2", waiting.ID)), []string{waiting.ID})
}

func testLog(t *testing.T, s suite) {
	e, other := s.endpoint("https://a.example"), s.endpoint("https://b.example")
	one, two, three := s.insert(e, "", 0), s.insert(other, "", 0), s.insert(e, "", 0)
	s.finish(one, outbound.Failed)
	for name, c := range map[string]struct {
		f    outbound.Filter
		want []string
	}{
		"newest first":   {outbound.Filter{Limit: 10}, []string{three.ID, two.ID, one.ID}},
		"a page":         {outbound.Filter{Limit: 1, Before: three.ID}, []string{two.ID}},
		"of a state":     {outbound.Filter{Limit: 10, State: outbound.Failed}, []string{one.ID}},
		"of an endpoint": {outbound.Filter{Limit: 10, EndpointID: e.ID}, []string{three.ID, one.ID}},
	} {
		c.f.OwnerID = s.user
		list, err := s.store.Deliveries(s.ctx, c.f)
		s.must(err)
		if !slices.Equal(ids(list), c.want) {
			t.Errorf("%s: %v", name, ids(list))
		}
	}
	otherUser := s.site.User(t)
	list, err := s.store.Deliveries(s.ctx, outbound.Filter{OwnerID: otherUser, Limit: 10})
	s.must(err)
	s.same(ids(list), []string{})
	_, err = s.store.Delivery(s.ctx, otherUser, one.ID)
	s.code(err, protocol.CodeNotFound)
	_, err = s.store.LockDelivery(s.ctx, otherUser, one.ID)
	s.code(err, protocol.CodeNotFound)
}

func testReopen(t *testing.T, s suite) {
	e := s.endpoint("https://a.example")
	one, two := s.insert(e, "c", 0), s.insert(e, "c", 0)
	s.finish(one, outbound.Failed)
	d := s.get(one.ID)
	d.State, d.Reason, d.NextAt, d.ExpiresAt = outbound.Queued, "", now, now.Add(2*time.Hour)
	s.must(s.store.Reopen(s.ctx, d))
	if got := s.get(one.ID); got.State != outbound.Queued || got.FinishedAt != nil || !got.ExpiresAt.Equal(d.ExpiresAt) {
		t.Errorf("%+v", got)
	}
	s.same(ids(s.claim(now, "l1", one.ID, two.ID)), []string{two.ID}) // one is queued behind two now
	d = s.get(two.ID)
	d.NextAt = now
	s.must(s.store.Reopen(s.ctx, d)) // in flight: unchanged
	if got := s.get(two.ID); got.Lease != "l1" || got.NextAt.Equal(now) {
		t.Errorf("%+v", got)
	}
}

func testPrune(t *testing.T, s suite) {
	e := s.endpoint("https://a.example")
	open := s.insert(e, "", -time.Hour)
	for range 3 {
		s.finish(s.insert(e, "", 0), outbound.Delivered)
	}
	for _, c := range []struct {
		before time.Time
		want   int64
	}{{now, 0}, {now.Add(time.Second), 3}, {now.Add(time.Second), 0}} {
		if n, err := s.store.Prune(s.ctx, c.before); n != c.want || err != nil {
			t.Errorf("%d pruned, want %d: %v", n, c.want, err)
		}
	}
	s.get(open.ID)
}
