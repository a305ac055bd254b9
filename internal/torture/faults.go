//go:build linux

package torture

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"os"
	"sync"
	"time"

	"bellhop/internal/testenv/faultproxy"
)

// breaks are what a TCP proxy does to a link.
var breaks = []struct {
	name string
	mode func(Fault) faultproxy.Mode
}{
	{
		"connections delayed",
		func(f Fault) faultproxy.Mode { return faultproxy.Latency(time.Duration(f.Bytes/20) * time.Millisecond) },
	},
	{"connections cut", func(f Fault) faultproxy.Mode { return faultproxy.CutAfter(f.Bytes) }},
	{"connections cut in the request", func(f Fault) faultproxy.Mode { return faultproxy.CutRequestAfter(f.Bytes) }},
	{"connections cut in the answer", func(f Fault) faultproxy.Mode { return faultproxy.CutAnswerAfter(f.Bytes) }},
	{"connections reset", func(Fault) faultproxy.Mode { return faultproxy.Reset() }},
	{"connections refused", func(Fault) faultproxy.Mode { return faultproxy.Refuse() }},
	{"network silent", func(Fault) faultproxy.Mode { return faultproxy.BlackHole() }},
	{"a byte a second", func(Fault) faultproxy.Mode { return faultproxy.Trickle() }},
}

// link is one connection of the cluster: an HTTP gateway behind a TCP proxy, or a TCP proxy
// alone in front of a database.
type link struct {
	name    string
	tcp     *faultproxy.Proxy
	gateway *gateway // nil in front of a database
}

func (c *cluster) links() []link {
	var all []link
	for _, g := range c.gateways {
		all = append(all, link{g.name, g.tcp, g})
	}
	for i, proxy := range c.db.proxies {
		all = append(all, link{fmt.Sprintf("brokers to database %d", i+1), proxy, nil})
	}
	return all
}

// linkCount is len(links()) of every cluster.
const linkCount = 8

// executor carries out a plan.
type executor struct {
	c    *cluster
	note func(string) // progress

	mu     sync.Mutex
	counts map[string]int
	err    error
}

// run returns when every lane has ended and everything works again. The first error of a lane
// ends that lane.
func (e *executor) run(ctx context.Context, plan Plan) error {
	var lanes sync.WaitGroup
	for _, lane := range append([][]Fault{plan.Brokers, plan.Hosts, plan.Database}, plan.Networks...) {
		lanes.Go(func() {
			for _, f := range lane {
				if !pause(ctx, f.After) {
					return
				}
				if err := e.do(ctx, f); err != nil {
					e.fail(fmt.Errorf("%v: %w", f, err))
					return
				}
			}
		})
	}
	lanes.Wait()
	return errors.Join(e.err, ctx.Err())
}

func (e *executor) fail(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.err = errors.Join(e.err, err)
}

func (e *executor) count(kind string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.counts[kind]++
}

// counted returns the faults so far; lies are counted by the request.
func (e *executor) counted() map[string]int {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := maps.Clone(e.counts)
	for _, g := range e.c.gateways {
		for kind, n := range g.counted() {
			all[kind] += n
		}
	}
	return all
}

func (e *executor) do(ctx context.Context, f Fault) error {
	switch f.Kind {
	case faultFullDisk:
		if !canMount() {
			return nil // the report says so
		}
	case faultClock:
		if noClocks() != "" {
			return nil // the report says so
		}
	case faultKill, faultPowerCut, faultFreeze, faultCrash, faultFailover, faultFreezeDatabase,
		faultBackupJournal, faultRestoreJournal, faultBackupDatabase, faultRestoreDatabase:
	default:
		return e.network(ctx, f)
	}
	e.count(f.Kind)
	e.note(f.String())
	switch f.Kind {
	case faultCrash:
		return e.c.db.crash(ctx, f.For)
	case faultFailover:
		return e.c.db.failover(ctx)
	case faultFreezeDatabase:
		return e.c.db.freeze(ctx, f.For)
	case faultBackupDatabase:
		return e.c.db.backUp(ctx)
	case faultRestoreDatabase:
		return e.c.db.restore(ctx)
	}
	return e.server(ctx, f)
}

