package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bellhop/agenthost/access"
	"bellhop/protocol"
)

var _ access.Shipper = (*Manager)(nil)

var ada = protocol.CommitAuthor{Name: "Ada L", Email: "ada.l@example.org"}

func (k *kit) tryCommit(id, project, message string) (*protocol.CommitResponse, error) {
	return k.Commit(k.Context(), id, project, &protocol.CommitRequest{Message: message, Author: ada})
}

func (k *kit) commit(id, project, message string) *protocol.CommitResponse {
	k.Helper()
	done, err := k.tryCommit(id, project, message)
	if err != nil {
		k.Fatal(err)
	}
	return done
}

func TestCommitTakesEveryChangeOfAWorkspace(t *testing.T) {
	t.Parallel()
	k, shop, dir := cloned(t)
	write(t, dir, "README", "shop\nopen\n")
	write(t, dir, "new/deep.txt", "b\n")
	write(t, dir, "ignored/big.o", "a\n")
	write(t, dir, "staged.txt", "staged\n")
	run(t, dir, "add", "staged.txt")
	must(t, os.Remove(filepath.Join(dir, "old.txt")))
	must(t, os.Chmod(filepath.Join(dir, "new/deep.txt"), 0o755)) //nolint:gosec // the mode is committed
	must(t, os.Symlink("README", filepath.Join(dir, "link")))
	before := run(t, dir, "rev-parse", "HEAD")

	done := k.commit(uuid, "shop", "Open the shop\n\n# not a comment\r\nIt is late.  \n\n")
	equal(t, "status", run(t, dir, "status", "--porcelain"), "")
	equal(t, "files", run(t, dir, "show", "--format=", "--raw", "--abbrev=4", "--name-status", "HEAD"),
		"M\tREADME\nA\tlink\nA\tnew/deep.txt\nD\told.txt\nA\tstaged.txt")
	equal(t, "commit", run(t, dir, "log", "-1", "--format=%an <%ae>, %cn, %P, %B"),
		"Ada L <ada.l@example.org>, Bellhop, "+before+", Open the shop\n\n# not a comment\nIt is late.")
	equal(t, "mode", strings.Fields(run(t, dir, "ls-tree", "HEAD", "new/deep.txt"))[0], "100755")
	equal(t, "fsck", run(t, dir, "fsck", "--strict", "--no-dangling"), "")
	equal(t, "in the project", run(t, shop, "rev-parse", done.Branch), done.Commit)
	if done.Commit != run(t, dir, "rev-parse", "HEAD") || done.Files != 5 || done.Additions != 4 || done.Deletions != 20 ||
		!done.Success {
		t.Errorf("%+v", done)
	}
	equal(t, "diff", fileLines(k.diff(uuid, "shop")),
		"modified README; added link; added new/deep.txt; deleted old.txt; added staged.txt")

	write(t, dir, "README", "shop\n")
	equal(t, "the next", run(t, dir, "rev-parse", k.commit(uuid, "shop", "Close").Commit+"~1"), done.Commit)
}

func TestCommitOfASessionWithoutAProject(t *testing.T) {
	t.Parallel()
	k := open(t, nil)
	dir := k.session("s1", "")
	write(t, dir, "a.txt", "a\n")
	done := k.commit("s1", "", "First")
	equal(t, "branch", done.Branch, "main")
	equal(t, "status", run(t, dir, "status", "--porcelain=v1", "--branch"), "## main")
}

func TestARepeatedCommitIsMadeOnce(t *testing.T) {
	t.Parallel()
	k, _, dir := cloned(t)
	write(t, dir, "README", "open\n")
	first := k.commit(uuid, "shop", "Open")
	second := k.commit(uuid, "shop", "Open\n")
	if *first != *second {
		t.Errorf("%+v, then %+v", first, second)
	}
	equal(t, "commits", run(t, dir, "rev-list", "--count", "main..HEAD"), "1")
	for name, req := range map[string]protocol.CommitRequest{
		"another message": {Message: "Close", Author: ada},
		"another author":  {Message: "Open", Author: protocol.CommitAuthor{Name: "Bob", Email: "bob@example.org"}},
	} {
		_, err := k.Commit(t.Context(), uuid, "shop", &req)
		if protocol.CodeOf(err) != protocol.CodeNothingToCommit {
			t.Errorf("%s: %v", name, err)
		}
	}
	run(t, dir, "commit", "--quiet", "--allow-empty", "--author", "Ada L <ada.l@example.org>", "-m", "By hand")
	if _, err := k.tryCommit(uuid, "shop", "By hand"); protocol.CodeOf(err) != protocol.CodeNothingToCommit {
		t.Errorf("a commit of the agent: %v", err)
	}
}

