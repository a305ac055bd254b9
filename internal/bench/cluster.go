package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// cluster is a separate PostgreSQL with the settings of a fresh installation, so
// commits are fully durable. Only the number of connections differs, and commits
// are stamped with their time.
type cluster struct {
	bin  string
	dir  string
	cred *syscall.Credential
	pid  int // process id of the postmaster
}

// cluster starts PostgreSQL with an empty database for a broker.
func (r *run) cluster() *cluster {
	c := &cluster{bin: must(postgresPrograms()), dir: r.dir()}
	if os.Getuid() == 0 { // PostgreSQL refuses to run as root
		c.dropRoot()
	}
	data := filepath.Join(c.dir, "data")
	c.program(r.ctx, "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	r.onClose(func() error {
		if c.pid == 0 {
			return nil
		}
		return caught(func() { c.program(context.WithoutCancel(r.ctx), "pg_ctl", "stop", "-w", "-m", "fast", "-D", data) })
	})
	c.program(r.ctx, "pg_ctl", "start", "-w", "-D", data, "-l", filepath.Join(c.dir, "log"),
		"-o", "-k "+c.dir+" -c listen_addresses= -c max_connections=200 -c track_commit_timestamp=on")
	first, _, _ := strings.Cut(string(must(os.ReadFile(filepath.Join(data, "postmaster.pid")))), "\n")
	c.pid = must(strconv.Atoi(first))
	must(r.connect(c, "postgres").Exec(r.ctx, "CREATE DATABASE bellhop"))
	return c
}

func postgresPrograms() (string, error) {
	if found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb"); err == nil && len(found) > 0 {
		newest := slices.MaxFunc(found, func(a, b string) int { return release(a) - release(b) })
		return filepath.Dir(newest), nil
	}
	p, err := exec.LookPath("initdb")
	if err != nil {
		return "", errors.New("the benchmarks need PostgreSQL: run scripts/setup")
	}
	return filepath.Dir(p), nil
}

// release returns the version in a path: 15 for /usr/lib/postgresql/15/bin/initdb.
func release(initdb string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(initdb))))
	return n
}

func (c *cluster) dropRoot() {
	u, err := user.Lookup("postgres")
	if err != nil {
		check(fmt.Errorf("as root, PostgreSQL needs its own user: %w", err))
	}
	uid, gid := must(strconv.Atoi(u.Uid)), must(strconv.Atoi(u.Gid))
	c.cred = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	check(os.Chown(c.dir, uid, gid))
}

// program runs a program of the cluster and returns its output.
func (c *cluster) program(ctx context.Context, name string, args ...string) string {
	cmd := exec.CommandContext(ctx, filepath.Join(c.bin, name), args...)
	cmd.Dir = c.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.cred, Setpgid: true}
	cmd.Env = append(os.Environ(), "LC_ALL=C", "PGTZ=UTC")
	// A file instead of a pipe: the server inherits it and would keep a pipe open.
	out := must(os.CreateTemp("", "bellhop-bench-"))
	defer func() { _ = os.Remove(out.Name()) }()
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	err := cmd.Run()
	printed := string(must(os.ReadFile(out.Name())))
	if err != nil {
		check(fmt.Errorf("%s: %w\n%s", name, err, printed))
	}
	return printed
}

func (c *cluster) url(database string) string {
	return "postgres://postgres@/" + database + "?" + url.Values{"sslmode": {"disable"}, "host": {c.dir}}.Encode()
}

func (c *cluster) dial(ctx context.Context, database string) (*pgx.Conn, error) {
	return pgx.Connect(ctx, c.url(database))
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

// pgbench returns single-row transactions per second, and the CPU time of
// PostgreSQL per transaction.
func (c *cluster) pgbench(ctx context.Context, clients int, d time.Duration) (rate float64, cost time.Duration) {
	script := filepath.Join(c.dir, "insert.sql")
	check(os.WriteFile(script, fmt.Appendf(nil, oneRow, strings.Repeat("x", 250)), 0o644)) //nolint:gosec // no secret
	seconds := strconv.Itoa(max(1, int(d.Round(time.Second).Seconds())))
	var out string
	used := cpuDuring(func() {
		out = c.program(ctx, "pgbench", "-n", "-M", "prepared", "-c", strconv.Itoa(clients), "-j", "2", "-T", seconds,
			"-h", c.dir, "-U", "postgres", "-f", script, "postgres")
	}, c.pid)
	rate, err1 := strconv.ParseFloat(printed(out, "tps = "), 64)
	count, err2 := strconv.Atoi(printed(out, "number of transactions actually processed: "))
	if err := errors.Join(err1, err2); err != nil || count == 0 {
		check(fmt.Errorf("pgbench printed no rate: %w\n%s", err, out))
	}
	return rate, used[0] / time.Duration(count)
}

// printed returns the word after a label in a program's output.
func printed(out, label string) string {
	for line := range strings.Lines(out) {
		if rest, ok := strings.CutPrefix(line, label); ok {
			return strings.Fields(rest + " -")[0]
		}
	}
	return ""
}