// server carries out a fault of a broker or a host: hosts have the higher targets.
func (e *executor) server(ctx context.Context, f Fault) error {
	s := e.c.servers()[f.Target]
	switch f.Kind {
	case faultKill:
		return restart(ctx, s, f.For)
	case faultClock:
		return wrongClock(ctx, s, f)
	case faultFreeze:
		if err := s.freeze(); err != nil {
			return err
		}
		pause(ctx, f.For)
		return s.thaw()
	}
	h := e.c.hosts[f.Target-len(e.c.brokers)]
	switch f.Kind {
	case faultPowerCut:
		return h.powerCut(ctx, f.For)
	case faultBackupJournal:
		return h.backUp(ctx)
	case faultRestoreJournal:
		return h.restore(ctx, f.For)
	}
	return h.fullDisk(ctx, f.For)
}

// wrongClock lets a server run, or start, with a wrong clock, and then sets it right.
func wrongClock(ctx context.Context, s *server, f Fault) error {
	s.clock = f.Offset
	err := s.stepClock()
	if f.AtStart {
		err = restart(ctx, s, 0)
	}
	if err != nil {
		return err
	}
	pause(ctx, f.For)
	s.clock = 0
	return errors.Join(s.stepClock(), s.ready(ctx))
}

func restart(ctx context.Context, s *server, down time.Duration) error {
	if err := s.kill(); err != nil {
		return err
	}
	pause(ctx, down)
	if err := s.start(); err != nil {
		return err
	}
	return s.ready(ctx)
}

// network breaks one link for a while.
func (e *executor) network(ctx context.Context, f Fault) error {
	l := e.c.links()[f.Target]
	for _, b := range breaks {
		if b.name == f.Kind {
			e.count(f.Kind)
			l.tcp.Set(b.mode(f))
			pause(ctx, f.For)
			l.tcp.Set(faultproxy.Pass())
			return nil
		}
	}
	l.gateway.set(f.Kind, f.Share)
	pause(ctx, f.For)
	l.gateway.set("", 0)
	return nil
}

// backUp copies the journal while the host runs, as an operator may.
func (h *agentHost) backUp(ctx context.Context) error {
	h.backup = h.disk.dir + ".backup"
	if err := os.RemoveAll(h.backup); err != nil {
		return err
	}
	db, err := sql.Open("sqlite3", "file:"+h.journal()+"?_pragma=busy_timeout(5000)")
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "VACUUM INTO ?", h.backup)
	return errors.Join(err, db.Close())
}

// restore replaces the journal by its backup. What only the replaced journal held is noted:
// events that were acknowledged must be in the database, the others are lost with their disk.
func (h *agentHost) restore(ctx context.Context, down time.Duration) error {
	if err := h.kill(); err != nil {
		return err
	}
	h.restores++
	replaced, err := readJournal(ctx, h.journal())
	if err != nil {
		return err
	}
	for id, j := range replaced {
		h.forget(id, j)
	}
	for _, suffix := range []string{"-wal", "-shm", "-journal"} {
		if err := os.RemoveAll(h.journal() + suffix); err != nil {
			return err
		}
	}
	content, err := os.ReadFile(h.backup)
	if err != nil {
		return err
	}
	if err := errors.Join(os.WriteFile(h.journal(), content, 0o600), h.disk.sync()); err != nil {
		return err
	}
	pause(ctx, down)
	if err := h.start(); err != nil {
		return err
	}
	return h.ready(ctx)
}

func (h *agentHost) forget(session string, j *journal) {
	for _, e := range j.events {
		if e.At.Epoch < j.acknowledged.Epoch || e.At.Epoch == j.acknowledged.Epoch && e.At.Seq <= j.acknowledged.Seq {
			h.forgotten[session] = append(h.forgotten[session], e)
		} else {
			h.unsent[session] = append(h.unsent[session], e)
		}
	}
}

// powerCut ends the host with its disk: what it has not synced is gone. It is stopped before, because
// no program sees the cut.
func (h *agentHost) powerCut(ctx context.Context, down time.Duration) error {
	if err := errors.Join(h.freeze(), h.disk.cutPower(), h.kill()); err != nil {
		return err
	}
	pause(ctx, down)
	if err := h.disk.remount(ctx); err != nil {
		return err
	}
	if err := h.start(); err != nil {
		return err
	}
	return h.ready(ctx)
}

// fullDisk fills the host's disk; in the middle of it the host is killed and has to start there.
func (h *agentHost) fullDisk(ctx context.Context, d time.Duration) error {
	if err := h.disk.fill(); err != nil {
		return err
	}
	pause(ctx, d/2)
	err := h.kill()
	if err == nil {
		err = h.start()
	}
	pause(ctx, d/2)
	if err := errors.Join(err, h.disk.empty()); err != nil {
		return err
	}
	return h.ready(ctx)
}