func TestCommitRefusesWhatItCannotCommit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		work func(t *testing.T, dir string)
		want protocol.Code
	}{
		"nothing":       {func(*testing.T, string) {}, protocol.CodeNothingToCommit},
		"ignored files": {func(t *testing.T, dir string) { write(t, dir, "ignored/x", "x\n") }, protocol.CodeNothingToCommit},
		"no branch": {
			func(t *testing.T, dir string) { run(t, dir, "checkout", "--quiet", "--detach") }, protocol.CodeNoBranch,
		},
		"a branch without a commit": {func(t *testing.T, dir string) {
			run(t, dir, "checkout", "--quiet", "--orphan", "other")
		}, protocol.CodeNoBranch},
		"a HEAD that is a tag": {func(t *testing.T, dir string) {
			run(t, dir, "tag", "v1")
			must(t, os.WriteFile(filepath.Join(dir, ".git", "HEAD"), []byte("ref: refs/tags/v1\n"), 0o600))
		}, protocol.CodeNoBranch},
		"a branch that is named like an option": {func(t *testing.T, dir string) {
			run(t, dir, "update-ref", "refs/heads/--exec=touch", "HEAD")
			run(t, dir, "symbolic-ref", "HEAD", "refs/heads/--exec=touch")
		}, protocol.CodeConflict},
		"a merge with conflicts": {func(t *testing.T, dir string) {
			conflict(t, dir)
			_ = tryRun(dir, "merge", "theirs")
		}, protocol.CodeUnmerged},
		"a merge that is resolved": {func(t *testing.T, dir string) {
			conflict(t, dir)
			_ = tryRun(dir, "merge", "theirs")
			run(t, dir, "add", ".")
		}, protocol.CodeUnmerged},
		"a stash with conflicts": {func(t *testing.T, dir string) {
			write(t, dir, "README", "stashed\n")
			run(t, dir, "stash", "--quiet")
			write(t, dir, "README", "mine\n")
			run(t, dir, "commit", "--quiet", "-am", "mine")
			_ = tryRun(dir, "stash", "pop")
		}, protocol.CodeUnmerged},
		"a lock of git": {func(t *testing.T, dir string) {
			write(t, dir, ".git/index.lock", "")
		}, protocol.CodeBusy},
		"a lock of the branch": {func(t *testing.T, dir string) {
			write(t, dir, ".git/"+run(t, dir, "symbolic-ref", "HEAD")+".lock", "")
		}, protocol.CodeBusy},
		"a removed repository": {func(t *testing.T, dir string) {
			must(t, os.RemoveAll(filepath.Join(dir, ".git")))
		}, protocol.CodeConflict},
	} {
		t.Run(name, func(t *testing.T) {
			k, _, dir := cloned(t)
			if c.want != protocol.CodeNothingToCommit {
				write(t, dir, "new.txt", "new\n")
			}
			c.work(t, dir)
			done, err := k.tryCommit(uuid, "shop", "Work")
			if protocol.CodeOf(err) != c.want {
				t.Fatalf("%+v, %v, want %s", done, err, c.want)
			}
			if c.want != protocol.CodeConflict {
				equal(t, "commits of ours", run(t, dir, "log", "--all", "--format=%cn", "--grep=Work"), "")
			}
		})
	}
}

// conflict makes a branch "theirs" that conflicts with the one that is checked out.
func conflict(t *testing.T, dir string) {
	t.Helper()
	run(t, dir, "branch", "theirs")
	write(t, dir, "README", "mine\n")
	run(t, dir, "commit", "--quiet", "-am", "mine")
	mine := run(t, dir, "symbolic-ref", "--short", "HEAD")
	run(t, dir, "checkout", "--quiet", "theirs")
	write(t, dir, "README", "theirs\n")
	run(t, dir, "commit", "--quiet", "-am", "theirs")
	run(t, dir, "checkout", "--quiet", mine)
}

