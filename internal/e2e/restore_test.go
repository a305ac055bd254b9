//go:build full

package e2e

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bellhop/client"
	"bellhop/internal/testenv"
	"bellhop/protocol"
)

// shownMessage is what a user sees of a message. The rows of an assistant get new ids
// when they are stored again; their events do not.
type shownMessage struct {
	ID, Turn, Role, Status, Text, Event string
	Tools                               string
}

func shownOf(t testing.TB, c *client.Client, task string) (all []shownMessage) {
	t.Helper()
	for _, m := range historyOf(t, c, task) {
		shown := shownMessage{
			Turn: m.TurnID, Role: string(m.Role), Status: string(m.Status), Text: m.Message, Event: m.EventID,
		}
		if m.Role == protocol.RoleUser {
			shown.ID = m.ID
		}
		for _, a := range m.Artifacts {
			shown.Tools += a.Type + string(a.Content)
		}
		all = append(all, shown)
	}
	return all
}

// restoring is a stack whose database is about to go back in time.
type restoring struct {
	*stack
	older, younger string // tasks of before and after the backup
	want           map[string][]shownMessage
}

// beforeBackup has a task with two turns, which the backup includes.
func beforeBackup(s *stack) *restoring {
	s.t.Helper()
	r := &restoring{stack: s, older: s.task("older")}
	for _, message := range []string{"list", "slow 4"} {
		s.recorded(s.t, r.older, message)
	}
	s.arrived(r.older)
	return r
}

// afterBackup adds turns to that task, and another task; the backup lacks both.
func (r *restoring) afterBackup() {
	r.t.Helper()
	r.younger = r.task("younger")
	for _, message := range []string{"slow 5", "list"} {
		r.recorded(r.t, r.older, message)
		r.recorded(r.t, r.younger, message)
	}
	r.arrived(r.older, r.younger)
	r.want = map[string][]shownMessage{
		r.older: shownOf(r.t, r.user(), r.older), r.younger: shownOf(r.t, r.user(), r.younger),
	}
}

// comesBack waits until the older task is complete again by itself. Then an
// administrator adopts the younger one.
func (r *restoring) comesBack() {
	r.t.Helper()
	began := time.Now()
	eventually(r.t,
		"the task has everything again", func() bool { return slices.Equal(r.shown(r.older), r.want[r.older]) })
	r.t.Logf("after %v everything was back", time.Since(began).Round(time.Millisecond))
	r.arrived(r.older)

	if _, err := r.user().Task(r.t.Context(), r.younger); protocol.CodeOf(err) != protocol.CodeNotFound {
		r.t.Fatalf("the task is younger than the backup, but: %v", err)
	}
	env := []string{"BELLHOP_URL=" + r.api, "BELLHOP_TOKEN=" + r.token}
	if listed := run(r.t, env, "adopt"); !strings.Contains(listed, r.younger) || !strings.Contains(listed, userEmail) ||
		strings.Contains(listed, r.older) {
		r.t.Errorf("the orphans are\n%s", listed)
	}
	if adopted := run(r.t, env, "adopt", "--all"); !strings.Contains(adopted, "adopted "+r.younger+" younger") {
		r.t.Errorf("adopting said\n%s", adopted)
	}
	eventually(r.t,
		"the adopted task has everything", func() bool { return slices.Equal(r.shown(r.younger), r.want[r.younger]) })
	r.arrived(r.older, r.younger)
	r.verified(2)
}

func (r *restoring) shown(task string) []shownMessage {
	list, err := r.user().Messages(r.t.Context(), task, client.MessageQuery{Limit: 500})
	if err != nil || len(list.Messages) < len(r.want[task]) { // the broker may be starting, or failing over
		return nil
	}
	return shownOf(r.t, r.user(), task)
}

// verified has the journals compared with the database.
func (s *stack) verified(sessions int) {
	s.t.Helper()
	var report struct {
		OK       bool
		Sessions int
	}
	out := s.administer("verify", "--json")
	if err := json.Unmarshal([]byte(out), &report); err != nil || !report.OK || report.Sessions != sessions {
		s.t.Errorf("verify says %s (%v)", out, err)
	}
	if out := s.administer("verify", "--journal",
		s.journal()); !strings.Contains(out, fmt.Sprint(sessions, " sessions, ")) {
		s.t.Errorf("verify --journal says %s", out)
	}
}

