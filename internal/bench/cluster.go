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

// cluster is a PostgreSQL of its own with the settings of a fresh installation:
// nothing that a commit waits for is left out. Only the number of connections
// differs, and that commits are stamped with their time.
type cluster struct {
	bin  string
	dir  string
	cred *syscall.Credential
	pid  int // of the postmaster
}

func startCluster(ctx context.Context) (*cluster, error) {
	bin, err := postgresPrograms()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "bellhop-bench-pg-")
	if err != nil {
		return nil, err
	}
	c := &cluster{bin: bin, dir: dir}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(err, c.stop(ctx))
	}
	return c, nil
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

// release of /usr/lib/postgresql/15/bin/initdb is 15.
func release(initdb string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(initdb))))
	return n
}

func (c *cluster) start(ctx context.Context) error {
	if os.Getuid() == 0 { // which PostgreSQL refuses to run as
		if err := c.dropRoot(); err != nil {
			return err
		}
	}
	data := filepath.Join(c.dir, "data")
	if _, err := c.run(ctx, "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"); err != nil {
		return err
	}
	_, err := c.run(ctx, "pg_ctl", "start", "-w", "-D", data, "-l", filepath.Join(c.dir, "log"),
		"-o", "-k "+c.dir+" -c listen_addresses= -c max_connections=200 -c track_commit_timestamp=on")
	if err != nil {
		return err
	}
	pid, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if err != nil {
		return err
	}
	first, _, _ := strings.Cut(string(pid), "\n")
	c.pid, err = strconv.Atoi(first)
	return err
}

func (c *cluster) dropRoot() error {
	u, err := user.Lookup("postgres")
	if err != nil {
		return fmt.Errorf("as root, PostgreSQL needs its own user: %w", err)
	}
	uid, err1 := strconv.Atoi(u.Uid)
	gid, err2 := strconv.Atoi(u.Gid)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	c.cred = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return os.Chown(c.dir, uid, gid)
}

// run a program of the cluster and return what it printed.
func (c *cluster) run(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(c.bin, name), args...)
	cmd.Dir = c.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.cred, Setpgid: true}
	cmd.Env = append(os.Environ(), "LC_ALL=C", "PGTZ=UTC")
	// A file, not a pipe: the server inherits it and would keep a pipe open.
	out, err := os.CreateTemp("", "bellhop-bench-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.Remove(out.Name()) }()
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	err = cmd.Run()
	printed, readErr := os.ReadFile(out.Name())
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", name, err, printed)
	}
	return string(printed), readErr
}

func (c *cluster) stop(ctx context.Context) error {
	var err error
	if c.pid != 0 {
		_, err = c.run(context.WithoutCancel(ctx), "pg_ctl", "stop", "-w", "-m", "fast", "-D", filepath.Join(c.dir, "data"))
	}
	return errors.Join(err, os.RemoveAll(c.dir))
}

func (c *cluster) url(database string) string {
	return "postgres://postgres@/" + database + "?" + url.Values{"sslmode": {"disable"}, "host": {c.dir}}.Encode()
}

func (c *cluster) connect(ctx context.Context, database string) (*pgx.Conn, error) {
	return pgx.Connect(ctx, c.url(database))
}

// exec runs a statement in the first database there is.
func (c *cluster) exec(ctx context.Context, sql string) error {
	conn, err := c.connect(ctx, "postgres")
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, sql)
	return errors.Join(err, conn.Close(ctx))
}

// Rows as the yardstick writes them: about 300 bytes, and one unique index.
const (
	yardstick = `CREATE TABLE yardstick (task bigint NOT NULL, id bigint NOT NULL, body text NOT NULL, at timestamptz NOT NULL, UNIQUE (task, id))`
	oneRow    = `\set task random(1, 1024)
\set id random(1, 9000000000000000000)
INSERT INTO yardstick VALUES (:task, :id, '%s', now());
`
)

// pgbench returns single-row transactions a second, and what one of them cost
// PostgreSQL.
func (c *cluster) pgbench(ctx context.Context, clients int, d time.Duration) (rate float64, cost time.Duration, err error) {
	script := filepath.Join(c.dir, "insert.sql")
	if err := os.WriteFile(script, fmt.Appendf(nil, oneRow, strings.Repeat("x", 250)), 0o644); err != nil { //nolint:gosec // no secret
		return 0, 0, err
	}
	before, err := cpuOfTree(c.pid)
	if err != nil {
		return 0, 0, err
	}
	seconds := strconv.Itoa(max(1, int(d.Round(time.Second).Seconds())))
	out, err := c.run(ctx, "pgbench", "-n", "-M", "prepared", "-c", strconv.Itoa(clients), "-j", "2", "-T", seconds,
		"-h", c.dir, "-U", "postgres", "-f", script, "postgres")
	if err != nil {
		return 0, 0, err
	}
	after, err := cpuOfTree(c.pid)
	if err != nil {
		return 0, 0, err
	}
	rate, err1 := strconv.ParseFloat(printed(out, "tps = "), 64)
	count, err2 := strconv.Atoi(printed(out, "number of transactions actually processed: "))
	if err := errors.Join(err1, err2); err != nil || count == 0 {
		return 0, 0, fmt.Errorf("pgbench printed no rate: %w\n%s", err, out)
	}
	return rate, (after - before) / time.Duration(count), nil
}

// printed is the word after a label in what a program printed.
func printed(out, label string) string {
	for line := range strings.Lines(out) {
		if rest, ok := strings.CutPrefix(line, label); ok {
			return strings.Fields(rest + " -")[0]
		}
	}
	return ""
}
