//go:build linux

package torture

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Kinds of faults, as they are counted in the report. Faults of the network have the name of
// the lie or of the broken connection.
const (
	faultKill            = "kill -9"
	faultPowerCut        = "power cut of a host"
	faultFreeze          = "freeze"
	faultCrash           = "kill -9 of the primary database"
	faultFailover        = "failover to the standby"
	faultFreezeDatabase  = "freeze of the primary database"
	faultBackupJournal   = "backup of a journal"
	faultRestoreJournal  = "restore of a journal"
	faultBackupDatabase  = "backup of the database"
	faultRestoreDatabase = "restore of the database"
	faultFullDisk        = "disk full"
	faultClock           = "wrong clock"
)

// Fault is one step of a plan.
type Fault struct {
	Kind   string        `json:"kind"`
	Target int           `json:"target"`          // index of the server or of the link
	After  time.Duration `json:"after"`           // pause before it, as nanoseconds
	For    time.Duration `json:"for"`             // how long it lasts
	Share  float64       `json:"share,omitempty"` // of the requests that a lie concerns
	Bytes  int64         `json:"bytes,omitempty"` // before a cut

	Offset  time.Duration `json:"offset,omitempty"`  // of a clock
	AtStart bool          `json:"atStart,omitempty"` // the server starts with it
}

func (f Fault) String() string { return fmt.Sprintf("%s of %d for %v", f.Kind, f.Target, f.For) }

// Plan is what happens to a cluster: lanes of faults that run at the same time, each in its
// order.
type Plan struct {
	Brokers  []Fault   `json:"brokers"`
	Hosts    []Fault   `json:"hosts"`
	Database []Fault   `json:"database"`
	Networks [][]Fault `json:"networks"`
}

// newPlan is a function of its arguments: a seed always means the same plan.
func newPlan(seed uint64, p Profile) Plan {
	rng := rand.New(rand.NewPCG(seed, 1))
	plan := Plan{
		Brokers:  append(serverFaults(rng, faultKill, p.Kills/2), serverFaults(rng, faultFreeze, p.Freezes/3)...),
		Hosts:    append(serverFaults(rng, faultKill, p.Kills-p.Kills/2), serverFaults(rng, faultFreeze, p.Freezes/3)...),
		Database: append(serverFaults(rng, faultCrash, p.Crashes), serverFaults(rng, faultFailover, p.Failovers)...),
	}
	plan.Database = append(plan.Database, serverFaults(rng, faultFreezeDatabase, p.Freezes-2*(p.Freezes/3))...)
	plan.Hosts = append(plan.Hosts, fullDisks(rng, p.FullDisks)...)
	plan.Hosts = append(plan.Hosts, serverFaults(rng, faultPowerCut, p.PowerCuts)...)
	for i := range plan.Hosts {
		plan.Hosts[i].Target += firstHost
	}
	for _, f := range clockFaults(rng, p.Clocks) {
		if f.Target < firstHost {
			plan.Brokers = append(plan.Brokers, f)
		} else {
			plan.Hosts = append(plan.Hosts, f)
		}
	}
	for _, lane := range [][]Fault{plan.Brokers, plan.Hosts, plan.Database} {
		rng.Shuffle(len(lane), func(i, j int) { lane[i], lane[j] = lane[j], lane[i] })
	}
	// What a first start wrote is at risk for half a minute: then the kernel writes it by itself.
	if i := slices.IndexFunc(plan.Hosts, func(f Fault) bool { return f.Kind == faultPowerCut }); i > 0 {
		plan.Hosts[0], plan.Hosts[i] = plan.Hosts[i], plan.Hosts[0]
	}
	plan.Hosts = withRestores(rng, plan.Hosts, firstHost, faultBackupJournal, faultRestoreJournal, p.JournalRestores)
	plan.Database = withRestores(rng, plan.Database, 0, faultBackupDatabase, faultRestoreDatabase, p.DatabaseRestores)
	for lane := range 2 {
		n := p.NetworkFaults / 2
		if lane == 1 {
			n = p.NetworkFaults - n
		}
		plan.Networks = append(plan.Networks, networkFaults(rng, n, lane))
	}
	return plan
}

