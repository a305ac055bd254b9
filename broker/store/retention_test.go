package store_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/broker/store"
	"bellhop/broker/store/storetest"
	"bellhop/internal/database"
	"bellhop/internal/observe"
	"bellhop/internal/testenv"
	"bellhop/protocol"
)

// eachPurged runs a test on SQLite and on PostgreSQL.
func eachPurged(t *testing.T, test func(p *purged)) {
	testenv.EachDatabase(t, func(t *testing.T, kind string) { test(openPurged(t, storetest.URL(t, kind))) })
}

func openPurged(t *testing.T, url string) *purged {
	t.Helper()
	db := storetest.OpenDB(t, url)
	p := &purged{T: t, db: db, store: store.New(db, storetest.Sealer(t)), user: protocol.NewID()}
	p.must(p.store.CreateUser(t.Context(), &broker.User{ID: p.user, Email: "u@example.org", CreatedAt: time.Now()}))
	return p
}

// allow ends refuse.
func (p *purged) allow() {
	p.Helper()
	drop := "DROP TRIGGER refuse"
	if p.db.Dialect() == database.Postgres {
		drop += " ON " + p.refused
	}
	p.run(drop)
}

// wantRows compares the number of rows of tables.
func (p *purged) wantRows(want map[string]int64) {
	p.Helper()
	for table, n := range want {
		if got := p.count("SELECT count(*) FROM " + table); got != n {
			p.Errorf("%d rows are left in %s, want %d", got, table, n)
		}
	}
}

// The texts of a deleted task are removed although its host is away for ever. Its row, which names the host,
// stays until the host has ended the session, and has no title.
func TestAnOwedEndKeepsOnlyTheTasksRow(t *testing.T) {
	t.Parallel()
	eachPurged(t, func(p *purged) {
		id, now := p.task(30), time.Now()
		p.must(p.store.AddOwedEnd(p.Context(), &broker.SessionEnd{TaskID: id, Since: now, DueAt: now, Attempts: 1}))
		for range 2 {
			if n, err := p.store.PurgeTasks(p.Context(), now); n != 0 || err != nil {
				p.Errorf("%d purged, %v", n, err)
			}
			p.wantRows(map[string]int64{"log": 0, "change_ranges": 0, "turns": 0, "audit": 0, "tasks": 1, "session_ends": 1})
		}
		if task, err := p.store.AnyTask(p.Context(), id); err != nil || task.Title != "" {
			p.Errorf("%+v, %v", task, err)
		}
		p.must(p.store.SettleEnd(p.Context(), id))
		if n, err := p.store.PurgeTasks(p.Context(), now); n != 1 || err != nil {
			p.Errorf("%d purged, %v", n, err)
		}
	})
}

// One row that cannot be deleted keeps neither the other rows of its task nor other tasks.
func TestARowThatCannotBeDeletedKeepsNoOtherRow(t *testing.T) {
	t.Parallel()
	eachPurged(t, func(p *purged) {
		p.task(300)
		p.task(3)
		p.refuse("log", "event_id", "e10000150")
		if n, err := p.store.PurgeTasks(p.Context(), time.Now()); n != 1 || err == nil {
			p.Errorf("%d purged, %v", n, err)
		}
		p.wantRows(map[string]int64{"change_ranges": 0, "turns": 0, "audit": 0, "tasks": 1})
		if n := p.count("SELECT count(*) FROM log"); n == 0 || n > 50 {
			p.Errorf("%d rows are left in log", n)
		}
		p.allow()
		if n, err := p.store.PurgeTasks(p.Context(), time.Now()); n != 1 || err != nil {
			p.Errorf("the next time: %d purged, %v", n, err)
		}
		p.wantRows(map[string]int64{"log": 0, "tasks": 0})
	})
}

// The body of an old event is removed, its row stays. Text events keep theirs, which is the text of the message.
func TestBodiesOfOldEventsAreRemoved(t *testing.T) {
	t.Parallel()
	eachPurged(t, func(p *purged) {
		const n = 2500 // more than a transaction takes
		id := p.task(n)
		p.task(3)
		p.run(`UPDATE tasks SET deleted_at = NULL`)
		p.run(`UPDATE log SET type = 'tool-call' WHERE event_seq % 2 = 0`)
		p.run(`UPDATE log SET body = NULL WHERE event_id IS NULL`)
		young := time.Now().Add(time.Hour)
		p.run(`UPDATE log SET created_at = ? WHERE event_seq > 2400`, young.UTC())
		bodies := func() int64 { return p.count(`SELECT count(*) FROM log WHERE body IS NOT NULL`) }
		before := bodies()
		prunable := p.count(`SELECT count(*) FROM log WHERE event_seq <= 2400 AND type <> 'text' AND body IS NOT NULL`)
		for i, want := range []int64{prunable, 0} {
			got, err := p.store.PruneEvents(p.Context(), time.Now())
			if got != want || err != nil || bodies() != before-prunable {
				p.Errorf("round %d: %d bodies removed, want %d; %d left of %d, %v", i, got, want, bodies(), before, err)
			}
		}
		if n := p.count(`SELECT count(*) FROM log WHERE type = 'text' AND event_id IS NOT NULL AND body IS NULL`); n != 0 {
			p.Errorf("%d texts were removed", n)
		}
		known, err := p.store.KnownEvents(p.Context(), id, []string{"e10000002", "e10002402"})
		if err != nil || len(known) != 2 || known[0].Body != nil || known[0].Seq != 2 || known[1].Body == nil {
			p.Errorf("%+v, %v", known, err)
		}
		p.run(`UPDATE tasks SET deleted_at = created_at`)
		if n, err := p.store.PurgeTasks(p.Context(), time.Now()); n != 2 || err != nil {
			p.Errorf("%d purged, %v", n, err)
		}
		p.wantRows(map[string]int64{"event_prunings": 0})
	})
}

