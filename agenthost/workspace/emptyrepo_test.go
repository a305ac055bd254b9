package workspace

import (
	"compress/zlib"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"bellhop/internal/testenv"
)

// contents describes every file below a git directory by its mode and content. Objects are
// compared inflated, because versions of git compress differently.
func contents(t *testing.T, gitDir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	must(t, filepath.WalkDir(gitDir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(gitDir, path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		out[name] = info.Mode().String()
		if d.IsDir() {
			return nil
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer file.Close()
		var reader io.Reader = file
		if strings.HasPrefix(name, "objects/") {
			if reader, err = zlib.NewReader(file); err != nil {
				return err
			}
		}
		content, err := io.ReadAll(reader)
		out[name] += fmt.Sprintf(" %q", content)
		return err
	}))
	return out
}

// repositoryByGit makes an empty repository with git itself, as the reference.
func (k *kit) repositoryByGit(at time.Time) (gitDir, commit string) {
	k.Helper()
	dir := filepath.Join(k.TempDir(), "reference")
	must(k.T, os.Mkdir(dir, 0o700))
	gitDir = filepath.Join(dir, ".git")
	git := k.git
	date := fmt.Sprintf("@%d %s", at.Unix(), at.Local().Format("-0700"))
	git.env = append(slices.Clone(git.env), "GIT_AUTHOR_DATE="+date, "GIT_COMMITTER_DATE="+date)
	step := func(c call) string {
		c.noFiles = true
		out, err := git.run(k.Context(), c)
		must(k.T, err)
		return trimNewline(out)
	}
	repo := repository{gitDir: gitDir, workTree: dir}
	step(call{dir: dir, args: []string{"init", "--quiet", "--template=", "--initial-branch=main"}})
	tree := step(call{repo: repo, args: []string{"hash-object", "-t", "tree", "-w", "/dev/null"}})
	commit = step(call{repo: repo, args: []string{"commit-tree", "-m", "Begin", tree}})
	step(call{repo: repo, args: []string{"update-ref", "refs/heads/main", commit}})
	return gitDir, commit
}

// sameContents compares a git directory with one that git made.
func sameContents(t *testing.T, gitDir, reference string) {
	t.Helper()
	got, want := contents(t, gitDir), contents(t, reference)
	for _, name := range slices.Sorted(maps.Keys(want)) {
		equal(t, name, got[name], want[name])
		delete(got, name)
	}
	if len(got) > 0 {
		t.Errorf("git has not written %v", got)
	}
}

func TestAnEmptyRepositoryEqualsWhatGitWrites(t *testing.T) {
	home := t.TempDir()
	write(t, home, ".gitconfig",
		"[init]\n\tdefaultBranch = trunk\n\ttemplateDir = "+home+
			"\n[core]\n\tlogAllRefUpdates = false\n\tsharedRepository = all\n")
	t.Setenv("HOME", home)
	t.Setenv("GIT_DEFAULT_HASH", "sha256")
	at := time.Date(2026, 3, 4, 5, 6, 7, 8, time.UTC)
	for name, mask := range map[string]int{"files that others read": 0o022, "private files": 0o077} {
		t.Run(name, func(t *testing.T) {
			k := open(t, nil)
			before := syscall.Umask(mask)
			defer syscall.Umask(before)
			reference, commit := k.repositoryByGit(at)
			gitDir := filepath.Join(t.TempDir(), ".git")
			written, err := writeEmptyRepository(gitDir, at)
			must(t, err)
			equal(t, "commit", written, commit)
			sameContents(t, gitDir, reference)
			for _, bare := range [][]string{nil, {"--bare"}} {
				gitDir, reference := filepath.Join(t.TempDir(), ".git"), filepath.Join(t.TempDir(), ".git")
				must(t, initRepository(gitDir, "bellhop/x", bare != nil))
				args := append([]string{"init", "--quiet", "--template=", "--initial-branch=bellhop/x"}, bare...)
				_, err := k.git.run(t.Context(), call{
					dir: filepath.Dir(reference), noFiles: true, args: args,
					repo: repository{gitDir: reference},
				})
				must(t, err)
				sameContents(t, gitDir, reference)
			}
		})
	}
}

// A session without a project starts no git process, and its repository is sound.
func TestANewSessionStartsNoGit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	runs, program := filepath.Join(dir, "runs"), filepath.Join(dir, "git")
	must(t, testenv.WriteProgram(program, []byte("#!/bin/sh\necho \"$*\" >> "+runs+"\nexec git \"$@\"\n"), 0o700)) //nolint:gosec // a program
	m, err := New(Options{Data: filepath.Join(dir, "data"), Git: program, Patience: time.Minute})
	must(t, err)
	t.Cleanup(func() { must(t, m.Close()) })
	k := &kit{T: t, Manager: m}
	work := k.session("s1", "")
	if content, err := os.ReadFile(runs); err == nil {
		t.Errorf("git ran: %s", content)
	}
	equal(t, "fsck", run(t, work, "fsck", "--strict", "--full", "--no-dangling"), "")
	equal(t, "status", run(t, work, "status", "--porcelain=v2", "--branch"),
		"# branch.oid "+run(t, work, "rev-parse", "HEAD")+"\n# branch.head main")
	equal(t, "reflog", run(t, work, "reflog", "--format=%H"), run(t, work, "rev-parse", "main"))
	write(t, work, "a.txt", "a\n")
	run(t, work, "add", ".")
	run(t, work, "commit", "--quiet", "-m", "second")
	run(t, work, "gc", "--quiet", "--prune=now")
	write(t, work, "b.txt", "b\n")
	equal(t, "diff", fileLines(k.diff("s1", "")), "added a.txt; added b.txt")
	if content, err := os.ReadFile(runs); err != nil || len(content) == 0 {
		t.Errorf("the program of the option was not used for the diff: %v", err)
	}
}

func TestManySessionsBeginAtOnce(t *testing.T) {
	t.Parallel()
	k := open(t, nil)
	var all sync.WaitGroup
	for i := range 32 {
		all.Go(func() {
			dir, _, err := k.Dir(t.Context(), fmt.Sprint("s", i), "")
			if err != nil {
				t.Error(err)
				return
			}
			equal(t, "subject", run(t, dir, "log", "--format=%s"), "Begin")
		})
	}
	all.Wait()
}

// A repository that a crash left incomplete is made again from the start.
func TestAnInterruptedRepositoryIsMadeAgain(t *testing.T) {
	t.Parallel()
	k := open(t, nil)
	rec := k.newRecord("s1", "s1", "")
	rec.Kind = kindOwn
	must(t, k.saveRecord(rec))
	write(t, filepath.Join(k.data, "workspaces", "s1"), ".git/HEAD", "")
	write(t, filepath.Join(k.data, "workspaces", "s1"), ".git/objects/4b/825dc642cb6eb9a060e54bf8d69288fbee4904", "")
	dir := k.session("s1", "")
	equal(t, "fsck", run(t, dir, "fsck", "--strict", "--full"), "")
	equal(t, "branch", run(t, dir, "branch", "--show-current"), "main")
}

func TestADirectoryThatCannotBeWrittenIsNamed(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o600))
	_, err := writeEmptyRepository(filepath.Join(file, ".git"), time.Now())
	if err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("got %v", err)
	}
}