func TestCommitRefusesRepositoriesOfOthers(t *testing.T) {
	t.Parallel()
	shop := newRepository(t)
	k := open(t, map[string]Project{"shared": {Path: shop, InPlace: true}, "shop": {Path: shop}})
	write(t, k.session("s1", "shared"), "README", "changed\n")
	_, err := k.tryCommit("s1", "shared", "Work")
	errorHint(t, err, protocol.CodeConflict)
	if k.Ships("s1", "shared") != nil {
		t.Error("a project's own directory is shipped")
	}
	_, err = k.tryCommit("s3", "shop", "Work")
	errorHint(t, err, protocol.CodeNotFound)
	k.session("s4", "shop")
	equal(t, "steps", string(k.Ships("s4", "shop")[0]), "commit")
}

func TestCommitMessagesAndAuthorsAreChecked(t *testing.T) {
	t.Parallel()
	k, _, dir := cloned(t)
	write(t, dir, "a.txt", "a\n")
	for name, c := range map[string]struct {
		message string
		author  protocol.CommitAuthor
		want    protocol.Code
	}{
		"no message":         {" \n\t\n", ada, protocol.CodeInvalid},
		"a long one":         {strings.Repeat("x", 100<<10), ada, protocol.CodeTooLarge},
		"an escape":          {"Red \x1b[31m", ada, protocol.CodeInvalid},
		"a NUL":              {"a\x00b", ada, protocol.CodeInvalid},
		"an override":        {"a\u202eb", ada, protocol.CodeInvalid},
		"no UTF-8":           {"a\xffb", ada, protocol.CodeInvalid},
		"no author":          {"Work", protocol.CommitAuthor{}, protocol.CodeInvalid},
		"an author with <":   {"Work", protocol.CommitAuthor{Name: "A <b", Email: "a@b"}, protocol.CodeInvalid},
		"an author's header": {"Work", protocol.CommitAuthor{Name: "A", Email: "a@b\ncommitter x"}, protocol.CodeInvalid},
		"an author of dots":  {"Work", protocol.CommitAuthor{Name: "...", Email: "a@b"}, protocol.CodeInvalid},
	} {
		_, err := k.Commit(t.Context(), uuid, "shop", &protocol.CommitRequest{Message: c.message, Author: c.author})
		if protocol.CodeOf(err) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	done := k.commit(uuid, "shop", "--amend $(touch x) `y`\n\n-F /etc/passwd\n\tindented")
	equal(t, "message", run(t, dir, "log", "-1", "--format=%B", done.Commit),
		"--amend $(touch x) `y`\n\n-F /etc/passwd\n\tindented")
}

func TestCommitFollowsNoLinkOutOfTheWorkspace(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"objects/pack", "refs/heads", "index", "index.lock"} {
		t.Run(name, func(t *testing.T) {
			k, _, dir := cloned(t)
			write(t, dir, "a.txt", "a\n")
			outside := t.TempDir()
			at := filepath.Join(dir, ".git", name)
			run(t, dir, "pack-refs", "--all")
			must(t, os.RemoveAll(at))
			must(t, os.Symlink(filepath.Join(outside, "x"), at))
			if strings.Contains(name, "/") {
				must(t, os.Remove(at))
				must(t, os.Symlink(outside, at))
			}
			_, err := k.tryCommit(uuid, "shop", "Work")
			entries, readErr := os.ReadDir(outside)
			if readErr != nil || len(entries) > 0 {
				t.Errorf("written outside: %v", entries)
			}
			if code := protocol.CodeOf(err); code == protocol.CodeInternal && name != "refs/heads" {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestCommitRemovesAStaleLockOfTheBranch(t *testing.T) {
	t.Parallel()
	k, _, dir := cloned(t)
	write(t, dir, "a.txt", "a\n")
	lock := filepath.Join(dir, ".git", run(t, dir, "symbolic-ref", "HEAD")+".lock")
	write(t, filepath.Dir(lock), filepath.Base(lock), "")
	k.now = func() time.Time { return time.Now().Add(time.Hour) }
	k.commit(uuid, "shop", "Work")
	if exists(lock) {
		t.Error("the lock is still there")
	}
}
