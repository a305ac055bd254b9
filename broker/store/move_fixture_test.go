package store_test

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"bellhop/broker"
	"bellhop/broker/store"
	"bellhop/broker/store/storetest"
	"bellhop/internal/database"
	"bellhop/internal/testenv"
	"bellhop/migrations"
	"bellhop/protocol"
)

// earlier is a database as the version before the log left it.
type earlier struct {
	*testing.T
	db     *database.DB
	tasks  int
	events int // of each task, two of them without effects
}

// earlierOn runs a test on earlier databases of both kinds.
func earlierOn(t *testing.T, tasks, events int, test func(e earlier)) {
	testenv.EachDatabase(t, func(t *testing.T, kind string) {
		db, err := database.Open(t.Context(), testenv.Empty(t, kind), database.Options{Synchronous: "OFF", Patience: 20 * time.Second})
		must(t, err)
		t.Cleanup(func() { must(t, db.Close()) })
		e := earlier{T: t, db: db, tasks: tasks, events: events}
		must(t, db.Migrate(t.Context(), beforeLog(t, db.Dialect())))
		e.fill()
		test(e)
	})
}

// beforeLog returns the migrations before that of the log.
func beforeLog(t *testing.T, dialect database.Dialect) fs.FS {
	t.Helper()
	files := fstest.MapFS{}
	names, err := fs.Glob(migrations.For(dialect), "*.sql")
	must(t, err)
	for _, name := range names {
		if strings.HasSuffix(name, "_"+store.LogMigration+".sql") {
			return files
		}
		data, err := fs.ReadFile(migrations.For(dialect), name)
		must(t, err)
		files[name] = &fstest.MapFile{Data: data}
	}
	t.Fatal("there is no migration of the log")
	return nil
}

var early = time.Date(2026, 3, 4, 5, 6, 7, 891_000, time.UTC)

// fill writes the rows that a broker of that version left for e.tasks tasks.
func (e earlier) fill() {
	e.Helper()
	_, err := e.db.Exec(e.Context(), "user", "",
		`INSERT INTO users (id, email, password_hash, admin, created_at) VALUES ('u', 'u', '', FALSE, ?)`, early)
	must(e.T, err)
	const atOnce = 50 // a statement has a time limit
	for from := 1; from <= e.tasks; from += atOnce {
		e.fillTasks(from, min(from+atOnce-1, e.tasks))
	}
}

