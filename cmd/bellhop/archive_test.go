package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3/driver"
	"github.com/ncruces/go-sqlite3/ext/fts5"

	"bellhop/internal/testenv"
)

func TestAFailedExportLeavesNoFile(t *testing.T) {
	dir := t.TempDir()
	path, file := filepath.Join(dir, "broker.db"), filepath.Join(dir, "archive.jsonl")
	_, keyset, _ := runCommand(t, "keys", "generate")
	t.Setenv("BELLHOP_KEYSET", strings.TrimSpace(keyset))
	t.Setenv("BELLHOP_DATABASE_URL", "sqlite:"+path)
	t.Setenv("BELLHOP_USER_PASSWORD", "a fine long password")
	if code, _, stderr := runCommand(t, "users", "add", "--email", "ada@example.com"); code != 0 {
		t.Fatal(stderr)
	}
	db, err := driver.Open("file:"+path, fts5.Register)
	testenv.Must(t, err)
	for _, insert := range []string{
		`INSERT INTO tasks (id, user_id, title, mode, agent, project, agent_url, guarded, webhook_secret, agent_status,
			reason, open_turn, epoch, seq, host_events, rev, read_rev, last_seq, open_questions, archived,
			created_at, last_activity_at, changed_at)
			SELECT 'task', id, '', 'agent', '', '', '', FALSE, x'01', 'busy',
			'', 'turn', 0, 0, FALSE, 1, 0, 0, 0, FALSE, created_at, created_at, created_at FROM users`,
		`INSERT INTO turns (task_id, id, message_id, state, finish_reason, reason, announced_at)
			SELECT id, 'turn', '', 'open', '', '', created_at FROM tasks`,
	} {
		_, err := db.ExecContext(t.Context(), insert)
		testenv.Must(t, err)
	}
	testenv.Must(t, db.Close())

	code, _, stderr := runCommand(t, "export", "-o", file)
	if code == 0 || !strings.Contains(stderr, "1 turns of ada@example.com are open") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the incomplete archive is still there: %v", err)
	}
}