// firstHost is the target of the first host: servers are two brokers and two hosts.
const firstHost = 2

func between(rng *rand.Rand, from, to int) time.Duration {
	return time.Duration(from+rng.IntN(to-from)) * time.Millisecond
}

func serverFaults(rng *rand.Rand, kind string, n int) []Fault {
	var all []Fault
	for range n {
		f := Fault{Kind: kind, Target: rng.IntN(2), After: between(rng, 100, 2500), For: between(rng, 0, 400)}
		switch {
		case kind == faultFreeze || kind == faultFreezeDatabase:
			f.For = between(rng, 500, 8000)
		case rng.IntN(6) == 0: // a server that stays away for a while
			f.For = between(rng, 1000, 5000)
		}
		all = append(all, f)
	}
	return all
}

func fullDisks(rng *rand.Rand, n int) []Fault {
	var all []Fault
	for range n {
		all = append(all, Fault{
			Kind: faultFullDisk, Target: rng.IntN(2), After: between(rng, 100, 2000), For: between(rng, 1000, 5000),
		})
	}
	return all
}

// maxClock is how far a clock is off at most.
const maxClock = 2 * 365 * 24 * time.Hour

// clockFaults are all of one server. Each amount from a second to the longest is as likely as ten times of it.
func clockFaults(rng *rand.Rand, n int) []Fault {
	if n == 0 {
		return nil
	}
	var all []Fault
	target := rng.IntN(2 * firstHost)
	for range n {
		seconds := math.Pow(maxClock.Seconds(), rng.Float64())
		offset := time.Duration(seconds) * time.Second
		if rng.IntN(2) == 0 {
			offset = -offset
		}
		all = append(all, Fault{
			Kind: faultClock, Target: target, After: between(rng, 100, 1500), For: between(rng, 500, 4000),
			Offset: offset, AtStart: rng.IntN(3) == 0,
		})
	}
	return all
}

// withRestores puts n pairs of a backup and its restore at random places of a lane. A backup
// comes before its restore, and after the restore before.
func withRestores(rng *rand.Rand, lane []Fault, first int, backup, restore string, n int) []Fault {
	if n == 0 {
		return lane
	}
	var out []Fault
	for i := range n {
		part := lane[len(lane)*i/n : len(lane)*(i+1)/n]
		target, from := first+rng.IntN(2), rng.IntN(len(part)+1)
		to := from + rng.IntN(len(part)-from+1)
		out = append(out, part[:from]...)
		out = append(out, Fault{Kind: backup, Target: target, After: between(rng, 100, 1500)})
		out = append(out, part[from:to]...)
		out = append(out, Fault{Kind: restore, Target: target, After: between(rng, 1000, 4000), For: between(rng, 0, 1000)})
		out = append(out, part[to:]...)
	}
	return out
}

// networkFaults makes faults of the links of a lane: no two lanes share a link, because a link
// has one fault at a time.
func networkFaults(rng *rand.Rand, n, lane int) []Fault {
	var all []Fault
	for range n {
		f := Fault{
			Target: rng.IntN(linkCount/2)*2 + lane, After: between(rng, 50, 900), For: between(rng, 100, 1200),
			Share: 0.3 + 0.7*rng.Float64(), Bytes: int64(rng.IntN(3000)),
		}
		if kinds := lies(); rng.IntN(3) > 0 && f.Target < linkCount-len(pair{}.proxies) { // a database's proxy cannot lie
			f.Kind = kinds[rng.IntN(len(kinds))]
		} else {
			f.Kind = breaks[rng.IntN(len(breaks))].name
		}
		all = append(all, f)
	}
	return all
}
