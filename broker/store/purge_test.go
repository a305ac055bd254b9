package store_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/broker/store"
	"bellhop/crypto/seal"
	"bellhop/internal/database"
	"bellhop/internal/testenv"
	"bellhop/protocol"
)

// purged is a database with deleted tasks.
type purged struct {
	*testing.T
	db    *database.DB
	store *store.Store
	user  string

	refused string // the table of refuse
}

func (p *purged) must(err error) {
	p.Helper()
	testenv.Must(p, err)
}

func (p *purged) run(sql string, args ...any) {
	p.Helper()
	_, err := p.db.Exec(p.Context(), "rows", "", sql, args...)
	p.must(err)
}

// task adds a task with n rows of the log (events, messages, and events with a message), n changes,
// a turn and an audit entry.
func (p *purged) task(n int) string {
	p.Helper()
	deleted := time.Now().Add(-time.Hour)
	task := &broker.Task{
		ID: protocol.NewID(), UserID: p.user, Title: "x", Mode: protocol.ModeAgent, AgentStatus: protocol.StatusNone,
		WebhookSecret: seal.NewSecret("secret"), CreatedAt: deleted, LastActivityAt: deleted, ChangedAt: deleted,
	}
	p.must(p.store.CreateTask(p.Context(), task))
	p.must(p.store.Write(p.Context(), func(ctx context.Context) error {
		locked, err := p.store.LockTask(ctx, task.ID)
		if err != nil {
			return err
		}
		locked.DeletedAt = &deleted
		return p.store.Apply(ctx, &broker.Batch{
			Task: locked, Turns: []broker.Turn{{ID: "t", TaskID: task.ID, State: broker.TurnClosed, AnnouncedAt: deleted}},
		})
	}))
	p.must(p.store.AddRefused(p.Context(), &broker.RefusedEvent{ID: protocol.NewID(), TaskID: task.ID, At: deleted}))
	const step = 10_000
	for from := 0; from < n; from += step {
		numbers := fmt.Sprintf(`WITH RECURSIVE s (n) AS (SELECT %d UNION ALL SELECT n + 1 FROM s WHERE n < %d)`, from+1,
			min(from+step, n))
		p.run(`INSERT INTO log (task_no, created_at, epoch, event_seq, seq, rev, late, type, event_id, turn_id, id, role, status, body)
			`+numbers+` SELECT t.no, t.created_at, 1, n, CASE WHEN n % 3 > 0 THEN n END, n, FALSE, 'text',
				CASE WHEN n % 3 <> 1 THEN 'e' || (10000000 + n) END, 't', 'm' || n, 'ASSISTANT', 'SENT', '{}'
			FROM s JOIN tasks t ON t.id = ?`, task.ID)
		p.run(`INSERT INTO change_ranges (task_no, rev, n, kind, seq) `+numbers+`
			SELECT t.no, n + 1000, 1, 'message', n FROM s JOIN tasks t ON t.id = ?`, task.ID)
	}
	return task.ID
}

func (p *purged) count(sql string) (n int64) {
	p.Helper()
	p.must(p.db.Conn(p.Context()).Raw(sql).Row().Scan(&n))
	return n
}

// refuse makes the DELETE of one row fail: the one with that key.
func (p *purged) refuse(table, key, value string) {
	p.Helper()
	p.refused = table
	on := ` BEFORE DELETE ON ` + table
	if p.db.Dialect() == database.SQLite {
		p.run(`CREATE TRIGGER refuse` + on + ` WHEN old.` + key + ` = '` + value + `' BEGIN SELECT RAISE(ABORT, 'no'); END`)
		return
	}
	p.run(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$`)
	p.run(`CREATE TRIGGER refuse` + on + ` FOR EACH ROW WHEN (old.` + key + ` = '` + value +
		`') EXECUTE FUNCTION refuse()`)
}

// A deleted task is removed though it has more rows than a statement can delete: 5 million
// in make test-long. A task that cannot be removed does not stop the others.
func TestALargeTaskIsPurgedInChunks(t *testing.T) {
	t.Parallel()
	events := 12_000
	if os.Getenv("BELLHOP_LONG") != "" {
		events = 5_000_000
	}
	eachPurged(t, func(p *purged) {
		bad, large, small := p.task(3), p.task(events), p.task(3)
		p.refuse("tasks", "id", bad)
		n, err := p.store.PurgeTasks(p.Context(), time.Now())
		if n != 2 || err == nil {
			p.Errorf("%d purged, %v", n, err)
		}
		for _, id := range []string{large, small} {
			_, err := p.store.AnyTask(p.Context(), id)
			testenv.WantCode(p, err, protocol.CodeNotFound)
		}
		for _, name := range []string{"log", "change_ranges", "turns", "audit"} {
			if n := p.count("SELECT count(*) FROM " + name); n != 0 {
				p.Errorf("%d rows are left in %s", n, name)
			}
		}
		p.allow()
		if n, err := p.store.PurgeTasks(p.Context(), time.Now()); n != 1 || err != nil {
			p.Errorf("the next time: %d purged, %v", n, err)
		}
	})
}
