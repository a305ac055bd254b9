package reseal_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/broker/store"
	"bellhop/broker/store/storetest"
	"bellhop/crypto/seal"
	"bellhop/internal/database"
	"bellhop/internal/reseal"
	"bellhop/internal/testenv"
	"bellhop/protocol"
	"bellhop/webhook/outbound"
	outboundstore "bellhop/webhook/outbound/store"
)

func TestMain(m *testing.M) { os.Exit(testenv.Main(m)) }

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const tasks = 450 // three pages

// fixture is a database with a value in every sealed column.
type fixture struct {
	*testing.T
	db                         *database.DB
	first, added, promoted     string // keysets, in the order of a rotation
	user, host, task, endpoint string
	root                       seal.Secret
}

func newFixture(t *testing.T, db *database.DB) *fixture {
	f := &fixture{T: t, db: db, user: protocol.NewID(), host: protocol.NewID(), endpoint: protocol.NewID()}
	var err [3]error
	f.first, err[0] = seal.Generate()
	f.added, err[1] = seal.Add(f.first)
	f.promoted, err[2] = seal.Promote(f.added)
	f.must(errors.Join(err[:]...))
	st := store.New(db, f.sealer(f.first))
	f.must(st.CheckKey(t.Context()))
	root, failure := st.SessionKeyRoot(t.Context())
	f.must(failure)
	f.root = root
	f.must(st.CreateUser(t.Context(), &broker.User{ID: f.user, Email: "a@example.org", CreatedAt: start}))
	f.must(st.BeginSecondFactor(t.Context(), &broker.SecondFactor{
		UserID: f.user, Secret: seal.NewSecret("factor"), CreatedAt: start,
	}))
	later := start.Add(time.Hour)
	f.must(st.CreateHost(t.Context(), &broker.Host{
		ID: f.host, Name: "one", URL: "http://host", Password: seal.NewSecret("host-2"),
		PreviousPassword: seal.NewSecret("host-1"), PreviousUntil: &later, Health: broker.HostOK, CreatedAt: start,
	}))
	for i := range tasks {
		f.task = protocol.NewID()
		f.must(st.CreateTask(t.Context(), &broker.Task{
			ID: f.task, UserID: f.user, Title: "x", Mode: protocol.ModeAgent, AgentURL: "http://agent",
			AgentPassword: seal.NewSecret("task-1"), WebhookSecret: seal.NewSecret(fmt.Sprintf("secret-%d", i)),
			CreatedAt: start, LastActivityAt: start, ChangedAt: start,
		}))
	}
	f.must(st.SetTaskPassword(t.Context(), f.task, seal.NewSecret("task-2"), later))
	f.must(outboundstore.New(db, f.sealer(f.first)).CreateEndpoint(t.Context(), &outbound.Endpoint{
		ID: f.endpoint, OwnerID: f.user, Kind: outbound.KindTask, URL: "https://hooks.example",
		Secret: seal.NewSecret("hook-2"), PreviousSecret: seal.NewSecret("hook-1"),
		PreviousUntil: &later, CreatedAt: start,
	}))
	return f
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) sealer(keyset string) *seal.Sealer {
	f.Helper()
	sealer, err := seal.Parse(keyset)
	f.must(err)
	return sealer
}

func columns() []reseal.Column {
	return append(store.SealedColumns(), outboundstore.SealedColumns()...)
}

func (f *fixture) left() int {
	f.Helper()
	left, err := reseal.Left(f.Context(), f.db, f.sealer(f.promoted), columns())
	f.must(err)
	return left
}

// opens checks every value with a keyset.
func (f *fixture) opens(keyset string) {
	f.Helper()
	st := store.New(f.db, f.sealer(keyset))
	f.must(st.CheckKey(f.Context()))
	root, err := st.SessionKeyRoot(f.Context())
	f.must(err)
	host, err := st.Host(f.Context(), f.host)
	f.must(err)
	passwords, err := st.TaskPasswords(f.Context(), f.task, start)
	f.must(err)
	factor, err := st.SecondFactor(f.Context(), f.user)
	f.must(err)
	secret, err := st.WebhookSecret(f.Context(), f.task)
	f.must(err)
	hook, err := outboundstore.New(f.db, f.sealer(keyset)).Endpoint(f.Context(), f.user, f.endpoint)
	f.must(err)
	got := []string{
		root.Reveal(), host.Password.Reveal(), host.PreviousPassword.Reveal(), passwords[0].Reveal(),
		passwords[1].Reveal(), secret.Reveal(), hook.Secret.Reveal(), hook.PreviousSecret.Reveal(), factor.Secret.Reveal(),
	}
	want := []string{
		f.root.Reveal(), "host-2", "host-1", "task-2", "task-1", fmt.Sprintf("secret-%d", tasks-1), "hook-2",
		"hook-1", "factor",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		f.Errorf("opened %q, want %q", got, want)
	}
}

func databases(t *testing.T, test func(t *testing.T, db *database.DB)) {
	testenv.EachDatabase(t, func(t *testing.T, kind string) { test(t, storetest.OpenDB(t, storetest.URL(t, kind))) })
}

