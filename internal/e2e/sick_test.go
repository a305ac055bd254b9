//go:build full

package e2e

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"bellhop/client"
	"bellhop/internal/testenv"
	"bellhop/protocol"
)

// onServer is a stack whose broker uses a PostgreSQL of its own, and is to be started.
func onServer(t *testing.T) (*stack, *testenv.Server) {
	t.Helper()
	server := testenv.PostgresServer(t)
	s := prepareStackOn(t, t.TempDir(), postgres, server.URL())
	s.host.start()
	return s, server
}

// once is a client that tries everything once.
func (s *stack) once() *client.Client {
	return client.New(s.api, client.Options{Token: s.token, HTTP: &http.Client{Transport: transport}, Attempts: 1})
}

// refused expects that a message is refused because of the database. A test's
// patience is the deadline of each request.
func (s *stack) refused(task string, requests int) {
	s.t.Helper()
	for range requests {
		ctx, cancel := context.WithTimeout(s.t.Context(), patience)
		_, err := s.once().CheckIn(ctx, &protocol.CheckInRequest{TaskID: task, Message: "hello"})
		cancel()
		if protocol.CodeOf(err) != protocol.CodeUnavailable {
			s.t.Errorf("meanwhile a message got %v, want unavailable", err)
		}
	}
	if status := statusOf(s.t, s.broker.url+"/healthz"); status != http.StatusOK {
		s.t.Errorf("healthz: %d", status)
	}
}

// resumed expects that the same process serves again, and that nothing was lost.
func (s *stack) resumed(task string, before reading) {
	s.t.Helper()
	s.broker.becomes(http.StatusOK)
	if lives := strings.Count(s.broker.log.String(), "--- broker starts"); lives != 1 {
		s.t.Errorf("the broker was started %d times", lives)
	}
	after, _ := s.recorded(s.t, task, "slow 5")
	s.arrived(task)
	if got, want := stored(s.t, s.user(), task), slices.Concat(before.Texts, after.Texts); !slices.Equal(got, want) {
		s.t.Errorf("stored are %q, streamed was %q", got, want)
	}
}

// PROC-9: a PostgreSQL that was set read-only is unavailable, and the broker resumes
// by itself when it is lifted.
func TestABrokerOutlivesAReadOnlyPostgreSQL(t *testing.T) {
	t.Parallel()
	s, server := onServer(t)
	s.broker.start()
	task := s.task("read-only")
	before, _ := s.recorded(t, task, "slow 4")
	s.arrived(task)

	server.Exec("ALTER SYSTEM SET default_transaction_read_only = on")
	server.Exec("SELECT pg_reload_conf()")
	s.broker.becomes(http.StatusServiceUnavailable)
	s.refused(task, 3)

	server.Exec("ALTER SYSTEM RESET default_transaction_read_only")
	server.Exec("SELECT pg_reload_conf()")
	s.resumed(task, before)
}

// PROC-9: while PostgreSQL is frozen every request is answered 503. After two of
// them the breaker is open: the log has one line of it, and later requests fail at once. The admin
// listener still has metrics, without those that are in the database.
func TestABrokerOutlivesAFrozenPostgreSQL(t *testing.T) {
	t.Parallel()
	const adminToken = "canary-admin-token-0d2c"
	s, server := onServer(t)
	admin := freeAddr(t)
	s.broker.env = append(s.broker.env, "BELLHOP_ADMIN_LISTEN="+admin, "BELLHOP_ADMIN_TOKEN="+adminToken)
	s.broker.start()
	task := s.task("frozen")
	before, _ := s.recorded(t, task, "slow 4")
	s.arrived(task)

	server.Freeze()
	s.refused(task, 3)
	s.broker.becomes(http.StatusServiceUnavailable)
	const opened, closed = "the database does not answer", "the database answers again"
	if n := strings.Count(s.broker.log.String(), opened); n != 1 {
		t.Errorf("the breaker opened %d times", n)
	}
	s.refused(task, 50)
	shown := scrape(t, "http://"+admin, adminToken)
	if shown[`bellhop_collect_errors_total{part="hosts"}`] == 0 ||
		shown[`bellhop_rejections_total{reason="unavailable"}`] < 50 {
		t.Errorf("the metrics meanwhile: %v", shown)
	}
	if _, listed := shown[`bellhop_hosts{health="ok"}`]; listed {
		t.Error("the hosts were read from a frozen database")
	}

	server.Thaw()
	s.resumed(task, before)
	if n := strings.Count(s.broker.log.String(), closed); n != 1 {
		t.Errorf("the breaker closed %d times", n)
	}
}
