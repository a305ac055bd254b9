package workspace

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"bellhop/protocol"
)

// gitRuns has a manager record the runs of git, and returns those since its last call.
func (k *kit) gitRuns() func() []string {
	k.Helper()
	file := filepath.Join(k.TempDir(), "runs")
	k.git.program = recorded(k.T, k.git.program, file)
	return func() []string {
		k.Helper()
		content, err := os.ReadFile(file)
		if os.IsNotExist(err) {
			return nil
		}
		must(k.T, err)
		must(k.T, os.Remove(file))
		return strings.Split(strings.TrimSpace(string(content)), "\n")
	}
}

// A process of git costs more than most of what it does, so each step of a session starts few.
func TestStepsOfASessionStartFewProcessesOfGit(t *testing.T) {
	t.Parallel()
	shop := newRepository(t)
	run(t, shop, "remote", "add", "origin", "https://127.0.0.1:1/shop.git")
	k := open(t, map[string]Project{"shop": {Path: shop}})
	runs := k.gitRuns()
	var dir string
	for _, step := range []struct {
		name string
		want int
		do   func()
	}{
		{"the first check-in", 5, func() { dir = k.session(uuid, "shop") }},
		{"the next check-in", 0, func() { k.session(uuid, "shop") }},
		{"fetching nothing", 0, func() { must(t, k.Fetch(t.Context(), uuid, "shop")) }},
		{"the first diff", 3, func() { write(t, dir, "new.txt", "new\n"); k.diff(uuid, "shop") }},
		{"the next diff", 2, func() { write(t, dir, "README", "changed\n"); k.diff(uuid, "shop") }},
		{"a commit", 9, func() { k.commit(uuid, "shop", "Work") }},
		{"a diff after a commit", 1, func() { k.diff(uuid, "shop") }},
		{"unfinished work", 3, func() { must1(t)(k.Info(t.Context(), dir)) }},
	} {
		step.do()
		if got := runs(); len(got) != step.want {
			t.Errorf("%s: %d processes, want %d:\n%s", step.name, len(got), step.want, strings.Join(got, "\n"))
		}
	}
}

// Each file of settings that could define a filter, or lead to one that does, has git look for filters.
func TestFiltersAreLookedForWhereThereCanBeAny(t *testing.T) {
	t.Parallel()
	plain := "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = /shop\n"
	for name, c := range map[string]struct {
		settings string
		may      bool
		arrange  func(t *testing.T, gitDir string)
	}{
		"only others":         {plain, false, nil},
		"a filter":            {plain + "[filter \"x\"]\n\tclean = y\n", true, nil},
		"in capitals":         {plain + "[FILTER \"x\"]\n\tclean = y\n", true, nil},
		"in the old notation": {plain + "[Filter.x]\n\tsmudge = y\n", true, nil},
		"an included file":    {plain + "[include]\n\tpath = x\n", true, nil},
		"a condition":         {plain + "[includeIf \"gitdir:/\"]\n\tpath = x\n", true, nil},
		"of the worktree":     {plain + "[extensions]\n\tworktreeConfig\n", true, nil},
		"a large file":        {plain + strings.Repeat("#\n", maxPlainConfig), true, nil},
		"of another directory": {plain, true, func(t *testing.T, gitDir string) {
			write(t, gitDir, "commondir", "../other\n")
		}},
		"no file": {plain, true, func(t *testing.T, gitDir string) {
			must(t, os.Remove(filepath.Join(gitDir, "config")))
		}},
		"a link": {plain, true, func(t *testing.T, gitDir string) {
			must(t, os.Rename(filepath.Join(gitDir, "config"), filepath.Join(gitDir, "other")))
			must(t, os.Symlink("other", filepath.Join(gitDir, "config")))
		}},
		"a FIFO": {plain, true, func(t *testing.T, gitDir string) {
			must(t, os.Remove(filepath.Join(gitDir, "config")))
			must(t, syscall.Mkfifo(filepath.Join(gitDir, "config"), 0o600))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gitDir := t.TempDir()
			write(t, gitDir, "config", c.settings)
			if c.arrange != nil {
				c.arrange(t, gitDir)
			}
			if got := (repository{gitDir: gitDir}).mayHaveFilters(); got != c.may {
				t.Errorf("got %v", got)
			}
		})
	}
	if !(repository{}).mayHaveFilters() {
		t.Error("the settings of a repository that git searches for are not known")
	}
	common := t.TempDir()
	write(t, common, "config", plain)
	if (repository{gitDir: "/no/such", commonDir: common}).mayHaveFilters() {
		t.Error("git reads the settings of the common directory alone")
	}
}