// A run that ends in the middle leaves every value readable, and the next one does only the rest.
func TestARunThatWasInterruptedIsContinued(t *testing.T) {
	t.Parallel()
	databases(t, func(t *testing.T, db *database.DB) {
		f := newFixture(t, db)
		all := f.left()
		if want := 1 + 1 + 2 + tasks + 1 + tasks + 1 + 2; all != want {
			t.Fatalf("%d values to seal, want %d", all, want)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := 0
		_, err := reseal.Run(ctx, db, f.sealer(f.promoted), columns(), func(p reseal.Progress) {
			if p.Column.Name == "agent_password" && p.Done == 200 {
				cancel()
			}
			done++
		})
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("interrupted: %v", err)
		}
		between := f.left()
		if between == 0 || between >= all {
			t.Errorf("%d of %d values left after the interruption", between, all)
		}
		f.opens(f.added) // a broker that has not been restarted yet
		f.opens(f.promoted)

		var totals, last int
		failures, err := reseal.Run(t.Context(), db, f.sealer(f.promoted), columns(), func(p reseal.Progress) {
			if p.Done > p.Total {
				t.Errorf("%s: %d of %d", &p.Column, p.Done, p.Total)
			}
			if p.Done == p.Total {
				totals += p.Total
			}
			last = p.Done
		})
		if err != nil || len(failures) > 0 || totals != between || last == 0 {
			t.Errorf("continued: %d of %d values, %v, %v", totals, between, failures, err)
		}
		if left := f.left(); left != 0 {
			t.Errorf("%d values left", left)
		}
		pruned, err := seal.Prune(f.promoted)
		f.must(err)
		f.opens(pruned)
		f.searchColumns()
	})
}

// searchColumns finds a sealed column that the lists of columns do not have.
func (f *fixture) searchColumns() {
	f.Helper()
	query := `SELECT table_name, column_name FROM information_schema.columns WHERE data_type = 'bytea' AND table_schema = current_schema()`
	if f.db.Dialect() == database.SQLite {
		query = `SELECT m.name, c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type = 'table' AND lower(c.type) = 'blob'`
	}
	rows, err := f.db.Conn(f.Context()).Raw(query).Rows()
	f.must(err)
	var found [][2]string
	for rows.Next() {
		var at [2]string
		f.must(rows.Scan(&at[0], &at[1]))
		found = append(found, at)
	}
	f.must(errors.Join(rows.Err(), rows.Close()))
	if len(found) < 8 {
		f.Fatalf("only %d columns with bytes: %q", len(found), found)
	}
	old := f.sealer(f.first).Prefix()
	for _, at := range found {
		var values [][]byte
		f.must(f.db.Conn(f.Context()).Raw(`SELECT ` + at[1] + ` FROM ` + at[0] + ` WHERE ` + at[1] +
			` IS NOT NULL`).Scan(&values).Error)
		for _, value := range values {
			if bytes.HasPrefix(value, old) {
				f.Errorf("%s.%s still has a value of the former key", at[0], at[1])
				break
			}
		}
	}
}

// A value that cannot be opened is named and left; the others are sealed.
func TestADamagedValueIsNamedAndStays(t *testing.T) {
	t.Parallel()
	databases(t, func(t *testing.T, db *database.DB) {
		f := newFixture(t, db)
		damaged := append(bytes.Clone(f.sealer(f.first).Prefix()), "damaged"...)
		_, err := db.Exec(t.Context(), "hosts", f.host, `UPDATE hosts SET password = ? WHERE id = ?`, damaged, f.host)
		f.must(err)
		failures, err := reseal.Run(t.Context(), db, f.sealer(f.promoted), columns(), func(reseal.Progress) {})
		if err != nil || len(failures) != 1 || failures[0].Column.String() != "hosts.password" || failures[0].Row != f.host ||
			!errors.Is(failures[0].Err, seal.ErrCiphertext) {
			t.Errorf("%v, %v", failures, err)
		}
		if left := f.left(); left != 1 {
			t.Errorf("%d values left", left)
		}
	})
}

// A broker sets a password between the read and the write of a page: its value stays.
func TestAValueThatChangedMeanwhileStays(t *testing.T) {
	t.Parallel()
	databases(t, func(t *testing.T, db *database.DB) {
		f := newFixture(t, db)
		st := store.New(db, f.sealer(f.promoted))
		column := reseal.Column{Table: "tasks", Name: "previous_password", Key: "id"} // of one task only
		written, err := reseal.PageThenSeal(t.Context(), db, f.sealer(f.promoted), column, func() {
			f.must(st.SetTaskPassword(t.Context(), f.task, seal.NewSecret("task-3"), start.Add(time.Hour)))
		})
		if err != nil || written != 0 {
			t.Errorf("%d values written, %v", written, err)
		}
		passwords, err := st.TaskPasswords(t.Context(), f.task, start)
		f.must(err)
		if passwords[0].Reveal() != "task-3" || passwords[1].Reveal() != "task-2" {
			t.Errorf("passwords %q", []string{passwords[0].Reveal(), passwords[1].Reveal()})
		}
	})
}
