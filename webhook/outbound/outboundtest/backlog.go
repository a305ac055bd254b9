package outboundtest

import (
	"testing"
	"time"

	"bellhop/protocol"
	"bellhop/webhook/outbound"
)

func testBacklog(t *testing.T, s suite) {
	t.Helper()
	expect := func(want outbound.Backlog) {
		t.Helper()
		got, err := s.store.Backlog(s.ctx)
		s.must(err)
		if got.Queued != want.Queued || got.Held != want.Held || !got.Oldest.Equal(want.Oldest) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	insert := func(e *outbound.Endpoint, age time.Duration) *outbound.Delivery {
		t.Helper()
		d := &outbound.Delivery{
			ID: protocol.NewID(), EndpointID: e.ID, UserID: s.user, Kind: e.Kind, Host: e.Host(), MessageID: protocol.NewID(),
			Event: "x", State: outbound.Queued, NextAt: now.Add(age), ExpiresAt: now.Add(time.Hour), CreatedAt: now.Add(-age),
		}
		_, err := s.store.Insert(s.ctx, d)
		s.must(err)
		return d
	}
	expect(outbound.Backlog{})
	one, other := s.endpoint("https://one.example"), s.endpoint("https://other.example")
	insert(one, time.Second)
	oldest := insert(one, time.Minute)
	insert(one, 0)
	insert(other, time.Hour)
	s.must(s.store.Hold(s.ctx, other.ID))
	expect(outbound.Backlog{Queued: 3, Held: 1, Oldest: now.Add(-time.Minute)})
	s.finish(oldest, outbound.Delivered)
	expect(outbound.Backlog{Queued: 2, Held: 1, Oldest: now.Add(-time.Second)})
}
