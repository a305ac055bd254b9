package configfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"bellhop/internal/configfile"
	"bellhop/internal/owner"
)

// The home of a session can belong to another user than the host's. Then its files do, too.
func TestFilesBelongToTheOwnerOfTheHome(t *testing.T) {
	t.Parallel()
	home, id := t.TempDir(), owner.ID{UID: 1_900_000_001, GID: 1_900_000_000}
	if err := owner.Give(home, id); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := errors.Join(
			configfile.Write(home, "a/b/c.json", "{}", nil, nil), configfile.Link(home, "d/e", "/etc/hostname"),
		); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a", "a/b", "a/b/c.json", "d", "d/e"} {
		if got, err := owner.OfPath(filepath.Join(home, name)); err != nil || got != id {
			t.Errorf("%s belongs to %v, %v", name, got, err)
		}
	}
}

// A program can replace any folder of its home, with the host's own user, too.
func TestLinksLeadNowhere(t *testing.T) {
	t.Parallel()
	outside, home := t.TempDir(), t.TempDir()
	if err := errors.Join(
		os.Mkdir(filepath.Join(outside, "there"), 0o700), os.Symlink(outside, filepath.Join(home, "link")),
	); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"link/c", "link/there/c", "link/new/c"} {
		if err := configfile.Write(home, name, "{}", nil, nil); err == nil {
			t.Errorf("%s was written", name)
		}
		if err := configfile.Link(home, name, "/etc/hostname"); err == nil {
			t.Errorf("%s was made", name)
		}
	}
	for _, dir := range []string{outside, filepath.Join(outside, "there")} {
		if entries, err := os.ReadDir(dir); err != nil || dir == outside && len(entries) != 1 || dir != outside && len(entries) > 0 {
			t.Errorf("outside: %v, %v", entries, err)
		}
	}
}

// The folder is exchanged for a link to another one again and again.
func TestAFolderThatIsExchangedLeadsNowhere(t *testing.T) {
	t.Parallel()
	outside, home := t.TempDir(), t.TempDir()
	folder, spare := filepath.Join(home, "folder"), filepath.Join(home, "spare")
	if err := errors.Join(os.Mkdir(folder, 0o700), os.Symlink(outside, spare)); err != nil {
		t.Fatal(err)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				_ = errors.Join(os.Rename(folder, folder+"-2"), os.Rename(spare, folder), os.Rename(folder, spare), os.Rename(folder+"-2", folder))
			}
		}
	}()
	written := 0
	for range 300 {
		if configfile.Write(home, "folder/file", "{}", nil, nil) == nil {
			written++
		}
	}
	close(stop)
	<-stopped
	if entries, err := os.ReadDir(outside); err != nil || len(entries) > 0 || written == 0 {
		t.Errorf("outside: %v, %v; %d of 300 written", entries, err, written)
	}
}
