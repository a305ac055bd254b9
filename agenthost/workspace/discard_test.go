package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bellhop/protocol"
)

// tryDiscard discards what the present diff shows.
func (k *kit) tryDiscard(id, project string, paths ...string) error {
	return k.tryDiscardOf(k.shown(id, project).Snapshot, id, project, paths...)
}

func (k *kit) tryDiscardOf(snapshot, id, project string, paths ...string) error {
	_, err := k.Discard(k.Context(), id, project, &protocol.DiscardRequest{Paths: paths, Snapshot: snapshot})
	return err
}

// shown returns the present diff, or one that names nothing if there is none.
func (k *kit) shown(id, project string) *protocol.Diff {
	diff, err := k.Diff(k.Context(), id, project)
	if err != nil {
		return &protocol.Diff{Snapshot: "none", Head: "none"}
	}
	return diff
}

// A discard changes what was shown, and no newer work.
func TestADiscardNamesWhatWasShown(t *testing.T) {
	t.Parallel()
	k, _, dir := cloned(t)
	write(t, dir, "README", "shown\n")
	write(t, dir, "other", "shown\n")
	write(t, dir, "new", "shown\n")
	shown := k.diff(uuid, "shop")
	hunk := "@@ -1 +1 @@\n-shop\n+shown\n"

	write(t, dir, "README", "newer work\n")
	write(t, dir, "other", "also newer\n")
	hint := errorHint(t, k.tryDiscardOf(shown.Snapshot, uuid, "shop", "new", "README"), protocol.CodeConflict)
	equal(t, "hint", hint, "Look at the changes again")
	_, err := k.tryDiscardHunkOf(shown.Snapshot, uuid, "shop", "README", hunk)
	errorHint(t, err, protocol.CodeConflict)
	equal(t, "newer work", string(mustRead(t, filepath.Join(dir, "README"))), "newer work\n")
	equal(t, "nothing is changed", string(mustRead(t, filepath.Join(dir, "new"))), "shown\n")

	// Files that are not named may have changed, and what is discarded already stays so.
	must(t, k.tryDiscardOf(shown.Snapshot, uuid, "shop", "new"))
	run(t, dir, "commit", "--quiet", "--allow-empty", "-m", "meanwhile")
	must(t, k.tryDiscardOf(shown.Snapshot, uuid, "shop", "new"))
	write(t, dir, "new", "newer work\n")
	errorHint(t, k.tryDiscardOf(shown.Snapshot, uuid, "shop", "new"), protocol.CodeConflict)
	equal(t, "a repeat after newer work", string(mustRead(t, filepath.Join(dir, "new"))), "newer work\n")
	write(t, dir, "README", "shop\n")
	must1(t)(k.tryDiscardHunkOf(shown.Snapshot, uuid, "shop", "README", hunk))

	for _, snapshot := range []string{strings.Repeat("a", 40), "HEAD", "--all", run(t, dir, "rev-parse", "HEAD")} {
		errorHint(t, k.tryDiscardOf(snapshot, uuid, "shop", "new"), protocol.CodeConflict)
	}
	errorHint(t, k.tryDiscardOf("", uuid, "shop", "new"), protocol.CodeInvalid)
	_, err = k.tryDiscardHunkOf("", uuid, "shop", "README", hunk)
	errorHint(t, err, protocol.CodeInvalid)
}

// What the host could not read it does not discard.
func TestADiscardNamesWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	k, _, dir := cloned(t)
	shell(t, dir, "rm README; mkfifo README; truncate -s 100M big; mkdir d; echo x >d/x")
	for _, name := range []string{"README", "big"} {
		err := k.tryDiscard(uuid, "shop", "d/x", name)
		errorHint(t, err, protocol.CodeConflict)
		if !strings.Contains(err.Error(), name) {
			t.Error(err)
		}
	}
	must(t, k.tryDiscard(uuid, "shop", "d/x"))
	shell(t, dir, "echo y >d; rm -rf .git; mkfifo .git")
	must(t, k.tryDiscard(uuid, "shop", "d"))
	if exists(filepath.Join(dir, "d")) {
		t.Error("the file is still there")
	}
}

