//go:build linux

package torture

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/internal/pgserver"
	"bellhop/internal/testenv/faultproxy"
)

const databaseName = "postgres"

// stateLimit bounds the wait for the kernel to stop or end a process.
const stateLimit = 2 * time.Minute

// pair is a primary and its synchronous standby, each behind a proxy. A commit that the primary
// confirmed is on the standby, so a failover loses nothing.
type pair struct {
	mu      sync.RWMutex // serialises everything that changes a server
	servers [2]*pgserver.Server
	proxies [2]*faultproxy.Proxy
	primary int

	backup   string // a base backup, "" = none
	restores int

	restored atomic.Int64 // counts the begin and the end of each restore
	direct   [2]*sql.DB   // past the proxies
}

// replicationSettings let a standby find the primary again soon after either was restarted.
var replicationSettings = []string{"wal_keep_size=512MB", "wal_retrieve_retry_interval=200ms", "max_wal_senders=8"}

func startPair(ctx context.Context) (*pair, error) {
	p := &pair{}
	for i := range p.servers {
		port, err := freePort(ctx)
		if err != nil {
			return p, err
		}
		if p.servers[i], err = pgserver.New(pgserver.TempDir, port); err != nil {
			return p, err
		}
		if p.direct[i], err = sql.Open("pgx", p.servers[i].SocketURL(databaseName)); err != nil {
			return p, err
		}
		if p.proxies[i], err = faultproxy.New("127.0.0.1:" + strconv.Itoa(port)); err != nil {
			return p, err
		}
	}
	if err := p.servers[0].Init(); err != nil {
		return p, err
	}
	if err := p.servers[0].Start(replicationSettings...); err != nil {
		return p, err
	}
	return p, p.rebuildStandby(ctx)
}

func (p *pair) close() error {
	var err error
	for i, s := range p.servers {
		if p.proxies[i] != nil {
			p.proxies[i].Close()
		}
		if p.direct[i] != nil {
			err = errors.Join(err, p.direct[i].Close())
		}
		if s != nil {
			err = errors.Join(err, s.Stop(false), os.RemoveAll(s.Dir()))
		}
	}
	return err
}

// url names both servers, so that a broker finds the one that takes writes.
func (p *pair) url() string {
	return fmt.Sprintf("postgres://postgres@%s,%s/%s?sslmode=disable&target_session_attrs=read-write&connect_timeout=3",
		p.proxies[0].Addr(), p.proxies[1].Addr(), databaseName)
}

// directURL is the primary's, past the proxy.
func (p *pair) directURL() string { return p.servers[p.primary].SocketURL(databaseName) }

// rebuildStandby copies the primary into the other server's folder and makes it the synchronous
// standby. Until the copy streams, the primary commits alone.
func (p *pair) rebuildStandby(ctx context.Context) error {
	primary, standby := p.servers[p.primary], p.servers[1-p.primary]
	if err := standby.Stop(true); err != nil {
		return err
	}
	if err := p.commitAlone(true); err != nil {
		return err
	}
	if err := copyCluster(primary, standby, standby.Data(), "-R"); err != nil {
		return err
	}
	if err := standby.Start(replicationSettings...); err != nil {
		return err
	}
	if err := p.commitAlone(false); err != nil {
		return err
	}
	return p.inSync(ctx)
}

// copyCluster writes a base backup of a running server to a folder of another one's.
func copyCluster(from, owner *pgserver.Server, to string, extra ...string) error {
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	return from.BaseBackup(owner, to, extra...)
}

// commitAlone decides whether a commit of the primary waits for the standby.
func (p *pair) commitAlone(alone bool) error {
	names := "*"
	if alone {
		names = ""
	}
	primary := p.servers[p.primary]
	if err := primary.Exec("ALTER SYSTEM SET synchronous_standby_names = '" + names + "'"); err != nil {
		return err
	}
	return primary.Exec("SELECT pg_reload_conf()")
}

// inSync waits until the standby is the synchronous one.
func (p *pair) inSync(ctx context.Context) error {
	return eventually(ctx, startLimit, "the standby is in sync", func(ctx context.Context) (bool, error) {
		n, err := queryInt(ctx, p.directURL(),
			"SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = 'sync'")
		return err == nil && n == 1, nil
	})
}

func queryInt(ctx context.Context, url, query string) (n int, err error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return 0, err
	}
	err = conn.QueryRow(ctx, query).Scan(&n)
	return n, errors.Join(err, conn.Close(ctx))
}