// fillTasks writes tasks that each have a user's message, then events of all kinds.
func (e earlier) fillTasks(from, to int) {
	e.Helper()
	at := early
	const counted = `WITH RECURSIVE t(i) AS (SELECT %d UNION ALL SELECT i + 1 FROM t WHERE i < %d), e(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM e WHERE n < %d) `
	with := fmt.Sprintf(counted, from, to, e.events)
	insert := func(into, selected string, args ...any) {
		e.Helper()
		_, err := e.db.Exec(e.Context(), into, "", "INSERT INTO "+into+" "+with+selected, args...)
		must(e.T, err)
	}
	insert(`tasks (id, user_id, title, mode, agent, project, agent_url, guarded, webhook_secret, agent_status, reason, open_turn,
		epoch, seq, host_events, rev, read_rev, last_seq, open_questions, archived, created_at, last_activity_at, changed_at)`,
		`SELECT 'task-' || i, 'u', 'title', 'agent', '', '', '', FALSE, ?, 'busy', '', 't1', 1, ?, TRUE, ?, 0, ?, 0, FALSE, ?, ?, ? FROM t`,
		[]byte("x"), e.events, e.events+1, e.events+1, at, at, at)
	insert(`turns (task_id, id, message_id, state, finish_reason, reason, announced_at)`,
		`SELECT 'task-' || i, 't1', 'user-' || i, 'open', '', '', ? FROM t`, at)
	insert(`messages (task_id, id, seq, rev, turn_id, role, status, message, artifacts, event_id, phase, body_hash, created_at)`,
		`SELECT 'task-' || i, 'user-' || i, 1, 1, 't1', 'USER', 'SENT', 'please', '[]', '', '', 'hash', ? FROM t`, at)
	insert(`events (task_id, event_id, epoch, seq, turn_id, type, body, digest, late, received_at)`, `SELECT 'task-' || i, 'e-' || n, 1, n, 't1',
		CASE n % 10 WHEN 0 THEN 'status' WHEN 1 THEN 'tool-call' WHEN 2 THEN 'tool-result' ELSE 'text' END,
		CASE n % 10 WHEN 0 THEN '{"type":"status"}' WHEN 1 THEN '{"type":"tool-call"}' WHEN 2 THEN '{"type":"tool-result"}'
			ELSE '{"type":"text","id":"t","timestamp":1,"text":"text \" ' || n || ' of ' || i || '"}' END, 'digest', FALSE, ? FROM t, e`, at)
	insert(`events (task_id, event_id, epoch, seq, turn_id, type, body, digest, late, received_at)`,
		`SELECT 'task-' || i, 'late', 1, 1, 't0', 'text', '{"type":"text"}', 'digest', TRUE, ? FROM t`, at)
	insert(`events (task_id, event_id, turn_id, type, body, digest, late, received_at)`,
		`SELECT 'task-' || i, 'basic', 't0', 'finish', '{"type":"finish"}', 'digest', FALSE, ? FROM t`, at)
	insert(`messages (task_id, id, seq, rev, turn_id, role, status, message, artifacts, event_id, tool_call_id, phase, body_hash, created_at)`,
		`SELECT 'task-' || i, 'm-' || i || '-' || n, n + 1, n + 1, 't1', 'ASSISTANT', 'SENT',
		CASE n % 10 WHEN 1 THEN '' ELSE 'text " ' || n || ' of ' || i END,
		CASE n % 10 WHEN 1 THEN '[{"id":"a","type":"TOOL_USE","content":{"toolCallId":"c"}}]' ELSE '[]' END, 'e-' || n,
		CASE n % 10 WHEN 1 THEN 'c-' || n END, CASE n % 10 WHEN 1 THEN 'call' ELSE '' END, '', ? FROM t, e WHERE n % 10 NOT IN (0, 2)`, at)
	insert(`changes (task_id, rev, kind, ref_id)`, `SELECT 'task-' || i, 1, 'message', 'user-' || i FROM t`)
	insert(`changes (task_id, rev, kind, ref_id)`, `SELECT 'task-' || i, n + 1, CASE n % 10 WHEN 0 THEN 'task' WHEN 2 THEN 'interaction' ELSE 'message' END,
		CASE n % 10 WHEN 0 THEN 'task-' || i WHEN 2 THEN 'q-' || n ELSE 'm-' || i || '-' || n END FROM t, e`)
}

// contents is what a task holds.
type contents struct {
	task     broker.Task
	messages []broker.Message
	events   []broker.StoredEvent // with positions
	others   []broker.StoredEvent // late, and without positions
	changes  []broker.ChangeRef
}

func (e earlier) id(i int) string { return fmt.Sprint("task-", i+1) }