func TestDiscardedFilesAreAsTheSessionBegan(t *testing.T) {
	t.Parallel()
	k, _, dir := cloned(t)
	special := []string{"--help", "a b", "ü", "line\nend", ":(glob)*", "*"}
	for _, name := range special {
		write(t, dir, name, "x\n")
	}
	write(t, dir, "README", "changed\n")
	must(t, os.Chmod(filepath.Join(dir, "README"), 0o755)) //nolint:gosec // a change of mode is discarded too
	write(t, dir, "new/deep/a.txt", "a\n")
	write(t, dir, "new/b.txt", "b\n")
	must(t, os.Remove(filepath.Join(dir, "old.txt")))
	k.commit(uuid, "shop", "Work")
	write(t, dir, "README", "changed again\n")
	write(t, dir, "ignored/c.txt", "c\n")

	must(t, k.tryDiscard(uuid, "shop", append(special, "README", "old.txt", "new/deep/a.txt")...))
	equal(t, "the diff", fileLines(k.diff(uuid, "shop")), "added new/b.txt")
	if exists(filepath.Join(dir, "new/deep")) || !exists(filepath.Join(dir, "ignored/c.txt")) {
		t.Error("empty directories are removed, and nothing else")
	}
	must(t, k.tryDiscard(uuid, "shop", "README", "new/deep/a.txt", "never/was/there"))
	equal(t, "again", fileLines(k.diff(uuid, "shop")), "added new/b.txt")
	k.commit(uuid, "shop", "Discard")
	equal(t, "committed", run(t, dir, "diff", "--name-status", "main"), "A\tnew/b.txt")
}

func TestDiscardedLinksAreMadeAgain(t *testing.T) {
	t.Parallel()
	shop := newRepository(t)
	must(t, os.Symlink("README", filepath.Join(shop, "link")))
	run(t, shop, "add", ".")
	run(t, shop, "commit", "--quiet", "-m", "link")
	k := open(t, map[string]Project{"shop": {Path: shop}})
	dir := k.session("s1", "shop")
	must(t, os.Remove(filepath.Join(dir, "link")))
	write(t, dir, "link", "a file\n")
	must(t, os.Remove(filepath.Join(dir, "old.txt")))
	outside := filepath.Join(t.TempDir(), "outside")
	write(t, filepath.Dir(outside), "outside", "mine\n")
	must(t, os.Symlink(outside, filepath.Join(dir, "old.txt")))
	must(t, k.tryDiscard("s1", "shop", "link", "old.txt"))
	equal(t, "the diff", fileLines(k.diff("s1", "shop")), "")
	equal(t, "outside", string(mustRead(t, outside)), "mine\n")
}

func TestDiscardRefusesWhatItCannotDiscard(t *testing.T) {
	t.Parallel()
	inner, shop := newRepository(t), newRepository(t)
	write(t, shop, "src/a.txt", "a\n")
	write(t, shop, "doc/a.txt", "doc\n")
	run(t, shop, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner, "inner")
	run(t, shop, "add", ".")
	run(t, shop, "commit", "--quiet", "-m", "more")
	k := open(t, map[string]Project{"shop": {Path: shop}, "shared": {Path: shop, InPlace: true}})
	dir := k.session("s1", "shop")
	write(t, dir, "README", "changed\n")
	must(t, os.RemoveAll(filepath.Join(dir, "doc")))
	must(t, os.Symlink("src", filepath.Join(dir, "doc")))
	must(t, os.Remove(filepath.Join(dir, "old.txt")))
	write(t, dir, "old.txt/x", "x\n")
	config := mustRead(t, filepath.Join(dir, ".git", "config"))
	for name, c := range map[string]struct {
		path string
		want protocol.Code
	}{
		"no name":                         {"", protocol.CodeInvalid},
		"the parent":                      {"../README", protocol.CodeInvalid},
		"a parent within":                 {"src/../../x", protocol.CodeInvalid},
		"an absolute one":                 {"/etc/passwd", protocol.CodeInvalid},
		"a file of git":                   {".git/config", protocol.CodeInvalid},
		"a file of a submodule's git":     {"inner/.GIT/config", protocol.CodeInvalid},
		"a NUL":                           {"a\x00b", protocol.CodeInvalid},
		"a long one":                      {strings.Repeat("x", protocol.MaxPath+1), protocol.CodeInvalid},
		"a directory":                     {"src", protocol.CodeConflict},
		"a submodule":                     {"inner", protocol.CodeConflict},
		"a file behind a link":            {"doc/a.txt", protocol.CodeConflict},
		"a file that is a directory now":  {"old.txt", protocol.CodeConflict},
		"a file that has become a parent": {"README/x", protocol.CodeConflict},
	} {
		if err := k.tryDiscard("s1", "shop", "README", c.path); protocol.CodeOf(err) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if protocol.CodeOf(k.tryDiscard("s1", "shop")) != protocol.CodeInvalid {
		t.Error("no paths")
	}
	equal(t, "nothing is changed", string(mustRead(t, filepath.Join(dir, "README"))), "changed\n")
	equal(t, "the linked file", string(mustRead(t, filepath.Join(dir, "src/a.txt"))), "a\n")
	equal(t, "git's file", string(mustRead(t, filepath.Join(dir, ".git", "config"))), string(config))
	k.session("s2", "shared")
	errorHint(t, k.tryDiscard("s2", "shared", "README"), protocol.CodeConflict)
}
