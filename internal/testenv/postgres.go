package testenv

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"bellhop/internal/pgserver"
)

// shared is the cluster of this test binary.
var shared struct {
	mu      sync.Mutex
	cluster *pgserver.Server
	clones  *clones // nil until a test wants a migrated database
	err     error
	number  atomic.Int64
}

// Postgres returns the URL of a new database that exists until t ends: a clone of a template
// that migrate prepared once per test binary, or one that another test has left, without its rows.
// All calls in a binary must pass the same migrate, or nil for an empty database.
func Postgres(t testing.TB, migrate func(url string) error) string {
	t.Helper()
	c, k, err := prepare(migrate)
	if err != nil {
		t.Fatal(err)
	}
	if migrate == nil {
		return create(t, c, "")
	}
	name, err := k.take()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.giveBack(name) })
	return c.SocketURL(name)
}

func prepare(migrate func(url string) error) (*pgserver.Server, *clones, error) {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.err == nil && shared.cluster == nil {
		shared.cluster, shared.err = startShared()
	}
	if shared.err == nil && migrate != nil && shared.clones == nil {
		shared.clones, shared.err = newClones(shared.cluster, migrate)
	}
	return shared.cluster, shared.clones, shared.err
}

func startShared() (*pgserver.Server, error) {
	c, err := newCluster(pgserver.TempDir, 0)
	if err != nil {
		return nil, err
	}
	return c, c.Start("synchronous_commit=off")
}

func newCluster(parent string, port int) (*pgserver.Server, error) {
	c, err := pgserver.New(parent, port)
	if err != nil {
		return nil, err
	}
	if err := fill(c); err != nil {
		return nil, errors.Join(err, os.RemoveAll(c.Dir()))
	}
	return c, nil
}

// fill gives c the files of an empty cluster. They are copied from the user's cache, because initdb takes five times
// as long and runs for most test binaries. A copy comes into the cache whole or not at all.
func fill(c *pgserver.Server) error {
	cache, err := os.UserCacheDir()
	version := pgserver.Version(context.Background())
	if err != nil || version == "" {
		return c.Init()
	}
	made := filepath.Join(cache, "bellhop", "tests", strings.ReplaceAll(version, " ", "-"))
	if _, err := os.Stat(made); err == nil {
		return copyOwned(made, c.Data())
	}
	if err := c.Init(); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(made), 0o700); err != nil {
		return err
	}
	own, err := os.MkdirTemp(filepath.Dir(made), "new-")
	if err != nil {
		return err
	}
	err = copyOwned(c.Data(), filepath.Join(own, "data"))
	if err == nil {
		err = os.Rename(filepath.Join(own, "data"), made)
	}
	if errors.Is(err, fs.ErrExist) { // another binary was first
		err = nil
	}
	return errors.Join(err, os.RemoveAll(own))
}

// copyOwned copies a folder that does not exist at to, with its owner.
func copyOwned(from, to string) error {
	if out, err := exec.CommandContext(context.Background(), "cp", "-a", from, to).CombinedOutput(); err != nil {
		return fmt.Errorf("copy %s: %w\n%s", from, err, out)
	}
	return nil
}

// Main runs the tests, those of rapid with fewer draws unless BELLHOP_LONG is set. Then it stops PostgreSQL if one was
// started, removes the program if one was built, and fails if a goroutine is left. Its result is for os.Exit.
func Main(m *testing.M) int {
	if err := fewerDraws(); err != nil {
		fmt.Fprintln(os.Stderr, "rapid:", err)
		return 1
	}
	code := m.Run()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.cluster != nil {
		if err := shared.cluster.Stop(false); err != nil {
			fmt.Fprintln(os.Stderr, "stop PostgreSQL:", err)
		}
	}
	if err := binary.remove(); err != nil {
		fmt.Fprintln(os.Stderr, "remove the program:", err)
	}
	if code != 0 {
		return code
	}
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// Server is a PostgreSQL for one test, which may be stopped and started. It also listens on
// TCP, so that a Proxy can be put before it.
type Server struct {
	t       testing.TB
	cluster *pgserver.Server
}

// PostgresServer starts a server with an empty database; it ends with t.
func PostgresServer(t testing.TB) *Server {
	t.Helper()
	return PostgresServerIn(t, pgserver.TempDir)
}

// PostgresServerIn is PostgresServer with its data in a folder below parent, whose
// path must be short.
func PostgresServerIn(t testing.TB, parent string) *Server {
	t.Helper()
	port, err := FreePort()
	if err != nil {
		t.Fatal(err)
	}
	c, err := newCluster(parent, port)
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(t, c)
	s.Start()
	return s
}

// Addr returns the server's host:port.
func (s *Server) Addr() string { return "127.0.0.1:" + strconv.Itoa(s.cluster.Port) }

// URL returns the database's URL over TCP.
func (s *Server) URL() string { return s.URLVia(s.Addr()) }

// URLVia is URL with another address, such as a Proxy's.
func (s *Server) URLVia(addr string) string {
	return "postgres://postgres@" + addr + "/postgres?sslmode=disable"
}

// Stop kills the server like a crash; its data are kept. It may be called again.
func (s *Server) Stop() {
	s.t.Helper()
	if err := s.cluster.Stop(true); err != nil {
		s.t.Error(err)
	}
}

// Start returns when the server accepts connections again.
func (s *Server) Start() {
	s.t.Helper()
	if s.cluster.Running() {
		return
	}
	if err := s.cluster.Start(); err != nil {
		s.t.Fatal(err)
	}
}

// FreePort returns a port of the loopback on which no program listens at present.
func FreePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	port := l.Addr().(*net.TCPAddr).Port
	return port, l.Close()
}

// PostgresCopy returns the URL of a copy of a database of Postgres that has no connections. It
// exists until t ends.
func PostgresCopy(t testing.TB, rawURL string) string {
	t.Helper()
	c, _, err := prepare(nil)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	return create(t, c, strings.TrimPrefix(u.Path, "/"))
}

// create returns the URL of a copy of from, or of an empty database. It exists until t ends.
func create(t testing.TB, c *pgserver.Server, from string) string {
	t.Helper()
	name, err := newDatabase(c, from)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dropDatabase(c, name); err != nil {
			t.Error(err)
		}
	})
	return c.SocketURL(name)
}

// newDatabase creates a copy of from, or an empty database, and returns its name.
func newDatabase(c *pgserver.Server, from string) (string, error) {
	name := "t" + strconv.FormatInt(shared.number.Add(1), 10)
	return name, createDatabase(c, name, from)
}

// createDatabase copies files, where PostgreSQL lets it choose: writing each page to the log
// as well costs several times as much.
func createDatabase(c *pgserver.Server, name, from string) error {
	sql := "CREATE DATABASE " + name
	if from != "" {
		sql += " TEMPLATE " + from
	}
	if c.Major() >= 15 {
		sql += " STRATEGY file_copy"
	}
	return c.Exec(sql)
}

func dropDatabase(c *pgserver.Server, name string) error {
	return c.Exec("DROP DATABASE IF EXISTS " + name + " WITH (FORCE)")
}
