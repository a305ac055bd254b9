package outbound

import (
	"context"
	"time"

	"bellhop/protocol"
)

const (
	minWindow    = 64 // due deliveries that one claim reads
	maxWindow    = 512
	hostsAtATime = 64
	hostsVisited = 512              // hosts with queued deliveries, due or not, that one claim looks at
	parkFor      = 30 * time.Second // the longest a successor waits if Advance was lost
)

// claim leases due deliveries and starts sending them. progress reports that another claim
// right away may find more. Between two walks through the hosts, rest × the duration of the
// last walk must pass.
func (w *Worker) claim(ctx context.Context, rest int) (progress bool, err error) {
	w.claiming.Lock()
	defer w.claiming.Unlock()
	free := w.o.MaxInFlight - w.inFlight.count()
	if free <= 0 {
		return false, nil
	}
	now := w.nowUTC()
	window := min(max(4*free, minWindow), maxWindow)
	picked := selection{now: now, held: w.heldUTC(), free: free, perHost: w.o.PerHost, busy: w.inFlight.hosts()}
	full, more := true, false
	// While the hosts of the first window are busy, reading that window again gives nothing.
	if w.hostsBusy = w.hostsBusy && len(picked.atLimit()) > 0; !w.hostsBusy {
		due, err := w.store.Candidates(ctx, now, window)
		if err != nil {
			return false, err
		}
		picked.add(due)
		full = len(due) == window
		w.hostsBusy = full && len(picked.ids)+len(picked.blocked) == 0
	}
	if full && picked.free > 0 {
		if more, err = w.claimPastBusyHosts(ctx, &picked, rest); err != nil {
			return false, err
		}
	}
	if len(picked.blocked) > 0 {
		if err := w.store.Park(ctx, picked.blocked, now, now.Add(parkFor)); err != nil {
			return false, err
		}
	}
	if len(picked.ids) > 0 {
		if err := w.leaseAndSend(ctx, picked.ids, now); err != nil {
			return false, err
		}
	}
	return more || full && len(picked.ids)+len(picked.blocked) > 0, nil
}

// claimPastBusyHosts adds candidates for other hosts when busy hosts fill the window: the
// latest ones, and the first ones of each host. Its cost does not depend on how many
// deliveries wait for a busy host. more reports that candidates may be left.
func (w *Worker) claimPastBusyHosts(ctx context.Context, c *selection, rest int) (more bool, err error) {
	busy := c.atLimit()
	if len(busy) == 0 {
		return false, nil
	}
	latest, err := w.store.LatestCandidates(ctx, c.now, minWindow)
	if err != nil {
		return false, err
	}
	c.add(latest)
	began := time.Now()
	if c.free == 0 || began.Sub(w.walked) < time.Duration(rest)*w.walk {
		return true, nil
	}
	more, err = w.addByHost(ctx, c, c.atLimit())
	w.walked, w.walk = time.Now(), time.Since(began)
	return more, err
}

// addByHost adds the first deliveries of each host that is not busy. One call walks through
// some of the hosts; the next call continues behind them. more reports that hosts are left.
func (w *Worker) addByHost(ctx context.Context, c *selection, busy []string) (more bool, err error) {
	walk := HostWalk{After: w.after, Skip: busy, Limit: min(c.free, hostsAtATime), Visited: hostsVisited}
	hosts, next, err := w.store.DueHosts(ctx, c.now, walk)
	if err != nil {
		return false, err
	}
	w.after = next
	more = next != "" || walk.After != "" // a walk that began behind a host has not seen the hosts before
	if len(hosts) == 0 {
		return more, nil
	}
	due, err := w.store.CandidatesOf(ctx, c.now, hosts, c.perHost)
	if err != nil {
		return false, err
	}
	c.add(due)
	return more, nil
}

// selection picks deliveries to claim among candidates, within the limits per host and in
// total.
type selection struct {
	now     time.Time
	held    time.Time      // by which deliveries expire
	free    int            // requests that may still be started
	perHost int            // limit of the requests to one host
	busy    map[string]int // requests in flight or picked, by host
	ids     []string       // picked
	blocked []string       // to be parked behind an earlier delivery
	seen    map[string]bool
}

// atLimit returns the hosts that cannot take another request now.
func (c *selection) atLimit() []string {
	var hosts []string
	for host, n := range c.busy {
		if n >= c.perHost {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

func (c *selection) add(due []Delivery) {
	if c.seen == nil {
		c.seen = make(map[string]bool, len(due))
	}
	for i := range due {
		d := &due[i]
		if c.seen[d.ID] {
			continue
		}
		c.seen[d.ID] = true
		switch expired := !c.held.Before(d.ExpiresAt); {
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

// leaseAndSend leases the deliveries and starts sending those that no other worker leased first.
func (w *Worker) leaseAndSend(ctx context.Context, ids []string, now time.Time) error {
	claim := Claim{Lease: protocol.NewID(), Now: now, Held: w.heldUTC(), Until: now.Add(w.o.Lease)}
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
		if e := endpoints[d.EndpointID]; e != nil { // otherwise the endpoint was deleted, and d with it
			w.inFlight.start(context.WithoutCancel(ctx), d, func(ctx context.Context) { w.deliver(ctx, d, e) })
		}
	}
	return nil
}
