package journal

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"bellhop/agenthost"
)

// The journal has what users and agents wrote. Another user of the machine cannot open it, even if
// its directory or its files were made with wider modes.
func TestTheJournalIsPrivateWhateverWasThere(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	files := []string{"journal.db", "journal.db-wal", "journal.db-shm"}
	check := func(when string) {
		t.Helper()
		for _, name := range append([]string{"."}, files...) {
			info, err := os.Stat(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s: %s has the mode %o", when, name, info.Mode().Perm())
			}
		}
	}
	fill := func(j *Journal) { write(t, j, &agenthost.Write{SessionID: "s", Session: session("s", 1)}) }
	if err := errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, 0o777)); err != nil { //nolint:gosec // the modes of before
		t.Fatal(err)
	}
	j := opened(t, dir)
	fill(j)
	check("a directory that was open to all")
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		path := filepath.Join(dir, name)
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err == nil {
			err = errors.Join(file.Close(), os.Chmod(path, 0o666)) //nolint:gosec // as above
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	j = opened(t, dir)
	fill(j)
	check("files that were open to all")
	loaded, err := j.Load(t.Context())
	if err != nil || len(loaded) != 1 {
		t.Errorf("the journal has lost its session: %v, %v", loaded, err)
	}
}
