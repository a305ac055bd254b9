package workspace

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bellhop/agenthost/workspace/worktreetest"
	"bellhop/protocol"
)

// Files whose names are not UTF-8, or have control characters, are shown distinct, and each is discarded alone.
func TestNamesThatAreNoTextAreShownAndDiscarded(t *testing.T) {
	t.Parallel()
	k, _, dir := cloned(t)
	names := []string{
		"caf\xe9", "caf\xe8", "caf\ufffd", `"caf\351"`, "d\xff/x\xfe", "\xed\xa0\x80", "new\nline", "esc\x1b[31m", `back\slash`, `quo"te`, "ü\xff",
		"plain",
	}
	for _, name := range names {
		write(t, dir, name, "x\n")
	}
	diff := k.diff(uuid, "shop")
	var want []string
	for _, name := range names {
		want = append(want, protocol.ShownPath(name))
	}
	got := pathsOf(diff)
	slices.Sort(want)
	if slices.Sort(got); !slices.Equal(got, want) || len(slices.Compact(got)) != len(names) {
		t.Errorf("shown %q, want %q", got, want)
	}
	for _, inPatch := range []string{`+++ "b/caf\351"`, `+++ "b/caf\350"`, `+++ "b/d\377/x\376"`, `+++ "b/\303\274\377"`} {
		if !strings.Contains(diff.Patch, inPatch+"\n") {
			t.Errorf("%s is not in the patch:\n%s", inPatch, diff.Patch)
		}
	}
	hunk := "@@ -0,0 +1 @@\n+x\n"
	_, err := k.tryDiscardHunk(uuid, "shop", protocol.ShownPath("ü\xff"), hunk)
	must(t, err)
	must(t, k.tryDiscard(uuid, "shop", protocol.ShownPath("caf\xe9"), protocol.ShownPath("d\xff/x\xfe"), "new\nline"))
	for _, name := range names {
		isGone := slices.Contains([]string{"caf\xe9", "d\xff/x\xfe", "new\nline", "ü\xff"}, name)
		if exists(filepath.Join(dir, name)) == isGone {
			t.Errorf("%q: gone %v", name, !isGone)
		}
	}
	if exists(filepath.Join(dir, "d\xff")) {
		t.Error("the directory is still there")
	}
	if done := k.commit(uuid, "shop", "Names"); done.Files != len(names)-4 {
		t.Errorf("committed %d files", done.Files)
	}
	equal(t, "status", worktreetest.Shell(t, dir, "git status --porcelain"), "")
	only := k.onlyLines(dir)
	worktreetest.Shell(t, dir, `echo a >$'caf\xe9'; echo b >$'caf\xea'`)
	equal(t, "only copies", k.onlyLines(dir), `changed "caf\351" 1; changed "caf\352" 1; `+only)
}

// A file that became a directory, or a link, is as the session began after one request, and so is the reverse.
func TestFilesThatBecameDirectoriesAreDiscarded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ first, then string }{
		"a file became a directory":        {"echo f >x", "rm x; mkdir -p x/d; echo a >x/a; echo b >x/d/b"},
		"a directory became a file":        {"mkdir -p x/d; echo a >x/a; echo b >x/d/b", "rm -r x; echo f >x"},
		"a link became a directory":        {"ln -s README x", "rm x; mkdir x; echo a >x/a"},
		"a directory became a link":        {"mkdir x y; echo a >x/a; echo a >y/a", "rm -r x; ln -s y x"},
		"a file became a link":             {"echo f >x; mkdir y; echo a >y/a", "rm x; ln -s y x"},
		"a link became a file":             {"mkdir y; echo a >y/a; ln -s y x", "rm x; echo f >x"},
		"a file was moved into itself":     {"seq 20 >x", "mv x y; mkdir x; mv y x/y"},
		"a file became an empty directory": {"echo f >x", "rm x; mkdir -p x/y"},
		"a file below one became a directory, and one became a file": {
			"mkdir -p a/b; echo f >a/b/x; mkdir a/c; echo g >a/c/g", "rm a/b/x; mkdir a/b/x; echo y >a/b/x/y; rm -r a/c; echo c >a/c",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shop := newRepository(t)
			worktreetest.Shell(t, shop, c.first+"; git add -A; git commit -qm second")
			k := open(t, map[string]Project{"shop": {Path: shop}})
			dir := k.session(uuid, "shop")
			worktreetest.Shell(t, dir, c.then)
			shown := k.diff(uuid, "shop")
			paths := pathsOf(shown)
			for _, f := range shown.Files {
				if f.OldPath != "" {
					paths = append(paths, f.OldPath)
				}
			}
			done, err := k.Discard(t.Context(), uuid, "shop", &protocol.DiscardRequest{Paths: append(paths, paths...), Snapshot: shown.Snapshot})
			must(t, err)
			if done.Files != len(paths) {
				t.Errorf("%d files were discarded, of %q", done.Files, paths)
			}
			equal(t, "status", run(t, dir, "status", "--porcelain"), "")
			must(t, k.tryDiscardOf(shown.Snapshot, uuid, "shop", paths...))
		})
	}
}

