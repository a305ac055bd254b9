package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/internal/pgserver"
)

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

func (c *cluster) dial(ctx context.Context, database string) (*pgx.Conn, error) {
	return pgx.Connect(ctx, c.SocketURL(database))
}

// connect returns a connection that closes at the end of the run.
func (r *run) connect(c *cluster, database string) *pgx.Conn {
	conn := must(c.dial(r.ctx, database))
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
	printedRate  = regexp.MustCompile(`(?m)^tps = ([0-9.]+)`)
	printedCount = regexp.MustCompile(`(?m)^number of transactions actually processed: ([1-9][0-9]*)`)
)

// pgbench returns single-row transactions per second, and the CPU time of
// PostgreSQL per transaction.
func (c *cluster) pgbench(clients int, d time.Duration) (rows rate, cost time.Duration) {
	script := filepath.Join(c.Dir(), "insert.sql")
	check(os.WriteFile(script, fmt.Appendf(nil, oneRow, strings.Repeat("x", 250)), 0o644)) //nolint:gosec // no secret
	seconds := strconv.Itoa(max(1, int(d.Round(time.Second).Seconds())))
	out, used := "", newMeter(c.pid)
	used.during(func() {
		out = must(c.Output("pgbench", "-n", "-M", "prepared", "-c", strconv.Itoa(clients), "-j", "2", "-T", seconds, "-f", script))
	})
	tps, count := printedRate.FindStringSubmatch(out), printedCount.FindStringSubmatch(out)
	if tps == nil || count == nil {
		check(fmt.Errorf("pgbench printed no rate:\n%s", out))
	}
	return rate(must(strconv.ParseFloat(tps[1], 64))), used.sums[0] / time.Duration(must(strconv.Atoi(count[1])))
}
