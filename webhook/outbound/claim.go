package outbound

import (
	"context"
	"time"

	"bellhop/protocol"
)

const (
	minWindow    = 64
	maxWindow    = 512
	depth        = 4096
	hostsAtATime = 64
	parked       = 30 * time.Second // the longest a successor waits if nobody advances it
)

// claim takes what is due and may be sent now. progress says that looking again
// at once may find more.
func (w *Worker) claim(ctx context.Context) (progress bool, err error) {
	w.claiming.Lock()
	defer w.claiming.Unlock()
	free := w.o.MaxInFlight - w.flights.count()
	if free <= 0 {
		return false, nil
	}
	now := w.at()
	window := min(max(4*free, minWindow), maxWindow)
	choice := choice{now: now, free: free, perHost: w.o.PerHost, busy: w.flights.hosts()}
	full, more := true, false
	if w.crowded = w.crowded && len(choice.atLimit()) > 0; !w.crowded {
		due, err := w.store.Candidates(ctx, now, window)
		if err != nil {
			return false, err
		}
		choice.add(due)
		full = len(due) == window
		w.crowded = full && len(choice.ids)+len(choice.blocked) == 0
	}
	if full && choice.free > 0 {
		if more, err = w.further(ctx, &choice, window); err != nil {
			return false, err
		}
	}
	if len(choice.blocked) > 0 {
		if err := w.store.Park(ctx, choice.blocked, now, now.Add(parked)); err != nil {
			return false, err
		}
	}
	if len(choice.ids) > 0 {
		if err := w.take(ctx, choice.ids, now); err != nil {
			return false, err
		}
	}
	return more || full && len(choice.ids)+len(choice.blocked) > 0, nil
}

// further looks past a window full of deliveries that have to wait for their
// hosts. more says that it has not seen everything.
func (w *Worker) further(ctx context.Context, c *choice, window int) (more bool, err error) {
	busy := c.atLimit()
	if len(busy) == 0 {
		return false, nil
	}
	due, more, err := w.store.OtherCandidates(ctx, c.now, busy, w.depth, window)
	if err != nil {
		return false, err
	}
	c.add(due)
	if c.free == 0 || !more {
		return false, nil
	}
	return w.byHost(ctx, c)
}

// byHost is for a backlog too long to look past: some hosts each time.
func (w *Worker) byHost(ctx context.Context, c *choice) (more bool, err error) {
	hosts, err := w.store.DueHosts(ctx, c.now, w.after, hostsAtATime)
	if err != nil {
		return false, err
	}
	w.after = ""
	if len(hosts) == hostsAtATime {
		w.after, more = hosts[len(hosts)-1], true
	}
	open := hosts[:0]
	for _, host := range hosts {
		if c.busy[host] < c.perHost {
			open = append(open, host)
		}
	}
	if len(open) == 0 {
		return more, nil
	}
	due, err := w.store.CandidatesOf(ctx, c.now, open, c.perHost)
	if err != nil {
		return false, err
	}
	c.add(due)
	return more, nil
}

// choice picks among candidates.
type choice struct {
	now     time.Time
	free    int
	perHost int
	busy    map[string]int
	ids     []string
	blocked []string
	seen    map[string]bool
}

// atLimit are the hosts that can be sent nothing more at the moment.
func (c *choice) atLimit() []string {
	var hosts []string
	for host, n := range c.busy {
		if n >= c.perHost {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

func (c *choice) add(due []Delivery) {
	if c.seen == nil {
		c.seen = make(map[string]bool, len(due))
	}
	for i := range due {
		d := &due[i]
		if c.seen[d.ID] {
			continue
		}
		c.seen[d.ID] = true
		switch expired := !c.now.Before(d.ExpiresAt); {
		case d.Blocked && !expired:
			c.blocked = append(c.blocked, d.ID)
		case c.free == 0, c.busy[d.Host] >= c.perHost && !expired:
		default:
			c.ids = append(c.ids, d.ID)
			c.busy[d.Host]++
			c.free--
		}
	}
}

// take leases deliveries and sends them.
func (w *Worker) take(ctx context.Context, ids []string, now time.Time) error {
	claim := Claim{Lease: protocol.NewID(), Now: now, Until: now.Add(w.o.Lease)}
	var taken []Delivery
	var endpoints map[string]*Endpoint
	err := w.store.Write(ctx, func(ctx context.Context) (err error) {
		if taken, err = w.store.Claim(ctx, ids, claim); err != nil || len(taken) == 0 {
			return err
		}
		endpointIDs := make([]string, len(taken))
		for i := range taken {
			endpointIDs[i] = taken[i].EndpointID
		}
		endpoints, err = w.store.EndpointsByID(ctx, endpointIDs)
		return err
	})
	if err != nil {
		return err
	}
	for i := range taken {
		d := &taken[i]
		if e := endpoints[d.EndpointID]; e != nil { // else it was deleted, and d with it
			w.flights.start(context.WithoutCancel(ctx), d, func(ctx context.Context) { w.deliver(ctx, d, e) })
		}
	}
	return nil
}
