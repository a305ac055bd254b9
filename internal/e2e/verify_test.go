//go:build full

package e2e

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bellhop/internal/testenv"
	"bellhop/internal/testenv/basic"
	"bellhop/protocol"
)

// copies names a table, and its column with the session's id. With numbered, the column is the number of the
// task with that id.
type copies struct {
	table, column string
	numbered      bool
}

// computed has the columns of tasks that only the database writes.
var computed = []string{"no", "active_slot", "changed_slot", "state"}

// multiply adds a session for each n of the series that have everything of the session id except its name. The
// digest of an event does not contain the session's name.
func multiply(t testing.TB, driver, url, id, series string, tables []copies) {
	t.Helper()
	db, err := sql.Open(driver, url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for _, c := range tables {
		columns := slices.DeleteFunc(columnsOf(t, db, c.table), func(name string) bool {
			return slices.Contains(computed, name)
		})
		chosen := strings.Join(columns, ", ")
		next, of := "x."+c.column+" || '-' || copy.n", "'"+id+"'"
		if c.numbered {
			next = "(SELECT no FROM tasks WHERE id = '" + id + "-' || copy.n)"
			of = "(SELECT no FROM tasks WHERE id = '" + id + "')"
		}
		copied := strings.Replace(", "+chosen+",", ", "+c.column+",", ", "+next+",", 1)
		query := series + " INSERT INTO " + c.table + " (" + chosen + ") SELECT " + strings.Trim(copied, ", ") +
			" FROM " + c.table + " x, copy WHERE x." + c.column + " = " + of
		if _, err := db.ExecContext(t.Context(), query); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
}

// column returns the only column of a query's rows.
func column(t testing.TB, driver, url, query string) (values []any) {
	t.Helper()
	rows, err := openSQL(t, driver, url).QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var value any
		if err := rows.Scan(&value); err != nil {
			t.Fatal(err)
		}
		values = append(values, value)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return values
}

func columnsOf(t testing.TB, db *sql.DB, table string) []string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT * FROM "+table+" WHERE 1 = 0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err := errors.Join(err, rows.Err()); err != nil {
		t.Fatal(err)
	}
	return columns
}

// bareRead reads the bodies of all events of a table by their positions, page by page as verify
// does, and logs the CPU time of this process. session is the condition that selects the events of
// session $1 by an index.
func bareRead(t testing.TB, driver, url, table, session, seq string, ids []any) {
	t.Helper()
	db := openSQL(t, driver, url)
	var before, after unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &before); err != nil {
		t.Fatal(err)
	}
	query := fmt.Sprintf("SELECT %[2]s, body FROM %[1]s WHERE %[3]s AND epoch = 1 AND %[2]s > $2 ORDER BY epoch, "+
		"%[2]s LIMIT 500",
		table, seq, session)
	began, read := time.Now(), 0
	for _, id := range ids {
		for last, more := int64(0), true; more; {
			n := readPage(t, db, query, id, &last)
			read, more = read+n, n == 500
		}
	}
	if err := unix.Getrusage(unix.RUSAGE_SELF, &after); err != nil {
		t.Fatal(err)
	}
	cpu := time.Duration(after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano())
	t.Logf("a bare read of %s: %d events in %v, CPU time %v", table, read, time.Since(began).Round(time.Millisecond), cpu)
}

