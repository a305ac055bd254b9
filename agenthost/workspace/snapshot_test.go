package workspace

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"bellhop/agenthost/workspace/treereader"
	"bellhop/internal/process"
	"bellhop/protocol"
)

// hidings are ways in which an agent could keep a change of README, or a new file, from git.
var hidings = map[string]string{
	"assume-unchanged":  "git update-index --assume-unchanged README",
	"skip-worktree":     "git update-index --skip-worktree README",
	"a sparse pattern":  "git config core.sparseCheckout true; echo /none >.git/info/sparse-checkout; git update-index --skip-worktree README",
	"a list of its own": "mkdir -p .git/info; echo new.txt >>.git/info/exclude",
	"another list":      "git config core.excludesFile $PWD/.git/list; echo new.txt >.git/list",
	"a damaged index":   "echo garbage >.git/index",
}

// What the repository in a workspace says of its files hides no change from a diff and a commit.
func TestTheAgentsRepositoryHidesNoChange(t *testing.T) {
	t.Parallel()
	for name, script := range hidings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, _, dir := cloned(t)
			shell(t, dir, script)
			write(t, dir, "README", "hidden\n")
			write(t, dir, "new.txt", "new\n")
			equal(t, "diff", fileLines(k.diff(uuid, "shop")), "modified README; added new.txt")
			done := k.commit(uuid, "shop", "All of it")
			equal(t, "commit", run(t, dir, "show", "--format=", "--name-only", done.Commit), "README\nnew.txt")
		})
	}
}

func shell(t *testing.T, dir, script string) {
	t.Helper()
	runWith(t, dir, nil, "-c", "alias.sh=!cd \"${GIT_PREFIX:-.}\" && "+script, "sh")
}

// The project's list of ignored files counts as it was at the check-in.
func TestTheListOfIgnoredFilesIsThatOfTheCheckIn(t *testing.T) {
	t.Parallel()
	shop := newRepository(t)
	write(t, shop, ".git/info/exclude", "*.log\n")
	k := open(t, map[string]Project{"shop": {Path: shop}})
	dir := k.session(uuid, "shop")
	write(t, dir, ".git/info/exclude", "*.txt\n")
	write(t, dir, "a.log", "a\n")
	write(t, dir, "a.txt", "a\n")
	equal(t, "diff", fileLines(k.diff(uuid, "shop")), "added a.txt")
}

// strange fill a workspace with what a reader must not wait for, or cannot have.
var strange = map[string]struct {
	script string
	want   string // what is left out
	diff   string
}{
	"FIFOs as lists": {
		"mkdir d; rm .gitignore; for f in .gitignore .gitattributes d/.gitignore d/.gitattributes; do mkfifo $f; done; echo x >d/x",
		".gitignore is a FIFO", "added d/x",
	},
	"a tracked file that is a FIFO": {"rm README; mkfifo README", "README is a FIFO", ""},
	"a file that has grown":         {"truncate -s 1500M README", "README is too large", ""},
	"a large new file":              {"truncate -s 400M new", "new is too large", ""},
	"a link to a device":            {"ln -s /dev/zero zero; rm README; ln -s /dev/zero README", "", "type-changed README; added zero"},
	"a deep tree":                   {"for i in $(seq 8); do p=$p$(printf 'd/%.0s' $(seq 14)); mkdir -p $p; echo $i >$p/f; done", "is too deep", ""},
	"a FIFO as a repository":        {"rm -rf .git; mkfifo .git; echo x >x", "", "added x"},
	"a link as a repository":        {"rm -rf .git; ln -s /dev .git; echo x >x", "", "added x"},
	"FIFOs in the repository":       {"for f in HEAD index packed-refs; do rm -f .git/$f; mkfifo .git/$f; done; echo x >x", "", "added x"},
}

