package plans

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"bellhop/internal/database"
)

// Size says how many rows Fill writes.
type Size struct {
	Tasks    int // of one user, Owner
	Messages int // of each task, and as many of the task Large as of all others

	Key string // before each word of Owner's texts
}

// Owner owns all rows, Large is the task with the most messages, and Session and Source are the notebook
// connection and the source with the most rows.
const (
	Owner   = "owner"
	Large   = "large"
	Session = "connection-1"
	Source  = "source-1"
	At      = "2026-02-01 00:00:00+00:00" // about the time of all rows
)

// atOnce bounds the rows of a statement, because statements have a time limit.
const atOnce = 5000

// filling is a statement of Fill. Its SELECT reads numbers n from 1 on, $i is the text of n with leading
// zeros, $at is a time that grows with n.
type filling struct {
	into string
	rows func(Size) int
	sql  string
}

func tasks(s Size) int    { return s.Tasks }
func messages(s Size) int { return s.Tasks * s.Messages }
func one(Size) int        { return 1 }

// fillings has every table that grows with the use of an installation.
var fillings = []filling{
	{"users (id, email, password_hash, admin, created_at)", one, `'owner', 'owner', '', FALSE, $at`},
	{
		"webhook_endpoints (id, user_id, kind, url, host, secret, events, disabled_reason, created_at)", one,
		`'endpoint', 'owner', 'user', 'https://h', 'h:443', $bytes, '[]', '', $at`,
	},
	{
		"api_tokens (id, user_id, name, kind, agent_identifier, hash, created_at)", tasks,
		`'token-' || n, 'owner', 'x', 'user', '', $hash, $at`,
	},
	{"logins (token, data, expires_at, id, user_id)", tasks, `'login-' || n, $bytes, $later, 'id-' || n, 'owner'`},
	{
		"tasks (id, user_id, title, mode, agent, project, agent_url, guarded, webhook_secret, " +
			"agent_status, reason, open_turn, epoch, seq, host_events, rev, read_rev, last_seq, open_questions, archived, " +
			"created_at, last_activity_at, changed_at, words, last_turn)", tasks,
		`CASE n WHEN 1 THEN 'large' ELSE 'task-' || n END, 'owner', 'task ' || n, 'agent', '', '', 'http://h', FALSE, $bytes,
		'idle', '', '', 1, 1, TRUE, $revs, 0, CASE n WHEN 1 THEN $revs ELSE $each END, 0, n % 10 = 0, $at, $at, $at,
		$begin' $keytask $key' || n || ' '$end,
		CASE n % 50 WHEN 7 THEN '{"id":"turn-' || n || '","finishReason":"error","reason":"","usage":null}' END`,
	},
	{
		"turns (task_id, id, message_id, state, finish_reason, reason, announced_at)", tasks,
		`CASE n % 2 WHEN 1 THEN 'large' ELSE 'task-' || n END, 'turn-' || n, '', 'closed', 'stop', '', $at`,
	},
	{
		"interactions (task_id, id, turn_id, state, kind, prompt, tool_call_id, tool_name, level, " +
			"default_answer, expires_at, created_at)", tasks,
		`CASE n % 2 WHEN 1 THEN 'large' ELSE 'task-' || n END, 'question-' || n, 'turn-' || n,
		'resolved', 'permission', '', '', '', '', '', '', $at`,
	},
	{
		"log (task_no, created_at, epoch, event_seq, seq, rev, late, type, event_id, turn_id, id, role, " +
			"status, body, words)", messages,
		`t.no, $at, 1, n, n, n, FALSE, 'text', 'event-' || n, 'turn-' || (n / 10), 'message-' || n, 'ASSISTANT', 'SENT',
		'{"type":"text","id":"t","timestamp":1,"text":"the words ' || n || '"}',
		$begin' $keythe $keywords $key' || n || ' '$end FROM s JOIN tasks t ON t.id = 'large'`,
	},
	{
		"log (task_no, created_at, epoch, event_seq, seq, rev, late, type, event_id, turn_id, id, role, " +
			"status, body, words)", messages,
		`t.no, $at, 1, n, n, n, FALSE, 'text', 'event-' || n, 'turn', 'message-' || n, 'ASSISTANT', 'SENT',
		'{"type":"text","id":"t","timestamp":1,"text":"other words ' || n || '"}',
		$begin' $keyother $keywords $key' || n || ' '$end
		FROM s JOIN tasks t ON t.id = 'task-' || (n % $tasks + 1)`,
	},
	{
		"change_ranges (task_no, rev, n, kind, seq)", messages,
		`t.no, n, 1, 'message', n FROM s JOIN tasks t ON t.id = 'large'`,
	},
	{"audit (id, task_id, what, event_id, body, at)", tasks, `'refused-' || $i, 'large', '', '', '', $at`},
	{
		"audit_log (no, at, action, actor_kind, actor_id, token_id, address, via, subject_kind, " +
			"subject_id, subject_name, detail)$numbered", tasks,
		`1000000 + n, $at, 'filled.once', 'user', 'owner', '', '', '', 'task', 'task-' || n, '', '{}'`,
	},
	{
		"deliveries (id, endpoint_id, user_id, kind, host, message_id, event, order_key, position, " +
			"state, reason, attempts, lease, next_at, expires_at, created_at, finished_at)", tasks,
		`'delivery-' || $i, 'endpoint', 'owner', 'user', 'h:443', 'm' || n, 'x', 'c' || (n % 500), n,
		'delivered', '', 1, '', $later, $later, $at, $later`,
	},
	{
		"delivery_attempts (delivery_id, number, at, duration_ms, status, error)", tasks,
		`'delivery-' || $i, 1, $at, 1, 200, ''`,
	},
	{
		"agent_sessions (id, user_id, agent_name, agent_identifier, agent_icon, disconnected, webhook_url, " +
			"endpoint_id, metadata, rev, event, event_source, changed_at, last_activity, created_at)", tasks,
		`'connection-' || n, 'owner', 'a', 'a' || n, '', FALSE, '', '', '{}', 1, '', '', $at, $at, $at`,
	},
	{
		"notebooks (id, user_id, agent_session_id, title, description, created_at)", tasks,
		`'notebook-' || n, 'owner', 'connection-' || n, 't', '', $at`,
	},
	{
		"sources (id, user_id, notebook_id, agent_session_id, title, language, context, metadata, version, " +
			"last_seq, created_at)", tasks,
		`'source-' || n, 'owner', CASE n % 2 WHEN 1 THEN 'notebook-1' ELSE 'notebook-' || n END,
		CASE n % 2 WHEN 1 THEN 'connection-1' ELSE 'connection-' || n END, 't', 'go', '', '{}', 1, 0, $at`,
	},
	{
		"source_versions (source_id, version, code, size, diff, description, author, message_id, " +
			"verification, created_at)", tasks,
		`'source-1', n, 'x', 1, '', '', 'agent', '', '{}', $at`,
	},
	{
		"source_messages (id, source_id, seq, role, content, attachments, version, reply_to, state, " +
			"failure, read_at, created_at)", tasks,
		`'said-' || n, 'source-1', n, 'agent', 'x', '[]', 0, '', 'answered', '', $at, $at`,
	},
}