// Git reads a written setting as it was.
func TestWrittenSettingsAreReadByGit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	want := map[string]string{
		"user.name": ` "Grace" \ Hopper # ; `, "remote.origin.url": "/a\n[core]\n\tpager = \"evil\"\t\r", "user.email": "",
		`remote.a"]` + "\t" + `\.b.url`: "x", "remote..fetch": "+refs/heads/*:refs/remotes/x/*",
	}
	var text string
	for key, value := range want {
		text += formatSetting(key, value)
	}
	write(t, dir, "config", text)
	listed := run(t, dir, "config", "--file", "config", "--list", "--null")
	got := map[string]string{}
	for entry := range strings.SplitSeq(strings.TrimSuffix(listed, "\x00"), "\x00") {
		key, value, _ := strings.Cut(entry, "\n")
		got[key] = value
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// One run of git gives the same diff as one for the files and one for the patch, whatever the files are named.
func TestADiffReadAtOnceEqualsOneReadInParts(t *testing.T) {
	t.Parallel()
	shop := newRepository(t)
	for _, name := range []string{"a\tb", "new\nline", "\"quoted\"", "ä", "-dash", "deep/er"} {
		write(t, shop, name, strings.Repeat(name, 9))
	}
	write(t, shop, ".gitattributes", "zero diff\n")
	run(t, shop, "add", ".")
	run(t, shop, "commit", "--quiet", "-m", "names")
	must(t, os.Rename(filepath.Join(shop, "new\nline"), filepath.Join(shop, "re\nnamed")))
	must(t, os.Remove(filepath.Join(shop, "old.txt")))
	must(t, os.Chmod(filepath.Join(shop, "README"), 0o700)) //nolint:gosec // a change of the mode alone
	write(t, shop, "zero", "\x00\x00\n\x00\x00")
	write(t, shop, "bytes", "\x00\x00")
	write(t, shop, "a\tb", "diff --git a/x b/x\n\x01\xff")
	run(t, shop, "add", ".")
	tree := run(t, shop, "write-tree")
	k, repo := open(t, nil), repository{gitDir: filepath.Join(shop, ".git"), workTree: shop}
	for name, other := range map[string]string{"changes": tree, "none": "HEAD"} {
		var atOnce, inParts protocol.Diff
		must(t, k.readDiff(t.Context(), repo, "HEAD", other, &atOnce))
		must(t, k.readFiles(t.Context(), repo, "HEAD", other, &inParts))
		must(t, k.readPatch(t.Context(), repo, "HEAD", other, &inParts))
		equal(t, name, fmt.Sprintf("%+v", atOnce), fmt.Sprintf("%+v", inParts))
		if want := map[string]int{"changes": 6, "none": 0}[name]; len(atOnce.Files) != want {
			t.Errorf("%s: %s", name, fileLines(&atOnce))
		}
	}
}

// Without a process the host finds the repository that git finds, or leaves it to git.
func TestAUsualRepositoryIsTheOneThatGitFinds(t *testing.T) {
	t.Parallel()
	setting := func(text string) func(t *testing.T, shop string) string {
		return func(t *testing.T, shop string) string {
			config := filepath.Join(shop, ".git", "config")
			must(t, os.WriteFile(config, append(mustRead(t, config), text+"\n"...), 0o600))
			return shop
		}
	}
	file := func(name, content string) func(t *testing.T, shop string) string {
		return func(t *testing.T, shop string) string { write(t, shop, name, content); return shop }
	}
	moved := func(name string) func(t *testing.T, shop string) string {
		return func(t *testing.T, shop string) string {
			must(t, os.Rename(filepath.Join(shop, ".git", name), filepath.Join(shop, "moved")))
			must(t, os.Symlink(filepath.Join(shop, "moved"), filepath.Join(shop, ".git", name)))
			return shop
		}
	}
	for name, c := range map[string]struct {
		usual   bool
		arrange func(t *testing.T, shop string) (path string)
	}{
		"as git makes it": {true, func(_ *testing.T, shop string) string { return shop }},
		"a detached HEAD": {true, func(t *testing.T, shop string) string {
			run(t, shop, "checkout", "--quiet", "--detach")
			return shop
		}},
		"through a link": {true, func(t *testing.T, shop string) string {
			must(t, os.Symlink(shop, shop+"-link"))
			return shop + "-link"
		}},
		"with work elsewhere":    {false, setting("[core]\n\tworktree = /")},
		"another format":         {false, setting("[core]\n\trepositoryFormatVersion = 1")},
		"extensions":             {false, setting("[Extensions]\n\tworktreeConfig = true")},
		"included settings":      {false, setting("[include]\n\tpath = /no/such")},
		"a common directory":     {false, file(".git/commondir", "../other\n")},
		"no HEAD":                {false, file(".git/HEAD", "garbage\n")},
		"HEAD in capitals":       {false, file(".git/HEAD", "REF: refs/heads/main\n")},
		"objects through a link": {false, moved("objects")},
		"a directory within": {false, func(t *testing.T, shop string) string {
			write(t, shop, "inner/file", "x")
			run(t, shop, "add", ".")
			run(t, shop, "commit", "--quiet", "-m", "inner")
			return filepath.Join(shop, "inner")
		}},
		"a bare one": {false, func(t *testing.T, shop string) string { return bareOf(t, shop) }},
		"a worktree": {false, func(t *testing.T, shop string) string {
			run(t, shop, "worktree", "add", "--quiet", shop+"-two")
			return shop + "-two"
		}},
		"a plain directory":   {false, func(t *testing.T, _ string) string { return t.TempDir() }},
		"a missing directory": {false, func(_ *testing.T, shop string) string { return shop + "-none" }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := c.arrange(t, newRepository(t))
			found := usualRepository(path)
			if (found != nil) != c.usual {
				t.Fatalf("found %+v", found)
			}
			if !c.usual {
				return
			}
			byGit, err := open(t, nil).askForRepository(t.Context(), path)
			must(t, err)
			equal(t, "repository", fmt.Sprintf("%+v", found), fmt.Sprintf("%+v", byGit))
		})
	}
}
