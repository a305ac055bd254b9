package outboundtest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"bellhop/protocol"
	"bellhop/webhook/outbound"
)

func testClaim(t *testing.T, s suite) {
	e := s.endpoint("https://a.example")
	a, b, future := s.insert(e, "", 0), s.insert(e, "", 0), s.insert(e, "", time.Second)
	taken := s.claim(now, "l1", a.ID, b.ID, future.ID, "none")
	s.same(ids(taken), []string{a.ID, b.ID})
	if d := s.get(a.ID); d.Lease != "l1" || !d.NextAt.Equal(now.Add(time.Minute)) || !d.AttemptedAt.Equal(now) ||
		taken[0].Lease != "l1" {
		t.Errorf("%+v", d)
	}
	s.same(ids(s.claim(now, "l2", a.ID, b.ID)), []string{})
	held, err := s.store.Renew(s.ctx, map[string]string{a.ID: "l1", b.ID: "other", future.ID: "l1"}, now.Add(time.Hour))
	s.must(err)
	s.same(held, []string{a.ID})
	lapsed := s.claim(now.Add(2*time.Minute), "l3", a.ID, b.ID)
	s.same(ids(lapsed), []string{b.ID})
	if d := s.get(b.ID); d.Attempts != 1 || len(d.Log) != 1 || d.Log[0].Error != outbound.FaultAbandoned ||
		!d.Log[0].At.Equal(now) || lapsed[0].Attempts != 1 {
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
	stores := []outbound.Store{s.store, s.site.OpenAgain(t), s.site.OpenAgain(t)}
	var mu sync.Mutex
	taken := map[string]int{}
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			list, err := stores[i%3].Claim(s.ctx, all, outbound.Claim{
				Lease: fmt.Sprint(i), Now: now, Held: now, Until: now.Add(time.Minute),
			})
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
	attempt := &outbound.Attempt{
		DeliveryID: d.ID, Number: 2, At: now, Duration: 3 * time.Millisecond, Status: 500, Answer: []byte{0, 255},
	}
	for _, err := range []error{
		s.store.SaveBody(s.ctx, &first, []byte("x")),
		s.store.Record(s.ctx, outbound.Conclusion{Delivery: &first, Attempt: attempt}),
	} {
		if !errors.Is(err, outbound.ErrLeaseLost) {
			t.Error(err)
		}
	}
	s.must(s.store.SaveBody(s.ctx, &second, []byte("body")))
	second.Attempts, second.NextAt, second.AttemptedAt = 2, now.Add(2*time.Minute), &now
	s.must(s.store.Record(s.ctx, outbound.Conclusion{Delivery: &second, Attempt: attempt}))
	got := s.get(d.ID)
	if got.State != outbound.Queued || got.InFlight() || got.Attempts != 2 || len(got.Log) != 2 ||
		fmt.Sprint(got.Log[1]) != fmt.Sprint(*attempt) {
		t.Errorf("%+v", got)
	}
	if err := s.store.Record(s.ctx, outbound.Conclusion{Delivery: &second}); !errors.Is(err, outbound.ErrLeaseLost) {
		t.Errorf("recorded twice: %v", err)
	}
	if third := s.claim(now.Add(2*time.Minute), "l3", d.ID); len(third) != 1 || string(third[0].Body) != "body" {
		t.Errorf("%+v", third)
	}
}

// A group records every delivery whose claim is held, and leaves the others alone.
func testRecordAll(t *testing.T, s suite) {
	e := s.endpoint("https://a.example")
	var all []outbound.Conclusion
	for i := range 5 {
		d := s.claim(now, fmt.Sprint("l", i), s.insert(e, "c", 0).ID)
		if i > 0 { // it was not claimed, because an earlier delivery of the order is open
			d = s.claim(now, fmt.Sprint("l", i), s.insert(e, "", 0).ID)
		}
		all = append(all, outbound.Conclusion{Delivery: &d[0]})
	}
	delivered, retried, expired, lost, gone := all[0], all[1], all[2], all[3], all[4]
	end := now.Add(time.Second)
	delivered.State, delivered.FinishedAt, delivered.NextAt = outbound.Delivered, &end, end
	delivered.Attempts, delivered.AttemptedAt = 1, &now
	all[0].Attempt = &outbound.Attempt{
		DeliveryID: delivered.ID, Number: 1, At: now, Duration: 7 * time.Millisecond,
		Status: 204, Answer: []byte(`\"{},\x00`),
	}
	retried.NextAt, retried.Attempts, retried.AttemptedAt = now.Add(time.Hour), 1, &now
	all[1].Attempt = &outbound.Attempt{DeliveryID: retried.ID, Number: 1, At: now, Error: outbound.FaultTimeout}
	expired.State, expired.Reason, expired.FinishedAt = outbound.Expired, outbound.ReasonExpired, &end
	s.same(ids(s.claim(now.Add(time.Hour), "other", lost.ID)), []string{lost.ID})
	lost.State, lost.FinishedAt = outbound.Delivered, &end
	gone.ID = protocol.NewID()
	held, err := s.store.RecordAll(s.ctx, all)
	s.must(err)
	if !slices.Equal(held, []bool{true, true, true, false, false}) {
		t.Fatal(held)
	}
	for i, c := range all[:3] {
		got, want := s.get(c.ID), *c.Delivery
		want.Lease, want.Log = "", nil
		if c.Attempt != nil {
			want.Log = []outbound.Attempt{*c.Attempt}
		}
		if fmt.Sprintf("%+v", *got) != fmt.Sprintf("%+v", want) {
			t.Errorf("%d:\n%+v\n%+v", i, *got, want)
		}
	}
	if d := s.get(lost.ID); d.State != outbound.Queued || d.Lease != "other" {
		t.Errorf("%+v", d)
	}
	if held, err := s.store.RecordAll(s.ctx, all); err != nil || slices.Contains(held, true) {
		t.Errorf("recorded twice: %v, %v", held, err)
	}
}

// Several workers renew and conclude the same claims in opposite orders.
func testRenew(t *testing.T, s suite) {
	e := s.endpoint("https://a.example")
	claims := map[string]string{"none": "l"}
	var all []string
	for range 40 {
		id := s.insert(e, "", 0).ID
		all, claims[id] = append(all, id), "l"
	}
	taken := s.claim(now, "l", all...)
	slices.Reverse(taken)
	var ends []outbound.Conclusion
	for i := range taken {
		ends = append(ends, outbound.Conclusion{Delivery: &taken[i]})
	}
	again := s.site.OpenAgain(t)
	var both sync.WaitGroup
	both.Go(func() {
		for range 10 {
			if _, err := s.store.Renew(s.ctx, claims, now.Add(time.Hour)); err != nil {
				t.Error(err)
			}
		}
	})
	for i := range 10 {
		if held, err := again.RecordAll(s.ctx, ends[i*4:i*4+4]); err != nil || slices.Contains(held, false) {
			t.Error(held, err)
		}
	}
	both.Wait()
	held, err := s.store.Renew(s.ctx, claims, now.Add(time.Hour))
	s.must(err)
	s.same(held, nil)
}
