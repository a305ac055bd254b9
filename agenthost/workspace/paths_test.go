package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bellhop/protocol"
)

// found returns the paths of a list, separated by spaces.
func found(t *testing.T, list *protocol.PathList, err error) string {
	t.Helper()
	must(t, err)
	return strings.Join(list.Paths, " ")
}

func TestTheFilesOfASessionAreThoseOfItsWorkTree(t *testing.T) {
	t.Parallel()
	shop := newRepository(t)
	clock := time.Now()
	k := open(t, map[string]Project{"shop": {Path: shop}})
	k.now = func() time.Time { return clock }
	dir := k.session("s1", "shop")
	write(t, dir, "src/new.go", "package src\n")
	write(t, dir, "ignored/secret.txt", "not listed\n")
	write(t, dir, "bad\nname", "not listed\n")
	list, err := k.Paths(t.Context(), "s1", "shop", "")
	equal(t, "all", found(t, list, err), "src/ README old.txt .gitignore src/new.go")
	list, err = k.Paths(t.Context(), "s1", "shop", "NEW")
	equal(t, "in capitals", found(t, list, err), "src/new.go")
	list, err = k.Paths(t.Context(), "s1", "shop", "sn.go")
	equal(t, "scattered letters", found(t, list, err), "src/new.go")

	write(t, dir, "src/later.go", "package src\n")
	clock = clock.Add(pathsAge)
	list, err = k.Paths(t.Context(), "s1", "shop", "later")
	equal(t, "after a while", found(t, list, err), "src/later.go")

	_, err = k.Paths(t.Context(), "s2", "shop", "")
	errorHint(t, err, protocol.CodeNotFound)
	_, err = k.Paths(t.Context(), "s1", "shop", strings.Repeat("x", protocol.MaxPathQuery+1))
	errorHint(t, err, protocol.CodeInvalid)
}

func TestEveryFileOfASessionIsListedWithWhatGitIgnores(t *testing.T) {
	t.Parallel()
	shop := newRepository(t)
	k := open(t, map[string]Project{"shop": {Path: shop}})
	dir := k.session("s1", "shop")
	write(t, dir, "src/new.go", "package src\n")
	write(t, dir, "ignored/deep/.env", "KEY=1\n")
	run(t, dir, "init", "--quiet", "inner")
	write(t, dir, "inner/x.pem", "of a repository inside\n")
	must(t, os.Symlink("/etc", filepath.Join(dir, "link")))
	var all []string
	each := func(path string, isIgnored bool) { all = append(all, fmt.Sprintf("%s %v", path, isIgnored)) }
	must(t, k.EachFile(t.Context(), "s1", "shop", each))
	slices.Sort(all)
	equal(t, "all", strings.Join(all, ", "), ".gitignore false, README false, ignored/deep/.env true, inner/x.pem false, "+
		"link false, old.txt false, src/new.go false")
	errorHint(t, k.EachFile(t.Context(), "s2", "shop", each), protocol.CodeNotFound)
	deep := strings.Repeat("d/", k.limits.Depth+1)
	write(t, dir, deep+"x.pem", "deeper than the host looks\n")
	errorHint(t, k.EachFile(t.Context(), "s1", "shop", each), protocol.CodeConflict)
	must(t, os.RemoveAll(filepath.Join(dir, "d")))
	k.limits.Entries = 3
	errorHint(t, k.EachFile(t.Context(), "s1", "shop", each), protocol.CodeConflict)
}

func TestTheFilesOfADirectoryWithoutGitAreListed(t *testing.T) {
	t.Parallel()
	plain := t.TempDir()
	write(t, plain, "notes.txt", "notes\n")
	k := open(t, map[string]Project{"plain": {Path: plain}})
	k.session("s1", "plain")
	list, err := k.Paths(t.Context(), "s1", "plain", "note")
	equal(t, "paths", found(t, list, err), "notes.txt")
	_, err = k.ProjectPaths(t.Context(), "plain", "", "note")
	errorHint(t, err, protocol.CodeConflict)
	write(t, k.session("own", ""), "hello.md", "hello\n")
	list, err = k.Paths(t.Context(), "own", "", "hello")
	equal(t, "a session without a project", found(t, list, err), "hello.md")
}

