//go:build unix

package openflag

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestOnlySmallRegularFilesAreRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{
		os.WriteFile(at("file"), []byte("four"), 0o600), os.WriteFile(at("long"), []byte("five5"), 0o600),
		os.Symlink("file", at("link")), os.Symlink("/dev/zero", at("zero")), syscall.Mkfifo(at("fifo"), 0o600),
		os.Mkdir(at("dir"), 0o700),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if content, err := ReadFile(at("file"), 4); err != nil || string(content) != "four" {
		t.Errorf("%q, %v", content, err)
	}
	for name, want := range map[string]error{
		"long": fs.ErrInvalid, "fifo": fs.ErrInvalid, "dir": fs.ErrInvalid, "none": fs.ErrNotExist, "link": syscall.ELOOP, "zero": syscall.ELOOP,
	} {
		if _, err := ReadFile(at(name), 4); !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
