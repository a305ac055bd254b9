package main

import (
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/ncruces/go-sqlite3/driver"

	"bellhop/internal/testenv"
)

func TestAFailedExportLeavesNoFile(t *testing.T) {
	dir := t.TempDir()
	path, file := filepath.Join(dir, "broker.db"), filepath.Join(dir, "archive.jsonl")
	_, keyset, _ := runCommand(t, "keys", "generate")
	t.Setenv("BELLHOP_KEYSET", strings.TrimSpace(keyset))
	t.Setenv("BELLHOP_DATABASE_URL", "sqlite:"+path)
	if code, _, stderr := runCommand(t, "users", "list"); code != 0 { // creates the tables
		t.Fatal(stderr)
	}
	db, err := sql.Open("sqlite3", "file:"+path)
	testenv.Must(t, err)
	_, err = db.ExecContext(t.Context(), `INSERT INTO log_moves (task_id) VALUES ('t')`)
	testenv.Must(t, errors.Join(err, db.Close()))

	code, _, stderr := runCommand(t, "export", "-o", file)
	if code == 0 || !strings.Contains(stderr, "still moves the rows") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the incomplete archive is still there: %v", err)
	}
}
