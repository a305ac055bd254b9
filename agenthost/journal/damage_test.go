package journal

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"bellhop/agenthost"
	"bellhop/protocol"
)

func TestAFullDiskFailsClearlyAndServiceResumes(t *testing.T) {
	t.Parallel()
	j := opened(t, t.TempDir())
	write(t, j, &agenthost.Write{SessionID: "s", Session: session("s", 1), Events: []agenthost.EventRecord{event("s", 1)}})
	if err := j.Limit(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	big := event("s", 2)
	big.Part = make([]byte, 1<<20)
	err := j.Write(t.Context(), &agenthost.Write{SessionID: "s", Events: []agenthost.EventRecord{big}})
	if protocol.CodeOf(err) != protocol.CodeStorageFull {
		t.Errorf("no room: %v", err)
	}
	if err := j.Limit(t.Context(), 1<<30); err != nil {
		t.Fatal(err)
	}
	write(t, j, &agenthost.Write{SessionID: "s", Events: []agenthost.EventRecord{big}})
	if n, err := j.CountPending(t.Context(), "s", protocol.Cursor{}); n != 2 || err != nil {
		t.Errorf("%d events, %v", n, err)
	}
}

func TestADamagedJournalIsSetAsideAndReported(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(raw []byte){
		"no database":       func(raw []byte) { copy(raw, "not a database at all") },
		"damage inside":     func(raw []byte) { clear(raw[len(raw)/2:]) },
		"a torn first page": func(raw []byte) { clear(raw[100:4096]) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			j, err := Open(dir, noon)
			if err != nil {
				t.Fatal(err)
			}
			for i := range int64(50) {
				write(t, j, &agenthost.Write{
					SessionID: "s", Session: session("s", i), Events: []agenthost.EventRecord{event("s", i)},
				})
			}
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "journal.db")
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			damage(raw)
			if err := os.WriteFile(path, raw, 0o600); err != nil {
				t.Fatal(err)
			}
			j = opened(t, dir)
			if loaded, err := j.Load(t.Context()); err != nil || len(loaded) != 0 {
				t.Errorf("starts with %d sessions, %v", len(loaded), err)
			}
			if n := j.Notices(); len(n) != 1 || !strings.Contains(n[0], "journal.db.damaged-20260102T120000.250Z") {
				t.Errorf("notices %q", n)
			}
			kept, err := os.ReadFile(path + ".damaged-20260102T120000.250Z")
			if err != nil || len(kept) != len(raw) {
				t.Errorf("kept %d bytes, %v", len(kept), err)
			}
			write(t, j, &agenthost.Write{SessionID: "s", Session: session("s", 1)})
		})
	}
}

func TestAJournalOfANewerProgramIsNotChanged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j, err := Open(dir, noon)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.exec(t.Context(), func(c *sqlite3.Conn) error { return c.Exec("PRAGMA user_version = 99") }); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, noon); err == nil || !strings.Contains(err.Error(), "newer") {
		t.Errorf("opened: %v", err)
	}
	if found, _ := filepath.Glob(filepath.Join(dir, "*.damaged-*")); len(found) != 0 {
		t.Errorf("set aside: %q", found)
	}
}

// Acknowledged data is in any later copy of the files, such as those after a kill.
func TestACopyAtAnyMomentContainsAllAcknowledgedWrites(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := opened(t, dir)
	for round := range int64(20) {
		for i := range int64(10) {
			seq := round*10 + i + 1
			write(t, j, &agenthost.Write{
				SessionID: "s", Session: session("s", seq), Events: []agenthost.EventRecord{event("s", seq)},
			})
		}
		snapshot := t.TempDir()
		for _, name := range []string{"journal.db", "journal.db-wal"} {
			raw, err := os.ReadFile(filepath.Join(dir, name))
			if err == nil {
				err = os.WriteFile(filepath.Join(snapshot, name), raw, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		again, err := Open(snapshot, noon)
		if err != nil {
			t.Fatal(err)
		}
		loaded, err := again.Load(t.Context())
		if err != nil || loaded[0].Session.Cursor.Seq != (round+1)*10 || loaded[0].Pending != (round+1)*10-1 {
			t.Errorf("round %d: %+v, %v", round, loaded, err)
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
