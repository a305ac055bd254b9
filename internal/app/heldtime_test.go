package app

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/broker/store/storetest"
	"bellhop/crypto/seal"
	"bellhop/internal/testenv"
	"bellhop/protocol"
)

// A machine that starts with a wrong date must not remove what is old by that date.
func TestAStartInTheFutureRemovesNothing(t *testing.T) {
	t.Parallel()
	testenv.EachDatabase(t, func(t *testing.T, kind string) {
		url := seal.NewSecret(storetest.URL(t, kind))
		made, err := seal.Generate()
		testenv.Must(t, err)
		keyset, start := seal.NewSecret(made), time.Now().UTC().Truncate(time.Second)
		open := func(now time.Time) *Broker {
			b, err := OpenBroker(t.Context(), BrokerConfig{
				StoreConfig: StoreConfig{DatabaseURL: url, Keyset: keyset, Log: slog.New(slog.DiscardHandler)},
				Listen:      "127.0.0.1:0", Now: func() time.Time { return now },
				Retention: Retention{Retention: broker.Retention{Audit: 48 * time.Hour, Archived: 48 * time.Hour}},
			})
			testenv.Must(t, err)
			return b
		}
		b := open(start)
		user, err := b.Auth.CreateUser(t.Context(), "ada@example.org", "a long password", true)
		testenv.Must(t, err)
		testenv.Must(t, b.Store.CommitLogin(t.Context(), "login", []byte("x"), start.Add(24*time.Hour)))
		testenv.Must(t, b.Store.AddAudit(t.Context(), protocol.AuditEntry{At: start, Action: protocol.AuditSignIn}))
		task := func(archived bool) string {
			id := protocol.NewID()
			testenv.Must(t, b.Store.CreateTask(t.Context(), &broker.Task{
				ID: id, UserID: user.ID, Archived: archived, CreatedAt: start, LastActivityAt: start, ChangedAt: start,
				WebhookSecret: seal.NewSecret(strings.Repeat("ab", 32)),
			}))
			return id
		}
		archived, used := task(true), task(false)
		testenv.Must(t, b.Store.BeginAct(t.Context(), &broker.ActRow{TaskID: used, ID: "a", Digest: []byte("x"), SeenAt: start}))
		_, err = b.db.Exec(t.Context(), "Meta", "", "DELETE FROM meta WHERE name LIKE 'held-time%'") // as before an upgrade
		testenv.Must(t, err)
		testenv.Must(t, b.Close())

		left := func(b *Broker) string {
			b.maintenance.Prune(t.Context())
			entries, err := b.Store.AuditEntries(t.Context(), broker.AuditFilter{Limit: 10})
			testenv.Must(t, err)
			isOld := slices.ContainsFunc(entries, func(e protocol.AuditEntry) bool { return e.At.Equal(start) })
			_, _, signedIn, err := b.Store.FindLogin(t.Context(), "login")
			testenv.Must(t, err)
			_, taskErr := b.Store.Task(t.Context(), user.ID, archived)
			act := &broker.ActRow{TaskID: used, ID: "a", Digest: []byte("y"), SeenAt: start}
			testenv.Must(t, b.Store.BeginAct(t.Context(), act))
			return fmt.Sprintf("audit %t, login %t, task %t, act %t, told %d", isOld, signedIn, taskErr == nil,
				string(act.Digest) == "x", len(heldBack(t.Context(), b.Store)))
		}
		future := start.AddDate(2, 0, 0)
		const all = "audit true, login true, task true, act true, told 1"
		for range 2 { // the second start finds what the first one has stored
			b = open(future)
			if got := left(b); got != all {
				t.Errorf("in the future: %s, want %s", got, all)
			}
			testenv.Must(t, b.Close())
		}
		b = open(future)
		b.held.Confirm(future)
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		testenv.Must(t, b.held.Run(ctx))
		stop()
		if got := left(b); got != "audit false, login false, task false, act false, told 0" {
			t.Errorf("confirmed: %s", got)
		}
		testenv.Must(t, b.Close())
	})
}