// overwrite replaces the content of files and keeps the files themselves.
func overwrite(t testing.TB, from, to string, names ...string) {
	t.Helper()
	for _, name := range names {
		in, err := os.Open(filepath.Join(from, name))
		if os.IsNotExist(err) {
			if err := os.Truncate(filepath.Join(to, name), 0); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		out, err := os.OpenFile(filepath.Join(to, name), os.O_WRONLY|os.O_TRUNC|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(out, in); err != nil {
			t.Fatal(err)
		}
		_ = in.Close()
		if err := out.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestASQLiteBrokerRestoredFromABackupGetsEverythingBack(t *testing.T) {
	t.Parallel()
	for name, restore := range map[string]func(t testing.TB, from, to string, names ...string){
		"another file":         copyFiles,
		"the file overwritten": overwrite,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStack(t, sqlite)
			backup := filepath.Join(s.dir, "backup")
			r := beforeBackup(s)
			s.broker.kill()
			copyFiles(t, s.dir, backup, database("broker.db")...)
			s.broker.start()
			r.afterBackup()
			s.broker.kill()
			restore(t, backup, s.dir, database("broker.db")...)
			s.broker.start()
			r.comesBack()
		})
	}
}

// The data directory is replaced by an earlier copy, as when a volume's snapshot is
// restored: PostgreSQL itself does not notice.
func TestAPostgresRestoredFromASnapshotGetsEverythingBack(t *testing.T) {
	t.Parallel()
	server := testenv.PostgresServer(t)
	s := prepareStackOn(t, t.TempDir(), postgres, server.URL())
	s.host.start()
	s.broker.start()
	r := beforeBackup(s)
	backup := server.Backup()
	r.afterBackup()
	s.broker.kill()
	server.Restore(backup)
	s.broker.start()
	r.comesBack()
}

// The steps of "Recovery to a point in time" in docs/operations.md: a base backup from before the
// first turn, and the archived log up to a time between the turns.
//
// It takes long, so only `make test-long` runs it.
func TestAPostgresRecoveredToAPointInTimeGetsEverythingBack(t *testing.T) {
	t.Parallel()
	if !tortured {
		t.Log("left to make test-long")
		return
	}
	server := testenv.PostgresServer(t)
	archive := server.Archive()
	s := prepareStackOn(t, t.TempDir(), postgres, server.URL())
	s.host.start()
	s.broker.start()
	base := server.Backup()
	r := beforeBackup(s)
	until := strings.TrimSpace(server.Shell("psql", "-At", "-c", "SELECT clock_timestamp()"))
	r.afterBackup()
	newest := strings.TrimSpace(server.Shell("psql", "-At", "-c", "SELECT pg_walfile_name(pg_switch_wal())"))
	eventually(t, "the log is archived", func() bool {
		_, err := os.Stat(filepath.Join(archive, newest))
		return err == nil
	})
	s.broker.kill()
	server.RecoverTo(base, archive, until)
	eventually(t, "the server takes writes", func() bool {
		return strings.TrimSpace(server.Shell("psql", "-At", "-c", "SELECT pg_is_in_recovery()")) == "f"
	})
	if n := strings.TrimSpace(server.Shell("psql", "-At", "-c", "SELECT count(*) FROM tasks")); n != "1" {
		t.Errorf("%s tasks are restored, want the one of before %s", n, until)
	}
	s.broker.start()
	r.comesBack()
}

// A dump is restored into the same server, over the tables.
func TestAPostgresRestoredFromADumpGetsEverythingBack(t *testing.T) {
	t.Parallel()
	server := testenv.PostgresServer(t)
	s := prepareStackOn(t, t.TempDir(), postgres, server.URL())
	s.host.start()
	s.broker.start()
	r := beforeBackup(s)
	dump := filepath.Join(server.Dir(), "bellhop.dump")
	server.Shell("pg_dump", "-Fc", "-f", dump)
	r.afterBackup()
	s.broker.kill()
	server.Shell("pg_restore", "--clean", "--if-exists", "-d", "postgres", dump)
	s.broker.start()
	r.comesBack()
}

// The primary dies with commits that its asynchronous standby does not have. The
// standby is promoted, and the running broker finds it by target_session_attrs.
//
// It takes long, so only `make test-long` runs it.
func TestAPrimaryThatCrashesFailsOverAndEverythingComesBack(t *testing.T) {
	t.Parallel()
	if !tortured {
		t.Log("left to make test-long")
		return
	}
	primary := testenv.PostgresServer(t)
	setUp := prepareStackOn(t, t.TempDir(), postgres, primary.URL()) // the tables are created before the standby
	standby := primary.Standby()
	s := prepareBoth(t, setUp, primary, standby)
	r := beforeBackup(s)
	eventually(t,
		"the standby has the turns", func() bool { return cursorIn(t, standby.URL(), r.older) == s.epochOf(r.older) })
	standby.Shell("psql", "-c", "ALTER SYSTEM SET primary_conninfo = ''", "-c", "SELECT pg_reload_conf()")
	eventually(t, "the standby receives nothing more", func() bool {
		return strings.Contains(standby.Shell("psql", "-At", "-c", "SELECT count(*) FROM pg_stat_wal_receiver"), "0")
	})
	r.afterBackup()
	primary.Stop()
	standby.Promote()
	r.comesBack()
}

// prepareBoth starts the stack on both servers.
func prepareBoth(t testing.TB, s *stack, primary, standby *testenv.Server) *stack {
	s.dbURL = "postgres://postgres@" + primary.Addr() + "," + standby.Addr() +
		"/postgres?sslmode=disable&target_session_attrs=read-write"
	s.broker = s.newBroker("broker on both", strings.TrimPrefix(s.broker.url, "http://"))
	s.host.start()
	s.broker.start()
	return s
}

func cursorIn(t testing.TB, url, task string) (at protocol.Cursor) {
	t.Helper()
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	_ = db.QueryRowContext(context.WithoutCancel(t.Context()), `SELECT epoch, seq FROM tasks WHERE id = $1`,
		task).Scan(&at.Epoch, &at.Seq)
	return at
}

// Nothing changed, and the command says so.
func TestReconcileAsksEveryHost(t *testing.T) {
	t.Parallel()
	s := newStack(t, sqlite)
	task := s.task("reconciled")
	s.recorded(t, task, "list")
	s.arrived(task)
	var outcomes []struct {
		Host                       string
		Sessions, Pending, Unknown int
		Unacknowledged             int64
	}
	if err := json.Unmarshal([]byte(s.administer("reconcile", "--all", "--json")), &outcomes); err != nil {
		t.Fatal(err)
	}
	if len(outcomes) != 1 || outcomes[0].Host != "first" || outcomes[0].Sessions != 1 ||
		outcomes[0].Pending+outcomes[0].Unknown != 0 {
		t.Errorf("got %+v", outcomes)
	}
	s.verified(1)
}
