package journal

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"bellhop/protocol"
)

// former writes the files of a journal with a schema of before 0.1.0. Those of a host that was killed at once are a
// database without a page, and a WAL.
func former(t *testing.T, version int, killed bool) (dir string) {
	t.Helper()
	dir = t.TempDir()
	path := filepath.Join(dir, fileName)
	conn, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	err = conn.Exec(fmt.Sprintf(`PRAGMA journal_mode = WAL; BEGIN; CREATE TABLE sessions (id TEXT PRIMARY KEY);
		INSERT INTO sessions VALUES ('s'); PRAGMA user_version = %d; COMMIT`, version))
	if killed {
		kept := contents(t, dir)
		delete(kept, fileName+"-shm")
		dir = t.TempDir()
		for name, content := range kept {
			err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
		}
	}
	if err := errors.Join(err, conn.Close()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// contents returns the files of a directory by name.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[entry.Name()] = string(content)
	}
	return all
}

func TestAJournalOfBefore010IsRefusedAndNotChanged(t *testing.T) {
	t.Parallel()
	for version := 1; version < firstVersion; version++ {
		for _, killed := range []bool{false, true} {
			dir := former(t, version, killed)
			before := contents(t, dir)
			if killed && (len(before[fileName+"-wal"]) == 0 || strings.Contains(before[fileName], "sessions")) {
				t.Fatalf("schema %d: the journal is not in its WAL", version)
			}
			open := map[string]func() error{
				"Open":     func() error { return second(Open(dir, noon)) },
				"OpenFile": func() error { return second(OpenFile(filepath.Join(dir, fileName))) },
			}
			for _, name := range []string{"Open", "OpenFile", "Open"} {
				err := open[name]()
				if protocol.CodeOf(err) != protocol.CodeConflict || !strings.Contains(err.Error(), "made before 0.1.0") {
					t.Errorf("schema %d, %s: %v", version, name, err)
				}
			}
			after := contents(t, dir)
			delete(after, "journal.lock")
			if killed {
				delete(after, fileName+"-shm") // SQLite's index of the WAL, which it makes at each start
			}
			if !maps.Equal(before, after) {
				t.Errorf("schema %d, killed: %v: %q before, %q after, or a content changed", version, killed,
					slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(after)))
			}
		}
	}
}

// A host that is killed soon after its first start leaves a database without a page, too.
func TestAJournalThatIsOnlyInItsWALIsOpened(t *testing.T) {
	t.Parallel()
	dir := former(t, 0, true)
	if err := os.Remove(filepath.Join(dir, fileName+"-wal")); err != nil {
		t.Fatal(err)
	}
	opened(t, dir)
	copied := t.TempDir()
	for _, name := range []string{fileName, fileName + "-wal"} {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(copied, name), content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if version, err := headerVersion(filepath.Join(copied, fileName)); version != 0 || err != nil {
		t.Fatalf("the file has the version %d, %v", version, err)
	}
	files, err := schemas.ReadDir("schema")
	if err != nil {
		t.Fatal(err)
	}
	newest := firstVersion + len(files) - 1
	if version, err := walVersion(location{path: filepath.Join(copied, fileName)}); version != newest || err != nil {
		t.Errorf("the WAL has the version %d, %v", version, err)
	}
	opened(t, copied)
}

func TestEachSchemaHasItsVersionInItsName(t *testing.T) {
	t.Parallel()
	files, err := schemas.ReadDir("schema")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for i, file := range files {
		if want := fmt.Sprintf("%04d_", firstVersion+i); !strings.HasPrefix(file.Name(), want) {
			t.Errorf("%s does not begin with %s", file.Name(), want)
		}
	}
}