func TestTheFilesOfAProjectAreThoseOfItsBranch(t *testing.T) {
	t.Parallel()
	shop := branching(t)
	run(t, shop, "switch", "--quiet", "release")
	write(t, shop, "web/only-release.ts", "export {};\n")
	run(t, shop, "add", ".")
	run(t, shop, "commit", "--quiet", "-m", "web")
	run(t, shop, "switch", "--quiet", "main")
	write(t, shop, "untracked.txt", "of the person who works there\n")
	k := open(t, map[string]Project{
		"shop": {Path: shop}, "shared": {Path: shop, InPlace: true}, "new": {Clone: shop},
	})
	list, err := k.ProjectPaths(t.Context(), "shop", "release", "only")
	equal(t, "the branch", found(t, list, err), "web/only-release.ts")
	list, err = k.ProjectPaths(t.Context(), "shop", "", "")
	equal(t, "the default", found(t, list, err), "README old.txt .gitignore")
	list, err = k.ProjectPaths(t.Context(), "shared", "", "untracked")
	equal(t, "a shared directory", found(t, list, err), "untracked.txt")
	_, err = k.ProjectPaths(t.Context(), "shop", "gone", "")
	errorHint(t, err, protocol.CodeNoBranch)
	_, err = k.ProjectPaths(t.Context(), "shop", "--output=/tmp/x", "")
	errorHint(t, err, protocol.CodeInvalid)
	_, err = k.ProjectPaths(t.Context(), "unknown", "", "")
	errorHint(t, err, protocol.CodeInvalid)
	_, err = k.ProjectPaths(t.Context(), "new", "", "")
	errorHint(t, err, protocol.CodeConflict)
}

// The agent can replace what the host reads by links to files of the machine.
func TestAnAgentCannotHaveFilesOutsideItsWorkspaceListed(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	write(t, outside, "secret.txt", "secret\n")
	repo := newRepository(t)
	write(t, repo, "web/index.html", "hello\n")
	run(t, repo, "add", ".")
	run(t, repo, "commit", "--quiet", "-m", "web")
	k := open(t, map[string]Project{"web": {Path: repo + "/web"}})
	dir := k.session("s1", "web")
	must(t, os.RemoveAll(dir))
	must(t, os.Symlink(outside, dir))
	list, err := k.Paths(t.Context(), "s1", "web", "")
	if paths := found(t, list, err); strings.Contains(paths, "secret") {
		t.Errorf("listed %s", paths)
	}
}

func TestASearchPrefersNamesToPathsAndShortToLong(t *testing.T) {
	t.Parallel()
	paths := []string{
		"src/view/main.tsx", "src/main.go", "main/", "domain/x.go", "docs/maintenance.md", "m/a/i/n.txt", "other",
	}
	equal(t, "order", strings.Join(search(paths, "main").Paths, " "),
		"main/ src/main.go src/view/main.tsx docs/maintenance.md domain/x.go m/a/i/n.txt")
	if got := search(paths, "./src/ma").Paths; len(got) == 0 || got[0] != "src/main.go" {
		t.Errorf("a path: %v", got)
	}
}

// Of a repository with 100,000 files the best are returned, however many match.
func TestASearchForNothingShowsPathsOfAnyDepth(t *testing.T) {
	t.Parallel()
	paths := []string{"1/2/3/4/5/6/deepest", "1/2/3/4/5/deep", "1/2/3/4/near", "root"}
	equal(t, "order", strings.Join(search(paths, "").Paths, " "), "root 1/2/3/4/near 1/2/3/4/5/deep 1/2/3/4/5/6/deepest")
}

func TestASearchIsBoundedInALargeRepository(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&out, "packages/p%d/src/file%d.ts\x00", i%500, i)
	}
	paths := namesAndDirectories(out.String(), "")
	if len(paths) != 100_000+1+500*2 {
		t.Errorf("%d files and directories", len(paths))
	}
	for _, query := range []string{"", "f", "file99999", "ts"} {
		list := search(paths, query)
		if len(list.Paths) == 0 || len(list.Paths) > protocol.MaxPaths ||
			list.More != (query == "" || query == "f" || query == "ts") {
			t.Errorf("%q: %d paths, more %t", query, len(list.Paths), list.More)
		}
	}
	if first := search(paths, "file99999").Paths[0]; first != "packages/p499/src/file99999.ts" {
		t.Errorf("found %s", first)
	}
}

func TestNamesThatAMessageCannotContainAreLeftOut(t *testing.T) {
	t.Parallel()
	out := "a.txt\x00a\nb\x00\xff\xfe\x00sub/b.txt\x00nested/\x00" + strings.Repeat("x", protocol.MaxPath+1) + "\x00"
	if got := namesAndDirectories(out, ""); !slices.Equal(got, []string{"a.txt", "sub/b.txt", "sub/", "nested/"}) {
		t.Errorf("%q", got)
	}
	if got := namesAndDirectories(out, "sub"); !slices.Equal(got, []string{"b.txt"}) {
		t.Errorf("%q", got)
	}
}