// Fill writes rows that no contract suite counts, and their statistics: the turns are closed, the
// questions answered, the deliveries made, and nothing expires.
func Fill(t testing.TB, db *database.DB, size Size) {
	t.Helper()
	run := func(sql string) {
		t.Helper()
		err := db.Write(context.Background(), func(ctx context.Context) error { return db.Conn(ctx).Exec(sql).Error })
		if err != nil {
			t.Fatalf("%v\n%s", err, sql)
		}
	}
	if db.Dialect() == database.Postgres { // else its own statistics could replace those made here
		for _, table := range tables(t, db) {
			run("ALTER TABLE " + table + " SET (autovacuum_enabled = off)")
		}
	}
	for _, f := range fillings {
		for from := 1; from <= f.rows(size); from += atOnce {
			run(f.statement(db.Dialect(), size, from, min(from+atOnce-1, f.rows(size))))
		}
	}
	if db.Dialect() == database.Postgres {
		for _, table := range tables(t, db) {
			analyze(t, db, table)
		}
	}
}

// analyze takes a table's statistics. Meanwhile PostgreSQL sorts words into their index, which may take longer than
// a statement may. The sorted words stay sorted, so a repetition goes on.
func analyze(t testing.TB, db *database.DB, table string) {
	t.Helper()
	var err error
	for range 20 {
		err = db.Write(context.Background(), func(ctx context.Context) error {
			return db.Conn(ctx).Exec("ANALYZE " + table).Error
		})
		if err == nil {
			return
		}
	}
	t.Fatal(err)
}

// tables returns the names of all tables of a PostgreSQL database.
func tables(t testing.TB, db *database.DB) (names []string) {
	t.Helper()
	err := db.Conn(context.Background()).
		Raw(`SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`).Scan(&names).Error
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func (f *filling) statement(dialect database.Dialect, size Size, from, to int) string {
	values := map[string]string{
		"$key": size.Key, "$begin": "", "$end": "", "$numbered": "",
		"$tasks": fmt.Sprint(size.Tasks - 1), "$revs": fmt.Sprint(messages(size)), "$each": fmt.Sprint(size.Messages),
		"$i": "substr('000000000' || n, -9)", "$bytes": "x'00'", "$hash": "CAST('hash' || n AS BLOB)",
		"$at":    "strftime('%Y-%m-%dT%H:%M:%f000Z', '" + At + "', n || ' seconds')",
		"$later": "strftime('%Y-%m-%dT%H:%M:%f000Z', '" + At + "', '+40 years', n || ' seconds')",
	}
	if dialect == database.Postgres {
		values["$begin"], values["$end"] = "(", ")::tsvector"
		values["$numbered"] = " OVERRIDING SYSTEM VALUE"
		values["$i"], values["$bytes"], values["$hash"] = "to_char(n, 'FM000000000')", `'\x00'::bytea`, "('hash' || n)::bytea"
		values["$at"] = "timestamptz '" + At + "' + n * interval '1 second'"
		values["$later"] = values["$at"] + " + interval '40 years'"
	}
	sql := "INSERT INTO " + f.into +
		fmt.Sprintf(" WITH RECURSIVE s (n) AS (SELECT %d UNION ALL SELECT n + 1 FROM s WHERE n < %d) SELECT ", from, to) +
		f.sql
	if !strings.Contains(f.sql, "FROM s") {
		sql += " FROM s"
	}
	for name, value := range values {
		sql = strings.ReplaceAll(sql, name, value)
	}
	return sql
}