func TestStrangeFilesAreLeftOutByName(t *testing.T) {
	t.Parallel()
	for name, c := range strange {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, _, dir := cloned(t)
			k.diff(uuid, "shop")
			shell(t, dir, c.script)
			diff := k.diff(uuid, "shop")
			var left []string
			for _, l := range diff.LeftOut {
				left = append(left, l.Path+" "+l.Reason)
			}
			if got := strings.Join(left, "; "); !strings.Contains(got, c.want) || (c.want == "") != (got == "") ||
				diff.LeftOutCount != len(left) {
				t.Errorf("left out %d: %s", diff.LeftOutCount, got)
			}
			if c.diff != "" {
				equal(t, "diff", fileLines(diff), c.diff)
			}
		})
	}
}

// A commit is the whole state of the files, or there is none.
func TestACommitLeavesNothingOut(t *testing.T) {
	t.Parallel()
	k, _, dir := cloned(t)
	write(t, dir, "a.txt", "a\n")
	must(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600)) // git has nothing for it
	k.commit(uuid, "shop", "Beside a FIFO")
	for name, script := range map[string]string{
		"README": "rm README; mkfifo README; echo b >b.txt",
		"big":    "git checkout -q README; truncate -s 100M big",
	} {
		shell(t, dir, script)
		_, err := k.tryCommit(uuid, "shop", "Without "+name)
		if protocol.CodeOf(err) != protocol.CodeConflict || !strings.Contains(err.Error(), fmt.Sprintf("%q", name)) {
			t.Errorf("%s: %v", name, err)
		}
		must(t, os.Remove(filepath.Join(dir, name)))
		run(t, dir, "checkout", "README")
	}
	k.commit(uuid, "shop", "The rest")
	equal(t, "status", run(t, dir, "status", "--porcelain"), "")
}

// A commit keeps a sparse checkout what it is.
func TestACommitKeepsFilesThatASparseCheckoutLeavesOut(t *testing.T) {
	t.Parallel()
	shop := newRepository(t)
	write(t, shop, "docs/a.md", "a\n")
	run(t, shop, "add", ".")
	run(t, shop, "commit", "--quiet", "-m", "docs")
	k := open(t, map[string]Project{"shop": {Path: shop}})
	dir := k.session(uuid, "shop")
	run(t, dir, "sparse-checkout", "set", "--cone", "src")
	write(t, dir, "src/new.go", "package src\n")
	done := k.commit(uuid, "shop", "Sparse")
	equal(t, "files", run(t, dir, "show", "--format=", "--name-status", done.Commit), "A\tsrc/new.go")
	equal(t, "status", run(t, dir, "status", "--porcelain"), "")
	equal(t, "flags", run(t, dir, "ls-files", "-t", "docs", "src"), "S docs/a.md\nH src/new.go")
}

// Before its first program starts, a clone's files are known, and its first diff reads only those that have changed.
func TestAFreshCloneIsKnownBeforeItsFirstDiff(t *testing.T) {
	t.Parallel()
	k, _, dir := cloned(t)
	rec, err := k.existingRecord(uuid, "shop")
	must(t, err)
	must(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() { // the clock may not have ticked since the check-in
			err = os.Chtimes(path, time.Time{}, time.Unix(1, 0))
		}
		return err
	}))
	must(t, k.Begin(t.Context(), dir))
	must(t, k.Begin(t.Context(), dir))
	if exists(filepath.Join(k.snapshotDir(rec), freshFile)) {
		t.Error("it can begin again")
	}
	must(t, k.withSnapshot(t.Context(), rec, nil, func(_ context.Context, s *snapshot) error {
		for _, f := range s.Files {
			if f.Sum != (treereader.Sum{}) && f.Signature.Changed != 0 {
				t.Errorf("%s was read", f.Path)
			}
		}
		return nil
	}))
	write(t, dir, "README", "changed\n")
	equal(t, "diff", fileLines(k.diff(uuid, "shop")), "modified README")

	// A clone of a branch with commits of its own is not the basis of its diff.
	commitIn(t, dir)
	k.fetchWork()
	must(t, os.RemoveAll(dir))
	k.session(uuid, "shop")
	must(t, k.Begin(t.Context(), dir))
	equal(t, "diff of a clone that was made again", fileLines(k.diff(uuid, "shop")), "modified README; added work.txt")
}

