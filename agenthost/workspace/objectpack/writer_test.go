package objectpack

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}

// newPack returns a pack in a new repository, and a function that gives it to git, which checks every object.
func newPack(t *testing.T, format string) (w *Writer, repository string, give func()) {
	t.Helper()
	repository = t.TempDir()
	git(t, repository, "init", "-q", "--bare", "--object-format="+format, ".")
	path := filepath.Join(repository, "objects/pack/pack-new.pack")
	file, err := os.Create(path)
	must(t, err)
	t.Cleanup(func() { _ = file.Close() })
	w, err = New(file, hashSizes[format])
	must(t, err)
	return w, repository, func() {
		t.Helper()
		must(t, w.Close())
		git(t, repository, "index-pack", "--strict", path)
	}
}

var hashSizes = map[string]int{"sha1": 20, "sha256": 32}

func TestGitReadsThePack(t *testing.T) {
	t.Parallel()
	for format := range hashSizes {
		for _, count := range []int{0, 1, 300} {
			t.Run(fmt.Sprint(format, count), func(t *testing.T) {
				t.Parallel()
				w, repository, give := newPack(t, format)
				contents := map[string][]byte{}
				for i := range count {
					content := make([]byte, []int{0, 1, 15, 16, 2047, 2048, 300_000}[i%7])
					for j := range content {
						content[j] = byte(rand.IntN(4))
					}
					id, err := w.Blob(bytes.NewReader(content), int64(len(content)))
					must(t, err)
					contents[id] = content
				}
				if w.Objects() != len(contents) {
					t.Errorf("%d objects, %d different contents", w.Objects(), len(contents))
				}
				give()
				checked := 0
				for id, content := range contents {
					if checked++; checked > 20 {
						break
					}
					if got := git(t, repository, "cat-file", "blob", id); got != string(content) {
						t.Errorf("%s has %d bytes, want %d", id, len(got), len(content))
					}
				}
			})
		}
	}
}

// TestTreesAreThoseOfGit writes trees of names that sort differently with a slash at their end.
func TestTreesAreThoseOfGit(t *testing.T) {
	t.Parallel()
	for format := range hashSizes {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			w, repository, give := newPack(t, format)
			blob, err := w.Blob(strings.NewReader("x"), 1)
			must(t, err)
			var files []File
			var entries strings.Builder
			for i, path := range []string{"a-b", "a.c", "a/x", "a/y/z", "a0", "ab/c", "b", "b-/c", "z/a/b/c/d", "z/a/b0", "z/a/b-"} {
				files = append(files, File{path, []uint32{0o100644, 0o100755, 0o120000}[i%3], blob})
			}
			files = append(files, File{"m", 0o160000, blob})
			slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
			for _, f := range files {
				fmt.Fprintf(&entries, "%o %s\t%s\n", f.Mode, f.ID, f.Path)
			}
			tree, err := w.Tree(files, func(string) bool { return false })
			must(t, err)
			commit, err := w.Commit("tree " + tree + "\nauthor a <a> 0 +0000\ncommitter a <a> 0 +0000\n\nmessage\n")
			must(t, err)
			give()
			cmd := exec.CommandContext(t.Context(), "git", "update-index", "--index-info")
			cmd.Dir, cmd.Stdin = repository, strings.NewReader(entries.String())
			must(t, cmd.Run())
			if want := strings.TrimSpace(git(t, repository, "write-tree")); tree != want {
				t.Errorf("%s, git %s:\n%s", tree, want, git(t, repository, "ls-tree", "-r", tree))
			}
			if got := strings.TrimSpace(git(t, repository, "rev-parse", commit+"^{tree}")); got != tree {
				t.Errorf("the commit has the tree %s", got)
			}

			again, _, _ := newPack(t, format)
			id, err := again.Tree(files, func(string) bool { return true })
			if err != nil || id != tree || again.Objects() != 0 {
				t.Errorf("%s, %v, %d objects that the repository has", id, err, again.Objects())
			}
		})
	}
}

func TestWhatIsNoTreeIsRefused(t *testing.T) {
	t.Parallel()
	w, _, _ := newPack(t, "sha1")
	id := strings.Repeat("a", 40)
	for _, paths := range [][]string{
		{"a", "a"}, {"b", "a"}, {"a", "a/b"}, {"a", "a-", "a/b"}, {"/a"}, {"a//b"}, {"a/"}, {""},
	} {
		var files []File
		for _, path := range paths {
			files = append(files, File{path, 0o100644, id})
		}
		if got, err := w.Tree(files, func(string) bool { return false }); err == nil {
			t.Errorf("%q: %s", paths, got)
		}
	}
	if _, err := w.Tree([]File{{"a", 0o100644, "HEAD"}}, func(string) bool { return false }); err == nil {
		t.Error("an id that is none")
	}
}

func TestContentOfAnotherSizeIsRefused(t *testing.T) {
	t.Parallel()
	w, _, _ := newPack(t, "sha1")
	if _, err := w.Blob(strings.NewReader("short"), 6); !errors.Is(err, errSize) {
		t.Error(err)
	}
}
