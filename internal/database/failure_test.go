package database_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"bellhop/internal/database"
	"bellhop/internal/testenv"
	"bellhop/internal/testenv/faultproxy"
	"bellhop/protocol"
)

// resumes waits until the breaker's probe has found the database. The documented
// limit is 10 s; the limit here only ends a test that hangs.
func resumes(t *testing.T, try func() error) {
	t.Helper()
	var err error
	for start := time.Now(); time.Since(start) < time.Minute; {
		if err = try(); err == nil {
			return
		}
		if code := protocol.CodeOf(err); code != protocol.CodeUnavailable {
			t.Fatalf("meanwhile: %v", err)
		}
		time.Sleep(10 * time.Millisecond) // between two attempts; the breaker's state has no signal
	}
	t.Errorf("afterwards: %v", err)
}

// Reliability B5: connections made while the server is read-only stay read-only
// afterwards, so they are dropped.
func TestAReadOnlyServerIsUnavailableAndServiceResumes(t *testing.T) {
	t.Parallel()
	server := testenv.PostgresServer(t)
	db := withNotes(t, open(t, server.URL(), database.Options{}))
	set := func(value string) {
		t.Helper()
		if err := db.Conn(t.Context()).Exec("ALTER DATABASE postgres SET default_transaction_read_only = " +
			value).Error; err != nil {
			// In a read-only session a transaction must be declared read-write.
			if err := db.Conn(t.Context()).Exec("BEGIN READ WRITE; ALTER DATABASE postgres SET " +
				"default_transaction_read_only = " + value + "; COMMIT").Error; err != nil {
				t.Fatal(err)
			}
		}
	}
	write := func(id string) error {
		return db.Write(t.Context(), func(ctx context.Context) error { return insert(ctx, db, id) })
	}
	set("on")
	if err := db.Conn(t.Context()).Exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> " +
		"pg_backend_pid() AND datname = current_database()").Error; err != nil {
		t.Fatal(err)
	}
	if err := db.Conn(t.Context()).Exec("SELECT pg_terminate_backend(pg_backend_pid())").Error; err == nil {
		t.Fatal("the connection that ends itself lives")
	}
	var readOnly error
	for range 5 { // the first one may use a connection that was closed
		if readOnly = write("while read-only"); protocol.CodeOf(readOnly) != protocol.CodeUnavailable {
			t.Fatalf("while read-only: %v", readOnly)
		}
	}
	set("off")
	resumes(t, func() error { return write("lifted") })
}

