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
		os.MkdirAll(at("dir/sub"), 0o700), os.WriteFile(at("dir/sub/file"), []byte("deep"), 0o600), os.Symlink("dir", at("away")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"file": "four", "dir/sub/file": "deep"} {
		if content, err := ReadFile(dir, name, 4); err != nil || string(content) != want {
			t.Errorf("%s: %q, %v", name, content, err)
		}
	}
	for name, want := range map[string]error{
		"long": fs.ErrInvalid, "fifo": fs.ErrInvalid, "dir": fs.ErrInvalid, "none": fs.ErrNotExist, "link": syscall.ELOOP, "zero": syscall.ELOOP,
		"away/sub/file": syscall.ENOTDIR, "fifo/file": syscall.ENOTDIR, "dir/none/file": fs.ErrNotExist,
	} {
		if _, err := ReadFile(dir, name, 4); !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestADirectoryIsListedWithoutLinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := errors.Join(
		os.MkdirAll(filepath.Join(dir, "a/b"), 0o700), os.WriteFile(filepath.Join(dir, "a/b/c"), nil, 0o600),
		os.WriteFile(filepath.Join(dir, "a/b/d"), nil, 0o600), os.Mkdir(filepath.Join(dir, "a/empty"), 0o700),
		os.Symlink("a", filepath.Join(dir, "link")), syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"a/b": 2, "a": 2, "a/empty": 0} {
		if entries, err := ReadDir(dir, name, 10); err != nil || len(entries) != want {
			t.Errorf("%s: %v, %v", name, entries, err)
		}
	}
	if entries, err := ReadDir(dir, "a/b", 1); err != nil || len(entries) != 1 {
		t.Errorf("one: %v, %v", entries, err)
	}
	for _, name := range []string{"link", "link/b", "fifo", "a/b/c"} {
		if _, err := ReadDir(dir, name, 10); !errors.Is(err, syscall.ENOTDIR) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
