package outbound_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"bellhop/webhook/outbound"
	"bellhop/webhook/outbound/outboundtest"
)

// refusing is a store that cannot record a certain message.
type refusing struct {
	outbound.Store

	bad     string
	mu      sync.Mutex
	largest int // size of the largest group with the message
}

func (s *refusing) RecordAll(ctx context.Context, all []outbound.Conclusion) ([]bool, error) {
	if slices.ContainsFunc(all, func(c outbound.Conclusion) bool { return c.MessageID == s.bad }) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.largest = max(s.largest, len(all))
		return nil, errors.New("no")
	}
	return s.Store.RecordAll(ctx, all)
}

// Deliveries that end together are recorded together. If one of them cannot be recorded, the
// others are not sent again, and their successors are sent.
func TestOneOfAGroupThatCannotBeRecordedHarmsNoOther(t *testing.T) {
	t.Parallel()
	outboundtest.Databases(t, func(t *testing.T, site *outboundtest.Site) {
		store := &refusing{Store: site.Store, bad: "bad"}
		p := newKit(t, site)
		p.worker = p.process(store, func(o *outbound.WorkerOptions) {
			o.PerHost, o.Kinds = 64, map[string]outbound.Kind{agentKind: {Render: render}}
		})
		r := outboundtest.Receive(t, nil)
		e := p.endpoint(r.URL)
		var good []string
		bad := p.enqueue(e, "", "bad")[0]
		for round := 0; store.largest < 2; round++ {
			if round == 50 {
				t.Fatal("nothing was recorded together")
			}
			for i := range 20 {
				good = append(good, p.enqueue(e, fmt.Sprint("order ", i%10), fmt.Sprintf("good-%d-%d", round, i))...)
			}
			if round > 0 {
				p.next(bad) // its claim lapses
			} else {
				p.sweep()
			}
		}
		for _, id := range good {
			if got := p.state(id) + ", " + p.line(id); got != "delivered, 204" {
				t.Errorf("%s: %s", id, got)
			}
		}
		sent := map[string]int{}
		for _, q := range r.Requests() {
			sent[q.ID()]++
		}
		delete(sent, "bad")
		for id, n := range sent {
			if n != 1 {
				t.Errorf("%s was sent %d times", id, n)
			}
		}
		if len(sent) != len(good) {
			t.Errorf("%d of %d sent", len(sent), len(good))
		}
	})
}