// What is not among the changes keeps a directory in its place.
func TestAnIgnoredFileIsNotDiscardedWithItsDirectory(t *testing.T) {
	t.Parallel()
	shop := newRepository(t)
	worktreetest.Shell(t, shop, "echo '*.key' >>.gitignore; git commit -qam rules")
	k := open(t, map[string]Project{"shop": {Path: shop}})
	dir := k.session(uuid, "shop")
	worktreetest.Shell(t, dir, "rm README; mkdir README; echo a >README/a; echo secret >README/my.key")
	err := k.tryDiscard(uuid, "shop", "README", "README/a")
	errorHint(t, err, protocol.CodeConflict)
	if !strings.Contains(err.Error(), "README/my.key") || !exists(filepath.Join(dir, "README/a")) {
		t.Error(err)
	}
	worktreetest.Shell(t, dir, "rm README/my.key")
	must(t, k.tryDiscard(uuid, "shop", "README", "README/a"))
	equal(t, "shown", fileLines(k.diff(uuid, "shop")), "")
}

// Numbers count everything, also what an answer leaves out.
func TestCountsAreCounts(t *testing.T) {
	t.Parallel()
	k, _, dir := cloned(t)
	worktreetest.Shell(t, dir, "mkdir many; for i in $(seq 2600); do echo $i >many/$i; done; printf '' >README")
	diff := k.diff(uuid, "shop")
	want := protocol.DiffTotal{Files: 2601, Additions: 2600, Deletions: 1}
	if len(diff.Files) != maxDiffFiles || !diff.Truncated || diff.Total == nil || *diff.Total != want {
		t.Errorf("%d files, truncated %v, total %+v", len(diff.Files), diff.Truncated, diff.Total)
	}
	if again := k.diff(uuid, "shop"); again.Total == nil || *again.Total != want {
		t.Errorf("again %+v", again.Total)
	}
	req := k.commitRequest(uuid, "shop", "Many")
	req.At = time.Unix(1_800_000_000, 0)
	for range 2 { // the second time is a repeat
		done, err := k.Commit(t.Context(), uuid, "shop", req)
		must(t, err)
		if done.Files != want.Files || done.Additions != want.Additions || done.Deletions != want.Deletions {
			t.Errorf("%+v", done)
		}
	}
}

