package e2e

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/ncruces/go-sqlite3/driver"

	"bellhop/client"
	"bellhop/internal/app"
	"bellhop/internal/testenv"
	"bellhop/protocol"
)

// transport is shared by all clients of the servers under test. It keeps no idle connections,
// which goleak would report.
var transport = &http.Transport{DisableKeepAlives: true}

// Secrets that must not leak: see the canary test.
const (
	userEmail    = "guest@example.com"
	userPassword = "canary-user-password-1f6b"
	hostPassword = "canary-host-password-93ad"
)

// stack is a broker and a host as two processes, with a proxy on each of the three connections
// between them and the client.
type stack struct {
	t      testing.TB
	dir    string
	broker *node
	host   *node
	store  storeKind
	dbURL  string
	keyset string
	api    string // where users reach a broker
	token  string // API token of the user
	hostID string // as registered

	toHost   *testenv.Proxy // broker → host
	toBroker *testenv.Proxy // host → broker's webhook
	toStream *testenv.Proxy // client → host's streams
}

// storeKind is the broker's database.
type storeKind string

const (
	sqlite   storeKind = "sqlite"
	postgres storeKind = "postgres"
)

// eachStore runs a test on both databases.
func eachStore(t *testing.T, test func(t *testing.T, kind storeKind)) {
	t.Helper()
	for _, kind := range []storeKind{sqlite, postgres} {
		t.Run(string(kind), func(t *testing.T) { test(t, kind) })
	}
}

// newStack prepares everything as an operator does, and starts it.
func newStack(t testing.TB, kind storeKind) *stack {
	t.Helper()
	s := prepareStack(t, kind)
	s.host.start()
	s.broker.start()
	return s
}

func prepareStack(t testing.TB, kind storeKind) *stack {
	t.Helper()
	dir := t.TempDir()
	if kind == postgres {
		return prepareStackOn(t, dir, kind, testenv.Postgres(t, nil))
	}
	return prepareStackOn(t, dir, kind, "sqlite:"+filepath.Join(dir, "broker.db"))
}

func prepareStackOn(t testing.TB, dir string, kind storeKind, dbURL string) *stack {
	t.Helper()
	s := &stack{t: t, dir: dir, store: kind, dbURL: dbURL}
	s.keyset = s.file("keyset", run(t, nil, "keys", "generate"))
	brokerAddr, hostAddr := freeAddr(t), freeAddr(t)
	s.toHost, s.toStream = testenv.NewProxy(t, hostAddr), testenv.NewProxy(t, hostAddr)
	s.toBroker = testenv.NewProxy(t, brokerAddr)

	s.broker = s.newBroker("broker", brokerAddr)
	s.api = s.broker.url
	s.host = newNode(t, "host", "http://"+hostAddr, []string{
		"BELLHOP_HOST_LISTEN=" + hostAddr,
		"BELLHOP_HOST_PUBLIC_URL=http://" + s.toStream.Addr(),
		"BELLHOP_HOST_PASSWORD=" + hostPassword,
		"BELLHOP_HOST_DATA=" + s.hostData(),
	}, "host")
	s.administer("users", "add", "--email", userEmail, "--admin")
	s.hostID = strings.TrimSpace(s.administer("hosts", "add", "--name", "first", "--url", "http://"+s.toHost.Addr()))
	s.token = strings.TrimSpace(s.administer("tokens", "create", "--email", userEmail, "--name", "e2e"))
	return s
}

// newBroker returns a broker on the stack's database; it is not started.
func (s *stack) newBroker(name, addr string) *node {
	return newNode(s.t, name, "http://"+addr, append(s.database(),
		"BELLHOP_LISTEN="+addr,
		"BELLHOP_WEBHOOK_URL=http://"+s.toBroker.Addr(),
	), "serve")
}

func (s *stack) hostData() string { return filepath.Join(s.dir, "host") }
func (s *stack) journal() string  { return filepath.Join(s.hostData(), "journal.db") }
func (s *stack) database() []string {
	return []string{"BELLHOP_DATABASE_URL=" + s.dbURL, "BELLHOP_KEYSET_FILE=" + s.keyset}
}

func (s *stack) file(name, content string) string {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return path
}

// administer runs a command on the broker's database.
func (s *stack) administer(args ...string) string {
	s.t.Helper()
	env := append(s.database(), "BELLHOP_USER_PASSWORD="+userPassword, "BELLHOP_HOST_PASSWORD="+hostPassword)
	return run(s.t, env, args...)
}

// run runs a command of the binary and returns its stdout.
func run(t testing.TB, env []string, args ...string) string {
	t.Helper()
	cmd := exec.Command(binary(t), args...)
	cmd.Env = append(baseEnv(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("bellhop %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return string(out)
}

// patient returns options that reconnect soon and keep trying as long as the test runs.
func patient(token string, through http.RoundTripper) client.Options {
	return client.Options{
		Token: token, HTTP: &http.Client{Transport: through},
		MinBackoff: 20 * time.Millisecond, MaxBackoff: 400 * time.Millisecond, Attempts: 10_000,
	}
}

// user returns a client of the broker.
func (s *stack) user() *client.Client {
	return client.New(s.api, patient(s.token, transport))
}

// task opens a task on the registered host.
func (s *stack) task(title string) string {
	s.t.Helper()
	task, err := s.user().CreateTask(s.t.Context(), &protocol.CreateTaskRequest{
		Title: title, Agent: "demo", HostID: s.hostID,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return task.ID
}

// askHost calls the host as its operator does, who can read its data; out may be nil.
func (s *stack) askHost(method, path string, out any) int {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.host.url+path, http.NoBody)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+hostPassword)
	if key, err := app.ReadOperatorKey(s.hostData()); err == nil {
		req.Header.Set(protocol.HeaderSessionKey, key.Reveal())
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if out != nil && resp.StatusCode == http.StatusOK {
		if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
			s.t.Fatal(err)
		}
	}
	return resp.StatusCode
}

// openDB opens the broker's database directly.
func (s *stack) openDB() *sql.DB {
	s.t.Helper()
	if s.store == postgres {
		return openSQL(s.t, "pgx", s.dbURL)
	}
	return openSQL(s.t, "sqlite3",
		"file:"+filepath.Join(s.dir, "broker.db")+"?_pragma=busy_timeout(5000)&_pragma=query_only(1)")
}

func openSQL(t testing.TB, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}