// lookupLimit bounds how long an answer of a broker is held up.
const lookupLimit = 5 * time.Second

// missing returns which of a task's events the primary does not have. It does not know (false) while a
// fault holds the database, or when a restore has begun or ended since the count before.
func (p *pair) missing(task string, ids []string, before int64) (missing []string, known bool) {
	if !p.mu.TryRLock() {
		return nil, false
	}
	defer p.mu.RUnlock()
	if p.restored.Load() != before {
		return nil, false
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookupLimit)
	defer cancel()
	rows, err := p.direct[p.primary].QueryContext(ctx, "SELECT id FROM unnest($2::text[]) AS id WHERE NOT EXISTS "+
		"(SELECT 1 FROM events WHERE task_id = $1 AND event_id = id)", task, ids)
	if err != nil {
		return nil, false
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, false
		}
		missing = append(missing, id)
	}
	return missing, rows.Err() == nil
}

// crash kills the primary with SIGKILL and starts it again after the pause.
func (p *pair) crash(ctx context.Context, down time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.killPrimary(); err != nil {
		return err
	}
	pause(ctx, down)
	return p.servers[p.primary].Start(replicationSettings...)
}

func (p *pair) killPrimary() error {
	pids, err := p.servers[p.primary].Processes()
	if err != nil {
		return err
	}
	// A process that the postmaster starts meanwhile would outlive it, and hold the shared memory
	// without which the next start fails.
	if err := errors.Join(signalAll(pids[:1], syscall.SIGSTOP), inState(pids[0], "T")); err != nil {
		return err
	}
	if pids, err = p.servers[p.primary].Processes(); err != nil {
		return err
	}
	err = errors.Join(signalAll(pids, syscall.SIGKILL), p.servers[p.primary].Stop(true))
	for _, pid := range pids {
		err = errors.Join(err, inState(pid, "ZX"))
	}
	return err
}

// inState waits until a process is in one of the states of proc(5), or is gone.
func inState(pid int, states string) error {
	for end := time.Now().Add(stateLimit); ; time.Sleep(5 * time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return nil //nolint:nilerr // it is gone
		}
		_, rest, _ := strings.Cut(string(stat), ") ") // the program's name may have spaces
		if rest != "" && strings.Contains(states, rest[:1]) {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("process %d of PostgreSQL is in state %.1s for %s, want one of %s", pid, rest, stateLimit, states)
		}
	}
}

// failover kills the primary, promotes the standby and makes the killed server its standby.
func (p *pair) failover(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.inSync(ctx); err != nil {
		return err
	}
	if err := p.killPrimary(); err != nil {
		return err
	}
	p.primary = 1 - p.primary
	if err := p.servers[p.primary].Exec("SELECT pg_promote(true, 60)"); err != nil {
		return err
	}
	return p.rebuildStandby(ctx)
}

// backUp takes a base backup, as pg_basebackup does in a nightly job.
func (p *pair) backUp(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	primary := p.servers[p.primary]
	p.backup = filepath.Join(primary.Dir(), "backup")
	return copyCluster(primary, primary, p.backup)
}

// restore replaces the primary's files by the backup and makes a new standby from them.
func (p *pair) restore(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.restores++
	p.restored.Add(1)
	defer p.restored.Add(1)
	if err := p.killPrimary(); err != nil {
		return err
	}
	primary := p.servers[p.primary]
	if err := os.RemoveAll(primary.Data()); err != nil {
		return err
	}
	if err := primary.Copy(p.backup, primary.Data()); err != nil {
		return err
	}
	if err := primary.Start(replicationSettings...); err != nil {
		return err
	}
	return p.rebuildStandby(ctx)
}

// freeze stops all processes of the primary for a while; connections to it stay open.
func (p *pair) freeze(ctx context.Context, d time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	pids, err := p.servers[p.primary].Processes()
	if err != nil {
		return err
	}
	err = signalAll(pids, syscall.SIGSTOP)
	pause(ctx, d)
	return errors.Join(err, signalAll(pids, syscall.SIGCONT))
}

// signalAll signals processes; one that has ended meanwhile is no error.
func signalAll(pids []int, s syscall.Signal) error {
	var all error
	for _, pid := range pids {
		if err := syscall.Kill(pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
			all = errors.Join(all, err)
		}
	}
	return all
}