// backends returns the server's processes for two connections at a time.
func backends(t *testing.T, db *database.DB) [2]int {
	t.Helper()
	var pids [2]int
	pid := func(ctx context.Context, i int) error {
		return db.Conn(ctx).Raw("SELECT pg_backend_pid()").Row().Scan(&pids[i])
	}
	err := db.Read(t.Context(), func(ctx context.Context) error {
		return errors.Join(pid(ctx, 0), pid(t.Context(), 1))
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(pids[:])
	return pids
}

// Reliability B5: each of these errors says that the server is of no use, and all connections to it are
// dropped. Other errors leave them.
func TestConnectionsToAServerThatIsGoneAreDropped(t *testing.T) {
	t.Parallel()
	for state, isDropped := range map[string]bool{
		"25006": true, "57P01": true, "57P02": true, "57P03": true, "57014": false, "P0001": false, "23505": false,
	} {
		db := open(t, testenv.Postgres(t, nil), database.Options{})
		before := backends(t, db)
		raised := db.Conn(t.Context()).Exec("DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '" + state + "'; END $$").Error
		if raised == nil {
			t.Fatalf("%s was not raised", state)
		}
		after := backends(t, db)
		kept := slices.Contains(before[:], after[0]) || slices.Contains(before[:], after[1])
		if kept == isDropped {
			t.Errorf("%s: connections %v before, %v after", state, before, after)
		}
	}
}

// Reliability B5: a name that moves to another server is followed, although the old one still answers.
func TestAConnectionHasAMaximumLifetime(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t, nil)
	brief := open(t, url, database.Options{MaxLifetime: time.Nanosecond})
	if before, after := backends(t, brief), backends(t, brief); before == after {
		t.Errorf("connections %v are older than they may be", after)
	}
	usual := open(t, url, database.Options{})
	if before, after := backends(t, usual), backends(t, usual); before != after {
		t.Errorf("connections %v before, %v after", before, after)
	}
	if closed := usual.Pools()["writer"].Stats().MaxLifetimeClosed; closed != 0 {
		t.Errorf("%d connections were closed because of their age", closed)
	}
}

// Reliability B6: even if many connections of the pool are dead, a request waits no
// longer than its budget, and after two timeouts no request waits.
func TestAnUnresponsiveDatabaseDelaysARequestOnce(t *testing.T) {
	t.Parallel()
	server := testenv.PostgresServer(t)
	proxy := testenv.NewProxy(t, server.Addr())
	db := withNotes(t, open(t, server.URLVia(proxy.Addr()), database.Options{}))
	warm(t, db)
	proxy.Set(faultproxy.BlackHole())

	const limit = 300 * time.Millisecond
	for range 2 {
		ctx := database.WithBudget(t.Context(), limit)
		for range 3 { // three statements of one request
			if err := database.Fault(db.Conn(ctx).Exec("SELECT 1").Error, "x",
				1); protocol.CodeOf(err) != protocol.CodeUnavailable {
				t.Errorf("without an answer: %v", err)
			}
		}
		if left := database.TimeLeft(ctx); left > limit/10 {
			t.Errorf("%s of the budget are left", left)
		}
	}
	for range 50 {
		if err := db.Conn(t.Context()).Exec("SELECT 1").Error; !errors.Is(err, database.ErrBreakerOpen) {
			t.Errorf("with the breaker open: %v", err)
		}
		var n int
		if err := database.Fault(db.Conn(t.Context()).Raw("SELECT 1").Row().Scan(&n), "x",
			1); protocol.CodeOf(err) != protocol.CodeUnavailable {
			t.Errorf("a row with the breaker open: %v", err)
		}
	}
	proxy.Set(faultproxy.Pass())
	resumes(t, func() error { return database.Fault(db.Conn(t.Context()).Exec("SELECT 1").Error, "x", 1) })
}

// A budget counts only the wait for the database. Without a budget each statement
// has its own limit.
func TestABudgetCountsOnlyTheDatabase(t *testing.T) {
	t.Parallel()
	db := withNotes(t, open(t, testenv.Postgres(t, nil), database.Options{}))
	ctx := database.WithBudget(t.Context(), time.Minute)
	if err := db.Conn(ctx).Exec("SELECT pg_sleep(0.2)").Error; err != nil {
		t.Fatal(err)
	}
	if left := database.TimeLeft(ctx); left > time.Minute-200*time.Millisecond {
		t.Errorf("%s are left after 200 ms", left)
	}
	spent := database.WithBudget(t.Context(), -1)
	if err := db.Conn(spent).Exec("SELECT 1").Error; protocol.CodeOf(err) != protocol.CodeUnavailable {
		t.Errorf("nothing left: %v", err)
	}
	if err := db.Conn(database.WithoutBudget(spent)).Exec("SELECT 1").Error; err != nil {
		t.Errorf("without a budget: %v", err)
	}
}

// A caller that cancels ends its statement. This does not count as a timeout of the
// database.
func TestACanceledStatementIsNoTimeoutOfTheDatabase(t *testing.T) {
	t.Parallel()
	db := withNotes(t, open(t, testenv.Postgres(t, nil), database.Options{}))
	for range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() {
			if err := db.Conn(ctx).Exec("SELECT pg_sleep(30)").Error; err == nil {
				t.Error("it slept to its end")
			}
		})
		cancel()
		group.Wait()
	}
	if err := db.Conn(t.Context()).Exec("SELECT 1").Error; err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// warm opens all connections of the pool.
func warm(t *testing.T, db *database.DB) {
	t.Helper()
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if err := db.Conn(t.Context()).Exec("SELECT pg_sleep(0.05)").Error; err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}
