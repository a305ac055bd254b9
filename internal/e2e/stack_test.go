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

	brokerAddr, hostAddr string // where the servers listen

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

// eachStore runs a test, which is parallel to others, on the databases that testenv.Databases selects.
func eachStore(t *testing.T, test func(t *testing.T, kind storeKind)) {
	t.Helper()
	t.Parallel()
	testenv.EachDatabase(t, func(t *testing.T, kind string) {
		t.Parallel()
		test(t, storeKind(kind))
	})
}

// bothStores is eachStore on both databases always.
func bothStores(t *testing.T, test func(t *testing.T, kind storeKind)) {
	t.Helper()
	t.Parallel()
	for _, kind := range []storeKind{sqlite, postgres} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			test(t, kind)
		})
	}
}

// newStack prepares everything, and starts it.
func newStack(t testing.TB, kind storeKind) *stack {
	t.Helper()
	s := prepareStack(t, kind)
	s.host.start()
	s.broker.start()
	return s
}

// prepareStack is newStack without starting a server.
func prepareStack(t testing.TB, kind storeKind) *stack {
	t.Helper()
	url, token := copyInstalled(t, kind)
	s := layOut(t, t.TempDir(), kind, url)
	if kind == sqlite { // the other files of the stack are beside it
		testenv.Must(t, os.Rename(strings.TrimPrefix(url, "sqlite:"), filepath.Join(s.dir, "broker.db")))
		s.dbURL = emptyDatabase(t, s.dir, kind)
	}
	s.register(token)
	return s
}

// prepareStackOn is prepareStack with an empty database of the caller's.
func prepareStackOn(t testing.TB, dir string, kind storeKind, dbURL string) *stack {
	t.Helper()
	s := layOut(t, dir, kind, dbURL)
	token, err := install(t.Context(), dbURL)
	testenv.Must(t, err)
	s.register(token)
	return s
}

// register adds the host, and gives the stack the token of the database's user.
func (s *stack) register(token string) {
	s.t.Helper()
	keyset, err := sharedKeyset()
	testenv.Must(s.t, err)
	s.keyset, s.token = s.file("keyset", keyset), token
	s.hostID, err = registerHost(s.t.Context(), s.dbURL, "http://"+s.toHost.Addr())
	testenv.Must(s.t, err)
	s.equip()
}

// layOut chooses the addresses of a stack and starts its proxies.
func layOut(t testing.TB, dir string, kind storeKind, dbURL string) *stack {
	t.Helper()
	s := &stack{t: t, dir: dir, store: kind, dbURL: dbURL, brokerAddr: freeAddr(t), hostAddr: freeAddr(t)}
	s.toHost, s.toStream = testenv.NewProxy(t, s.hostAddr), testenv.NewProxy(t, s.hostAddr)
	s.toBroker = testenv.NewProxy(t, s.brokerAddr)
	return s
}

// equip prepares the two servers.
func (s *stack) equip() {
	s.t.Helper()
	s.broker = s.newBroker("broker", s.brokerAddr)
	s.api = s.broker.url
	s.host = newNode(s.t, "host", "http://"+s.hostAddr, []string{
		"BELLHOP_HOST_LISTEN=" + s.hostAddr,
		"BELLHOP_HOST_PUBLIC_URL=http://" + s.toStream.Addr(),
		"BELLHOP_HOST_PASSWORD=" + hostPassword,
		"BELLHOP_HOST_DATA=" + s.hostData(),
	}, "host")
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
		Token: token, HTTP: &http.Client{Transport: through}, Named: true,
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

// database returns the files of a SQLite database.
func database(name string) []string { return []string{name, name + "-wal", name + "-shm"} }

// openDB opens the broker's database directly.
func (s *stack) openDB() *sql.DB {
	s.t.Helper()
	if s.store == postgres {
		return openSQL(s.t, "pgx", s.dbURL)
	}
	return openSQL(s.t, "sqlite3",
		"file:"+filepath.Join(s.dir, "broker.db")+"?_pragma=busy_timeout(5000)&_pragma=query_only(1)")
}

// query reads rows of the broker's database, and keeps no connection: tests that wait ask often.
func (s *stack) query(query string, scan func(*sql.Rows) error) {
	s.t.Helper()
	db := s.openDB()
	defer func() { _ = db.Close() }()
	rows(s.t, db, query, scan)
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
