package replacefile_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"bellhop/internal/replacefile"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// names returns what is in a folder.
func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return strings.Join(all, " ")
}

func TestWriteReplacesContentAndMode(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "state.json")
	for content, perm := range map[string]fs.FileMode{"one": 0o600, "": 0o600, "a longer content": 0o644} {
		must(t, replacefile.Write(path, []byte(content), perm))
		got, err := os.ReadFile(path)
		must(t, err)
		info, err := os.Stat(path)
		must(t, err)
		if string(got) != content || runtime.GOOS != "windows" && info.Mode() != perm {
			t.Errorf("%q with %v, want %q with %v", got, info.Mode(), content, perm)
		}
	}
	if got := names(t, dir); got != "state.json" {
		t.Errorf("the folder has %s", got)
	}
}

// A reader that has opened the file keeps the old content: nothing writes into it.
func TestAnOpenedFileKeepsItsContent(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.json")
	must(t, replacefile.Write(path, []byte("old"), 0o600))
	before, err := os.Stat(path)
	must(t, err)
	must(t, replacefile.Write(path, []byte("new"), 0o600))
	after, err := os.Stat(path)
	must(t, err)
	if os.SameFile(before, after) {
		t.Error("the file was written in place")
	}
}

func TestChangeLeavesAFileThatHasTheContent(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.json")
	for content, same := range map[string]bool{"old": true, "new": false} {
		must(t, replacefile.Write(path, []byte("old"), 0o600))
		before, err := os.Stat(path)
		must(t, err)
		must(t, replacefile.Change(path, []byte(content), 0o600))
		after, err := os.Stat(path)
		must(t, err)
		if got, err := os.ReadFile(path); os.SameFile(before, after) != same || string(got) != content {
			t.Errorf("%q was written: %q, %v", content, got, err)
		}
	}
}

func TestAFailedWriteLeavesTheFolderAsItWas(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "taken", "inner"), 0o700)) // no file takes its place
	if err := replacefile.Write(filepath.Join(dir, "taken"), []byte("x"), 0o600); err == nil {
		t.Error("a folder was replaced")
	}
	if got := names(t, dir); got != "taken" {
		t.Errorf("the folder has %s", got)
	}
	if err := replacefile.Write(filepath.Join(dir, "missing", "file"), []byte("x"), 0o600); err == nil {
		t.Error("a file in no folder was written")
	}
}
