//go:build full

package e2e

import (
	"database/sql"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bellhop/protocol"
)

// A leaked password of the host reads and changes no session of the broker.
func TestTheHostsPasswordAloneOpensNoSessionOfTheBroker(t *testing.T) {
	t.Parallel()
	s := newStack(t, sqlite)
	task := s.task("private")
	s.recorded(t, task, "list")
	s.arrived(task)
	for _, route := range []string{
		"GET /session/" + task, "GET /session/" + task + "/events", "GET /session/" + task + "/diff",
		"POST /session/" + task + "/interrupt", "POST /session/" + task + "/revoke", "DELETE /session/" + task,
		"DELETE /sessions/" + task,
	} {
		method, path, _ := strings.Cut(route, " ")
		if status := s.withPasswordOnly(method, path); status != http.StatusForbidden {
			t.Errorf("%s: %d", route, status)
		}
	}
	s.recorded(t, task, "list") // the broker continues
	if _, err := s.user().Diff(t.Context(), task); err != nil {
		t.Errorf("the broker's diff: %v", err)
	}
	if _, err := s.user().DeleteTask(t.Context(), task, ""); err != nil {
		t.Error(err)
	}
}

// A database that has lost its keys refuses nothing by itself, but its hosts refuse the broker, until their operator
// releases the session. The next check-in binds the new key.
func TestALostKeyNeedsTheOperatorOfTheHost(t *testing.T) {
	t.Parallel()
	s := newStack(t, sqlite)
	task, c := s.task("older than the backup"), s.user()
	s.recorded(t, task, "list")
	s.arrived(task)
	if !slices.Contains(s.keyed(), task) {
		t.Fatal("the host has no key of the session")
	}
	s.broker.stop()
	s.forgetKeys()
	s.broker.start()
	_, err := c.CheckIn(t.Context(), &protocol.CheckInRequest{TaskID: task, Message: "list"})
	if err == nil || !strings.Contains(err.Error(), "Failed to create agent session") {
		t.Errorf("a check-in with another key: %v", err)
	}
	out := run(t, []string{"BELLHOP_HOST_PASSWORD=" + hostPassword}, "sessions", "release", "--host", s.host.url, "--data",
		s.hostData(), task)
	if strings.TrimSpace(out) != task {
		t.Errorf("released: %q", out)
	}
	s.recorded(t, task, "list")
	if !slices.Contains(s.keyed(), task) {
		t.Error("the session is not bound to the new key")
	}
}

// forgetKeys removes the root of the session keys from the stopped broker's database.
func (s *stack) forgetKeys() {
	s.t.Helper()
	s.change(filepath.Join(s.dir, "broker.db"), `DELETE FROM meta WHERE name LIKE 'session-keys%'`)
}

// change runs a statement on the SQLite file of a stopped server.
func (s *stack) change(path, statement string) {
	s.t.Helper()
	db, err := sql.Open("sqlite3", "file:"+path)
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := db.ExecContext(s.t.Context(), statement); err != nil {
		s.t.Error(err)
	}
	if err := db.Close(); err != nil {
		s.t.Fatal(err)
	}
}

// keyed are the sessions of the host's journal that are bound to a key.
func (s *stack) keyed() (ids []string) {
	s.t.Helper()
	db := openSQL(s.t, "sqlite3", "file:"+s.journal()+"?_pragma=busy_timeout(5000)&_pragma=query_only(1)")
	rows(s.t, db, `SELECT id FROM sessions WHERE key_hash <> ''`, func(r *sql.Rows) error {
		var id string
		err := r.Scan(&id)
		ids = append(ids, id)
		return err
	})
	return ids
}