// A repository without all of its objects, or with a damaged index, is worked with, or named as the reason.
func TestIncompleteRepositories(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"a truncated index":                   "truncate -s 40 .git/index",
		"an empty index":                      ": >.git/index",
		"an index of garbage":                 "head -c 5000 /dev/urandom >.git/index",
		"a directory as index":                "rm .git/index; mkdir .git/index",
		"no index and no files":               "rm -r .git/index README old.txt",
		"a shallow clone":                     replaced("--depth=1"),
		"a blobless clone":                    replaced("--filter=blob:none"),
		"a treeless clone":                    replaced("--filter=tree:0"),
		"a clone without a checkout":          replaced("--no-checkout"),
		"a blobless clone without a checkout": replaced("--filter=blob:none --no-checkout"),
		"a treeless clone without a checkout": replaced("--filter=tree:0 --no-checkout"),
		"missing blobs":                       replaced("") + "; git unpack-objects -q </dev/null; for o in $(git rev-parse HEAD:README HEAD:old.txt); do rm -f .git/objects/${o:0:2}/${o:2}; done",
		"a missing tree":                      replaced("") + "; o=$(git rev-parse HEAD:); rm -f .git/objects/${o:0:2}/${o:2}",
		"a missing commit":                    replaced("") + "; o=$(git rev-parse HEAD); rm -f .git/objects/${o:0:2}/${o:2}",
		"a damaged object":                    replaced("") + "; o=$(git rev-parse HEAD:); chmod u+w .git/objects/${o:0:2}/${o:2}; echo x >.git/objects/${o:0:2}/${o:2}",
	} {
		for _, project := range []string{"shop", ""} { // a clone reads the project's objects, a repository of its own has none but its own
			t.Run(name+" "+project, func(t *testing.T) {
				t.Parallel()
				k, bare, dir := withRemote(t)
				if project == "" {
					dir = k.session(uuid, "")
					write(t, dir, "README", "own\n")
				}
				run(t, bare, "config", "uploadpack.allowFilter", "true")
				run(t, bare, "config", "uploadpack.allowAnySHA1InWant", "true")
				worktreetest.Shell(t, dir, strings.ReplaceAll(script, "BARE", bare)+"; echo more >>README; echo new >new; seq 30 >old.txt")
				k.tryAllSteps(project, dir)
			})
		}
	}
}

// tryAllSteps checks that the steps of shipping work, or say in a sentence why they do not.
func (k *kit) tryAllSteps(project, dir string) {
	k.Helper()
	try := func(what string, err error) bool {
		known := (*protocol.Error)(nil)
		k.Logf("%s: %v", what, err)
		if err != nil && (!asError(err, &known) || known.Hint == "" || known.Code == protocol.CodeInternal ||
			strings.Contains(known.Message+known.Hint, "fatal") || strings.Contains(known.Message+known.Hint, "error:")) {
			k.Errorf("%s: %v", what, err)
		}
		return err == nil
	}
	diff, err := k.Diff(k.Context(), uuid, project)
	if !try("diff", err) {
		diff = &protocol.Diff{Snapshot: "none", Head: "none"}
	}
	_, err = k.Commit(k.Context(), uuid, project, &protocol.CommitRequest{Message: "M", Author: ada, Snapshot: diff.Snapshot, Head: diff.Head})
	try("commit", err)
	if project != "" {
		_, err = k.tryPush("")
		try("push", err)
		_, err = k.FetchRemote(k.Context(), uuid, project, nil)
		try("fetch", err)
	}
	try("discard", k.tryDiscardOf(diff.Snapshot, uuid, project, "README", "new"))
	_, err = k.Info(k.Context(), dir)
	try("description", err)
}

// What a project lacks, or loses while a session works, is named as the reason.
func TestAnIncompleteProject(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]string{"a blob": "HEAD:README", "a tree": "HEAD:", "a commit": "HEAD"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, shop, dir := cloned(t)
			addOrigin(t, shop, bareOf(t, shop))
			write(t, dir, "README", "changed\n")
			worktreetest.Shell(t, shop, "o=$(git rev-parse "+lost+"); rm -f .git/objects/${o:0:2}/${o:2}")
			k.tryAllSteps("shop", dir)
		})
	}
	shop := newRepository(t)
	run(t, shop, "config", "uploadpack.allowFilter", "true")
	partial := filepath.Join(t.TempDir(), "partial")
	run(t, shop, "clone", "--quiet", "--filter=blob:none", "--no-checkout", "file://"+shop, partial)
	k := open(t, map[string]Project{"shop": {Path: partial}})
	_, _, err := k.Dir(t.Context(), uuid, "shop")
	equal(t, "hint", errorHint(t, err, protocol.CodeConflict), hintObjects)
}

// replaced makes another clone of the remote, on a branch of its own, in the place of a workspace's repository.
func replaced(options string) string {
	return "git clone -q " + options + " file://BARE ../other 2>/dev/null; rm -rf .git; mv ../other/.git .git; rm -rf ../other; " +
		"git checkout -q -b work 2>/dev/null || git symbolic-ref HEAD refs/heads/work; git rev-parse origin/main >.git/refs/heads/work"
}
