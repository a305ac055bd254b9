package owner

import (
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var agent = ID{UID: 1_900_000_001, GID: 1_900_000_000}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Programs of the directory may have made links to files that they must not get.
func TestGivenFilesAreThoseOfTheDirectoryAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tree, outside := filepath.Join(dir, "tree"), filepath.Join(dir, "outside")
	must(t, os.MkdirAll(filepath.Join(tree, "a", "b"), 0o700))
	for _, path := range []string{outside, filepath.Join(tree, "a", "b", "file"), filepath.Join(tree, "twice")} {
		must(t, os.WriteFile(path, []byte("x"), 0o600))
	}
	must(t, os.Mkdir(filepath.Join(dir, "directory"), 0o700))
	must(t, os.Symlink(outside, filepath.Join(tree, "link")))
	must(t, os.Symlink(filepath.Join(dir, "directory"), filepath.Join(tree, "a", "link")))
	must(t, os.Link(outside, filepath.Join(tree, "hard")))
	must(t, os.Link(filepath.Join(tree, "twice"), filepath.Join(tree, "a", "twice")))
	for range 2 { // it may be repeated
		must(t, Give(tree, agent))
	}
	for path, want := range map[string]ID{
		tree: agent, tree + "/a": agent, tree + "/a/b": agent, tree + "/a/b/file": agent, tree + "/link": agent,
		tree + "/a/link": agent, tree + "/twice": agent, tree + "/hard": Self(), outside: Self(),
		filepath.Join(dir, "directory"): Self(), dir: Self(),
	} {
		if got, err := OfPath(path); got != want || err != nil {
			t.Errorf("%s belongs to %v, %v; want %v", path, got, err, want)
		}
	}
}

func TestWhatIsNoDirectoryIsNotGiven(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.Symlink("/etc", filepath.Join(dir, "link")))
	must(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	for _, name := range []string{"link", "file", "missing"} {
		if err := Give(filepath.Join(dir, name), agent); err == nil {
			t.Errorf("%s was given", name)
		}
	}
}

func TestNewFilesBelongToTheOwnerOfTheirDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.Lchown(dir, agent.UID, agent.GID))
	root, err := os.OpenRoot(dir)
	must(t, err)
	defer root.Close()
	for range 2 {
		must(t, MkdirAll(root, "a/b", 0o755))
	}
	must(t, root.WriteFile("a/b/file", nil, 0o600))
	must(t, Inherit(root, "a/b/file"))
	must(t, root.Symlink("/etc/passwd", "link"))
	must(t, Inherit(root, "link"))
	for _, name := range []string{"a", "a/b", "a/b/file", "link"} {
		if got, err := OfPath(filepath.Join(dir, name)); got != agent || err != nil {
			t.Errorf("%s belongs to %v, %v", name, got, err)
		}
	}
	if got, err := OfPath("/etc/passwd"); got != Self() || err != nil {
		t.Errorf("a link was followed: %v, %v", got, err)
	}
}