func TestTheNewestRefusedEventsOfATaskAreKept(t *testing.T) {
	t.Parallel()
	eachPurged(t, func(p *purged) {
		tasks := []string{p.task(0), p.task(0)}
		p.run(`DELETE FROM audit`)
		for i := range 12 {
			p.must(p.store.AddRefused(p.Context(), &broker.RefusedEvent{
				ID: fmt.Sprintf("%04d", i), TaskID: tasks[i/10], EventID: fmt.Sprint(i), At: time.Now(),
			}))
		}
		for _, want := range []int64{7, 0} {
			if n, err := p.store.PruneRefused(p.Context(), 3); n != want || err != nil {
				p.Errorf("%d removed, want %d, %v", n, want, err)
			}
		}
		if n := p.count(`SELECT count(*) FROM audit WHERE id IN ('0007', '0008', '0009', '0010', '0011')`); n != 5 {
			p.Errorf("%d are left", n)
		}
	})
}

// More entries than a statement may delete leave in chunks.
func TestTheAuditLogIsPrunedInChunks(t *testing.T) {
	t.Parallel()
	eachPurged(t, func(p *purged) {
		const entries = 12_000
		old := time.Now().Add(-48 * time.Hour)
		p.run(`INSERT INTO audit_log (at, action, actor_kind, actor_id, token_id, address, via,
				subject_kind, subject_id, subject_name, detail)
			WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < `+fmt.Sprint(entries)+`)
			SELECT ?, 'sign-in', 'user', '', '', '', '', 'user', '', '', '{}' FROM s`, old.UTC())
		p.must(p.store.AddAudit(p.Context(), protocol.AuditEntry{At: time.Now(), Action: protocol.AuditSignIn}))
		chunks := 0
		ctx := p.progress(func() { chunks++ })
		n, err := p.store.PruneAudit(ctx, time.Now().Add(-24*time.Hour))
		if n != entries || err != nil || chunks == 0 {
			p.Errorf("%d deleted in %d chunks, %v", n, chunks, err)
		}
		p.wantRows(map[string]int64{"audit_log": 1})
	})
}

// Each user's rows are erased although those of one table cannot be.
func TestErasureGoesOnPastRowsThatCannotBeErased(t *testing.T) {
	t.Parallel()
	eachPurged(t, func(p *purged) {
		now := time.Now().UTC()
		p.must(p.store.CreateToken(p.Context(), &broker.APIToken{
			ID: protocol.NewID(), UserID: p.user, Name: "ci", Kind: broker.TokenUser, Hash: []byte("h"), CreatedAt: now,
		}))
		p.run(`INSERT INTO webhook_endpoints (id, user_id, kind, url, host, secret, events, disabled_reason, created_at)
			VALUES ('w', ?, 'task', '', '', ?, '[]', '', ?)`, p.user, []byte("s"), now)
		p.run(`INSERT INTO agent_sessions (id, user_id, agent_name, agent_identifier, agent_icon, disconnected,
			webhook_url, endpoint_id, metadata, rev, event, event_source, changed_at, last_activity, created_at)
			VALUES ('a', ?, '', '', '', FALSE, '', '', '{}', 1, '', '', ?, ?, ?)`, p.user, now, now, now)
		p.must(p.store.EraseUser(p.Context(), p.user))
		p.wantRows(map[string]int64{"api_tokens": 1, "webhook_endpoints": 1, "agent_sessions": 1}) // the user is not deleted
		p.run(`UPDATE users SET deleted_at = ? WHERE id = ?`, now, p.user)
		p.refuse("agent_sessions", "id", "a")
		if err := p.store.EraseUser(p.Context(), p.user); err == nil {
			p.Error("no error")
		}
		p.wantRows(map[string]int64{"api_tokens": 0, "webhook_endpoints": 0, "agent_sessions": 1, "users": 1})
		p.allow()
		p.must(p.store.EraseUser(p.Context(), p.user))
		if removed, err := p.store.RemoveUser(p.Context(), p.user); !removed || err != nil {
			p.Errorf("%t, %v", removed, err)
		}
		p.wantRows(map[string]int64{"agent_sessions": 0, "users": 0})
	})
}

func (p *purged) progress(f func()) context.Context {
	return observe.WithProgress(p.Context(), func(int64) { f() })
}