// written returns the contents that fill wrote for task i, without reading them.
func (e earlier) written(i int) contents {
	at := early
	user := protocol.Message{
		ID: fmt.Sprint("user-", i+1), TaskID: e.id(i), Seq: 1, Rev: 1, TurnID: "t1", Role: protocol.RoleUser,
		Status: protocol.MessageSent, Message: "please", Artifacts: []protocol.Artifact{}, CreatedAt: at,
	}
	c := contents{
		messages: []broker.Message{{Message: user, BodyHash: "hash"}},
		changes:  []broker.ChangeRef{{Rev: 1, Kind: broker.ChangeMessage, Seq: 1}},
		others: []broker.StoredEvent{
			{EventID: "basic", Body: []byte(`{"type":"finish"}`)},
			{EventID: "late", Epoch: 1, Seq: 1, Body: []byte(`{"type":"text"}`), Late: true},
		},
	}
	for n := int64(1); n <= int64(e.events); n++ {
		event, change := broker.StoredEvent{
			EventID: fmt.Sprint("e-", n), Epoch: 1, Seq: n,
		}, broker.ChangeRef{Rev: n + 1, Kind: broker.ChangeMessage, Seq: n + 1}
		m := broker.Message{Message: protocol.Message{
			ID: fmt.Sprintf("m-%d-%d", i+1, n), TaskID: e.id(i), Seq: n + 1, Rev: n + 1, TurnID: "t1",
			Role: protocol.RoleAssistant, Status: protocol.MessageSent, Artifacts: []protocol.Artifact{},
			EventID: event.EventID, CreatedAt: at,
		}}
		switch n % 10 {
		case 0:
			event.Body, change = []byte(`{"type":"status"}`), broker.ChangeRef{Rev: n + 1, Kind: broker.ChangeTask}
		case 1:
			event.Body, m.ToolCallID, m.Phase = []byte(`{"type":"tool-call"}`), fmt.Sprint("c-", n), broker.PhaseCall
			m.Artifacts = []protocol.Artifact{{ID: "a", Type: protocol.ArtifactToolUse, Content: []byte(`{"toolCallId":"c"}`)}}
		case 2:
			event.Body, change = []byte(`{"type":"tool-result"}`), broker.ChangeRef{
				Rev: n + 1, Kind: broker.ChangeInteraction, RefID: fmt.Sprint("q-", n),
			}
		default:
			m.Message.Message = fmt.Sprintf(`text " %d of %d`, n, i+1)
			event.Body = fmt.Appendf(nil, `{"type":"text","id":"t","timestamp":1,"text":"text \" %d of %d"}`, n, i+1)
		}
		if n%10 != 0 && n%10 != 2 {
			c.messages = append(c.messages, m)
		}
		c.events, c.changes = append(c.events, event), append(c.changes, change)
	}
	return c
}

// read reads task i through the store.
func (e earlier) read(s storetest.Store, i int) contents {
	e.Helper()
	var c contents
	var err error
	const all = 1 << 30
	c.messages, err = s.Messages(e.Context(), e.id(i), broker.MessageQuery{Limit: all})
	must(e.T, err)
	c.events, err = s.(broker.VerifyStore).PositionedEvents(e.Context(), e.id(i), protocol.Cursor{}, all)
	must(e.T, err)
	c.others, err = s.KnownEvents(e.Context(), e.id(i), []string{"late", "basic", "unknown"})
	must(e.T, err)
	c.changes, err = s.ChangeRefs(e.Context(), e.id(i), 0, all)
	must(e.T, err)
	return c
}

// outside reads task i's rows by the views, as checkers do.
func (e earlier) outside(i int) string {
	e.Helper()
	var rows []string
	must(e.T, e.db.Conn(e.Context()).Raw(`SELECT seq || ' ' || rev || ' ' || id || ' ' || status || ' ' || phase || ' ' || message || ' ' || event_id || artifacts
		FROM messages WHERE task_id = ? ORDER BY seq`, e.id(i)).Scan(&rows).Error)
	var events []string
	must(e.T, e.db.Conn(e.Context()).Raw(`SELECT event_id || ' ' || COALESCE(seq, 0) || ' ' || type || ' ' || turn_id || ' ' || body
		FROM events WHERE task_id = ? ORDER BY event_id`, e.id(i)).Scan(&events).Error)
	return strings.Join(append(rows, events...), "\n")
}

// withTask runs fn with the task locked.
func withTask(
	ctx context.Context, s storetest.Store, id string, fn func(ctx context.Context, task *broker.Task) *broker.Batch,
) error {
	return s.Write(ctx, func(ctx context.Context) error {
		task, err := s.LockTask(ctx, id)
		if err != nil {
			return err
		}
		b := fn(ctx, task)
		b.Task = task
		return s.Apply(ctx, b)
	})
}