// readPage returns the number of rows, and in last the position of the last one.
func readPage(t testing.TB, db *sql.DB, query string, id any, last *int64) (n int) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query, id, *last)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for ; rows.Next(); n++ {
		var body []byte
		if err := rows.Scan(last, &body); err != nil {
			t.Fatal(err)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return n
}

// verify runs the command, and returns what it printed and its exit code.
func (s *stack) verify(args ...string) (out string, code int) {
	s.t.Helper()
	cmd := exec.Command(binary(s.t), append([]string{"verify"}, args...)...)
	cmd.Env = append(baseEnv(), s.database()...)
	printed, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	return string(printed), cmd.ProcessState.ExitCode()
}

func TestVerifySaysWhatItCouldNotCompare(t *testing.T) {
	eachStore(t, func(t *testing.T, kind storeKind) {
		s := newStack(t, kind)
		basicHost := httptest.NewServer(&basic.Host{Password: hostPassword, Client: direct})
		t.Cleanup(basicHost.Close)
		registered, tasks := s.task("registered"), map[string]string{}
		s.task("without an event")
		for name, url := range map[string]string{"own": s.host.url, "basic": basicHost.URL} {
			task, err := s.user().CreateTask(t.Context(), &protocol.CreateTaskRequest{
				Title: name, AgentURL: url, AgentPassword: hostPassword,
			})
			testenv.Must(t, err)
			tasks[name] = task.ID
		}
		s.recorded(t, registered, "list")
		s.recorded(t, tasks["own"], "list")
		s.arrived(registered, tasks["own"])
		frontend := &basic.Frontend{BrokerURL: s.broker.url, Token: s.token, Client: direct}
		for _, err := range frontend.Ask(t.Context(), tasks["basic"], "first") {
			testenv.Must(t, err)
		}
		const isBasic = "its host is a basic server, which keeps no journal"
		type skipped struct {
			Reason string
			Tasks  int
			IDs    []string
		}
		type result struct {
			OK                      bool
			Tasks, Sessions, Differ int
			Uncompared              []skipped
		}
		beside := []skipped{{isBasic, 1, []string{tasks["basic"]}}}
		for _, c := range []struct {
			rule string
			args []string
			want result
			code int
		}{
			{"hosts and own URLs", nil, result{Tasks: 3, Sessions: 2, Uncompared: beside}, 4},
			{"a journal", []string{"--journal", s.journal()}, result{Tasks: 3, Sessions: 2, Uncompared: beside}, 4},
			{"one host", []string{"--host", "first"}, result{OK: true, Tasks: 1, Sessions: 1, Uncompared: []skipped{}}, 0},
		} {
			out, code := s.verify(append(c.args, "--json")...)
			var got result
			if err := json.Unmarshal([]byte(out), &got); err != nil || code != c.code || !reflect.DeepEqual(got, c.want) {
				t.Errorf("%s: exit code %d, %+v (%v), want %d, %+v", c.rule, code, got, err, c.code, c.want)
			}
		}
		if out, code := s.verify(); code != 4 || !strings.Contains(out, "0 sessions differ, 1 of 3 tasks not compared") {
			t.Errorf("exit code %d: %s", code, out)
		}
		s.host.kill()
		out, code := s.verify()
		if code != 4 || strings.Contains(out, "differ") || !strings.Contains(out, "nothing was compared, 3 of 3 tasks not compared") {
			t.Errorf("without the host: exit code %d: %s", code, out)
		}
		s.change(s.journal(), "DELETE FROM events WHERE seq = 2")
		out, code = s.verify("--journal", s.journal())
		if code != 1 || !strings.Contains(out, "2 sessions differ, 1 of 3 tasks not compared") {
			t.Errorf("without an event of each journal: exit code %d: %s", code, out)
		}
	})
}

// A real session of some hundred events is copied, in the journal and in the database, until both
// have a million. The times go to docs/benchmarks.md.
//
// It takes long, so only `make test-long` runs it in full.
func TestVerifyReadsAMillionEvents(t *testing.T) {
	t.Parallel()
	turns, want := 4, 2000
	if tortured {
		turns, want = 100, 1_000_000
	}
	s := newStack(t, postgres)
	task := s.task("verified")
	for range turns {
		s.recorded(t, task, "list")
	}
	s.arrived(task)
	events := int(s.epochOf(task).Seq)
	n := want/events + 1
	s.broker.kill()
	s.host.kill()
	s.change(s.journal(), `UPDATE sessions SET key_hash = ''`) // a copy with another id has another key
	multiply(t, "pgx", s.dbURL, task, fmt.Sprintf("WITH copy AS (SELECT generate_series(1, %d) AS n)", n),
		[]copies{{"tasks", "id", false}, {"log", "task_no", true}})
	multiply(t, "sqlite3", "file:"+s.journal(), task,
		fmt.Sprintf("WITH RECURSIVE copy(n) AS (VALUES(1) UNION ALL SELECT n+1 FROM copy WHERE n < %d)", n),
		[]copies{{"sessions", "id", false}, {"events", "session_id", false}})
	s.host.start()
	for name, args := range map[string][]string{
		"from the host": {"verify", "--json"}, "from the file": {"verify", "--json", "--journal", s.journal()},
	} {
		began := time.Now()
		var report struct {
			OK       bool
			Sessions int
			Events   int
		}
		cmd := exec.Command(binary(t), args...)
		cmd.Env = append(baseEnv(), s.database()...)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		t.Logf("%s: %d sessions of %d events in %v, CPU time %v", name, n+1, events,
			time.Since(began).Round(time.Millisecond),
			cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
		if err := json.Unmarshal(out, &report); err != nil || !report.OK || report.Sessions != n+1 ||
			report.Events != events*(n+1) {
			t.Errorf("%s: %+v, %v; want %d sessions, %d events", name, report, err, n+1, events*(n+1))
		}
	}
	bareRead(t, "pgx", s.dbURL, "log", "task_no = $1 AND late = FALSE", "event_seq",
		column(t, "pgx", s.dbURL, "SELECT no FROM tasks"))
	journal := "file:" + s.journal() + "?_pragma=query_only(1)"
	bareRead(t, "sqlite3", journal, "events", "session_id = $1", "seq",
		column(t, "sqlite3", journal, "SELECT id FROM sessions"))
	differs := exec.Command(binary(t), "verify", "--journal", s.journal())
	differs.Env = append(baseEnv(), s.database()...)
	if _, err := openSQL(t, "pgx", s.dbURL).ExecContext(t.Context(), "DELETE FROM log WHERE seq = 2"); err != nil {
		t.Fatal(err)
	}
	if out, err := differs.Output(); differs.ProcessState.ExitCode() != 1 {
		t.Errorf("a database without one event of each session: %v\n%s", err, out)
	}
}