// What a person changes between the check-in and the first program is not taken for the content of the clone.
func TestAFileThatChangesBeforeTheFirstProgramIsRead(t *testing.T) {
	t.Parallel()
	k, _, dir := cloned(t)
	write(t, dir, "README", "changed\n")
	must(t, k.Begin(t.Context(), dir))
	equal(t, "diff", fileLines(k.diff(uuid, "shop")), "modified README")
}

// A repeat without a change starts no git, and answers as before.
func TestARepeatedDiffStartsNoGit(t *testing.T) {
	t.Parallel()
	k, _, dir := cloned(t)
	write(t, dir, "README", "changed\n")
	first := k.diff(uuid, "shop")
	runs := k.gitRuns()
	again := k.diff(uuid, "shop")
	if got := runs(); len(got) > 0 {
		t.Errorf("started %q", got)
	}
	equal(t, "again", fmt.Sprintf("%+v", again), fmt.Sprintf("%+v", first))
	if first.Snapshot == "" {
		t.Error("the diff names no snapshot")
	}
	run(t, dir, "commit", "--quiet", "-am", "work")
	later := k.diff(uuid, "shop")
	if later.Snapshot == first.Snapshot {
		t.Error("a commit is another state")
	}
	equal(t, "after the commit", later.Patch, first.Patch)
}

// The reader is started as the host says, and a failure of it is no diff.
func TestTheReaderIsConfined(t *testing.T) {
	t.Parallel()
	k, _, dir := cloned(t)
	var asked []string
	k.SetReader("/no/such/reader", func(session, root string, _ bool, c process.Command) (process.Command, error) {
		asked = append(asked, session, root, strings.Join(c.Args, " "), strings.Join(c.Env, " "))
		return c, nil
	})
	if _, err := k.Diff(t.Context(), uuid, "shop"); err == nil {
		t.Error("a diff without a reader")
	}
	equal(t, "asked", strings.Join(asked, " "), uuid+" "+dir+" /no/such/reader workspace-read GOGC=off GOMEMLIMIT=256MiB")
}

// A deleted workspace has no store, and a diff that waited for it does not bring it back.
func TestADeletedWorkspaceLeavesNoStore(t *testing.T) {
	t.Parallel()
	k, _, dir := cloned(t)
	k.diff(uuid, "shop")
	rec, err := k.existingRecord(uuid, "shop")
	must(t, err)
	release, err := k.lockStore(t.Context(), rec)
	must(t, err)
	waited := make(chan error)
	go func() {
		_, err := k.Diff(context.WithoutCancel(t.Context()), uuid, "shop")
		waited <- err
	}()
	for k.slots.count() == 0 { // the diff has its slot
		time.Sleep(time.Millisecond)
	}
	must(t, k.Delete(t.Context(), dir, true))
	release()
	if err := <-waited; protocol.CodeOf(err) != protocol.CodeNotFound {
		t.Errorf("got %v", err)
	}
	entries, err := os.ReadDir(filepath.Dir(k.snapshotDir(rec)))
	if err != nil || len(entries) > 0 {
		t.Errorf("left behind %v, %v", entries, err)
	}
}

func (s *slots) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total
}

// A FIFO in the place of the repository holds no step of the host.
func TestAFIFOAsARepositoryHoldsNoStep(t *testing.T) {
	t.Parallel()
	k, _, dir := cloned(t)
	write(t, dir, "README", "changed\n")
	gitDir := filepath.Join(dir, ".git")
	must(t, os.RemoveAll(gitDir))
	must(t, syscall.Mkfifo(gitDir, 0o600))
	steps := map[string]func() error{
		"fetch":  func() error { return k.Fetch(t.Context(), uuid, "shop") },
		"commit": func() error { _, err := k.tryCommit(uuid, "shop", "Work"); return err },
		"look":   func() error { _, err := k.Info(t.Context(), dir); return err },
		"remove": func() error { return k.Delete(t.Context(), dir, false) },
	}
	for name, step := range steps {
		if err := step(); err == nil {
			t.Errorf("%s works without a repository", name)
		}
	}
}
