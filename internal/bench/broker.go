package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/broker"
	"bellhop/client"
	"bellhop/crypto/seal"
	"bellhop/internal/app"
	"bellhop/internal/lazyregexp"
	"bellhop/internal/pgserver"
	"bellhop/protocol"
)

const hostPassword = "a password of the benchmark"

// loopback contains the addresses of the receivers of outbound webhooks.
var loopback = netip.MustParsePrefix("127.0.0.0/8")

// brokerProcess is `bellhop serve` on a database with one user and one host.
type brokerProcess struct {
	*child
	*client.Client
	url    string
	userID string
	hostID string
	sealer *seal.Sealer
}

// broker prepares the database of a cluster and serves it.
func (r *run) broker(pg *cluster, hostURL string) *brokerProcess {
	address, database, keyset := freeAddress(), pg.SocketURL("bellhop"), must(seal.Generate())
	p := &brokerProcess{url: "http://" + address, sealer: must(seal.Parse(keyset))}
	p.prepare(r.ctx, storeConfig(database, keyset, slog.New(slog.DiscardHandler)), hostURL)
	env := []string{
		"BELLHOP_LISTEN=" + address, "BELLHOP_DATABASE_URL=" + database, "BELLHOP_KEYSET=" + keyset,
		"BELLHOP_LOG_LEVEL=warn", "BELLHOP_OUTBOUND_ALLOW=" + loopback.String(),
	}
	if r.bellhop == "" {
		p.child = r.role("broker", env...)
	} else {
		p.child = r.child([]string{r.bellhop, "serve"}, env...)
	}
	r.onClose(func() error {
		p.CloseIdleConnections()
		return nil
	})
	r.ready(p.child, p.url)
	return p
}

// prepare creates the user and the host in the database.
func (p *brokerProcess) prepare(ctx context.Context, c app.StoreConfig, hostURL string) {
	admin := must(app.OpenAdmin(ctx, c))
	defer admin.Close()
	user := must(admin.Auth.CreateUser(ctx, "bench@example.com", "a password of the benchmark", true))
	p.userID = user.ID
	token := must(admin.Auth.CreateToken(ctx, &broker.APIToken{UserID: user.ID, Name: "bench", Kind: broker.TokenUser}))
	p.Client = client.New(p.url, client.Options{Token: token})
	p.hostID = must(admin.Hosts.Create(ctx, broker.Caller{UserID: user.ID, Admin: true},
		&broker.HostRequest{Name: "bench", URL: hostURL, Password: hostPassword})).ID
}

// tasks creates n tasks, several at a time.
func (r *run) tasks(p *brokerProcess, n int) []string {
	ids := make([]string, n)
	r.parallel(n, 8, func(ctx context.Context, i int) {
		ids[i] = must(p.CreateTask(ctx, &protocol.CreateTaskRequest{Title: fmt.Sprintf("task %d", i), HostID: p.hostID})).ID
	})
	return ids
}

// checkIns creates n tasks and checks in to each, as a frontend would.
func (r *run) checkIns(p *brokerProcess, n int) []*protocol.CheckInResponse {
	ids, out := r.tasks(p, n), make([]*protocol.CheckInResponse, n)
	r.parallel(n, 8, func(ctx context.Context, i int) {
		out[i] = must(p.CheckIn(ctx, &protocol.CheckInRequest{TaskID: ids[i], Message: "work"}))
	})
	return out
}

// openBroker opens what `bellhop serve` runs.
func openBroker(ctx context.Context) (server, error) {
	debug.SetGCPercent(400) // like the binary
	return app.OpenBroker(ctx, app.BrokerConfig{
		StoreConfig: storeConfig(os.Getenv("BELLHOP_DATABASE_URL"), os.Getenv("BELLHOP_KEYSET"), warnings()),
		Listen:      os.Getenv("BELLHOP_LISTEN"), OutboundAllow: []netip.Prefix{loopback},
	})
}

func storeConfig(url, keyset string, log *slog.Logger) app.StoreConfig {
	return app.StoreConfig{DatabaseURL: seal.NewSecret(url), Keyset: seal.NewSecret(keyset), Log: log}
}

func warnings() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// cluster is a separate PostgreSQL with the settings of a fresh installation, so
// commits are fully durable. Only the number of connections differs, and commits
// are stamped with their time.
type cluster struct {
	*pgserver.Server
	pid int // process id of the postmaster
}

// cluster starts PostgreSQL with an empty database for a broker.
func (r *run) cluster() *cluster {
	server := must(pgserver.New(pgserver.TempDir, 0))
	r.onClose(func() error { return errors.Join(server.Stop(false), os.RemoveAll(server.Dir())) })
	check(server.Init())
	check(server.Start("fsync=on", "full_page_writes=on", "shared_buffers=128MB", "track_commit_timestamp=on"))
	check(server.Exec("CREATE DATABASE bellhop"))
	return &cluster{Server: server, pid: must(server.Processes())[0]}
}

// connect returns a connection that closes at the end of the run.
func (r *run) connect(c *cluster, database string) *pgx.Conn {
	conn := must(pgx.Connect(r.ctx, c.SocketURL(database)))
	r.onClose(func() error { return conn.Close(context.WithoutCancel(r.ctx)) })
	return conn
}

// Rows of the reference measurement: about 300 bytes, and one unique index.
const (
	reference = `CREATE TABLE reference_rows (
		task bigint NOT NULL, id bigint NOT NULL, body text NOT NULL, at timestamptz NOT NULL, UNIQUE (task, id))`
	oneRow = `\set task random(1, 1024)
\set id random(1, 9000000000000000000)
INSERT INTO reference_rows VALUES (:task, :id, '%s', now());
`
)

// What pgbench prints.
var (
	printedRate  = lazyregexp.New(`(?m)^tps = ([0-9.]+)`)
	printedCount = lazyregexp.New(`(?m)^number of transactions actually processed: ([1-9][0-9]*)`)
)

// pgbench returns single-row transactions per second, and the CPU time of
// PostgreSQL per transaction.
func (c *cluster) pgbench(clients int, d time.Duration) (rows rate, cost time.Duration) {
	script := filepath.Join(c.Dir(), "insert.sql")
	check(os.WriteFile(script, fmt.Appendf(nil, oneRow, strings.Repeat("x", 250)), 0o644)) //nolint:gosec // no secret
	seconds := strconv.Itoa(max(1, int(d.Round(time.Second).Seconds())))
	out, used := "", newMeter(c.pid)
	used.during(func() {
		out = must(c.Output("pgbench", "-n", "-M", "prepared", "-c", strconv.Itoa(clients), "-j", "2", "-T", seconds, "-f",
			script))
	})
	tps, count := printedRate.FindStringSubmatch(out), printedCount.FindStringSubmatch(out)
	if tps == nil || count == nil {
		check(fmt.Errorf("pgbench printed no rate:\n%s", out))
	}
	return rate(must(strconv.ParseFloat(tps[1], 64))), used.sums[0] / time.Duration(must(strconv.Atoi(count[1])))
}
