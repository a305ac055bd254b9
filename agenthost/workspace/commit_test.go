package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"bellhop/agenthost/access"
	"bellhop/protocol"
)

var _ access.Shipper = (*Manager)(nil)

var ada = protocol.CommitAuthor{Name: "Ada L", Email: "ada.l@example.org"}

func (k *kit) tryCommit(id, project, message string) (*protocol.CommitResponse, error) {
	return k.Commit(k.Context(), id, project, k.commitRequest(id, project, message))
}

// commitRequest asks to commit what the present diff shows.
func (k *kit) commitRequest(id, project, message string) *protocol.CommitRequest {
	shown := k.shown(id, project)
	return &protocol.CommitRequest{Message: message, Author: ada, Snapshot: shown.Snapshot, Head: shown.Head}
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
	req := k.commitRequest(uuid, "shop", "Open")
	req.At = time.Unix(1_800_000_000, 0)
	repeat := func() (*protocol.CommitResponse, error) {
		again := *req
		return k.Commit(t.Context(), uuid, "shop", &again)
	}
	first, err := repeat()
	must(t, err)
	equal(t, "dates", run(t, dir, "log", "-1", "--format=%at %ct"), "1800000000 1800000000")
	again := func(when string) {
		t.Helper()
		second, err := repeat()
		must(t, err)
		if !reflect.DeepEqual(first, second) {
			t.Errorf("%s: %+v, then %+v", when, first, second)
		}
	}
	again("at once")
	write(t, dir, "README", "newer work\n")
	again("after newer work")
	run(t, dir, "commit", "--quiet", "-am", "By the agent")
	again("after another commit")
	equal(t, "commits", run(t, dir, "rev-list", "--count", "main..HEAD"), "2")
	rec, err := k.existingRecord(uuid, "shop")
	must(t, err)
	must(t, os.RemoveAll(k.snapshotDir(rec)))
	again("with a new store")
	equal(t, "newer work", string(mustRead(t, filepath.Join(dir, "README"))), "newer work\n")

	for name, change := range map[string]func(r *protocol.CommitRequest){
		"another message": func(r *protocol.CommitRequest) { r.Message = "Close" },
		"another author": func(r *protocol.CommitRequest) {
			r.Author = protocol.CommitAuthor{Name: "Bob", Email: "bob@example.org"}
		},
		"another time": func(r *protocol.CommitRequest) { r.At = r.At.Add(time.Second) },
		"no time":      func(r *protocol.CommitRequest) { r.At = time.Time{} },
	} {
		other := *req
		change(&other)
		_, err := k.Commit(t.Context(), uuid, "shop", &other)
		if protocol.CodeOf(err) != protocol.CodeConflict {
			t.Errorf("%s: %v", name, err)
		}
	}
	run(t, dir, "reset", "--quiet", "--hard", "main")
	_, err = repeat()
	errorHint(t, err, protocol.CodeConflict) // the branch no longer has it, nor the files
}

// A commit is of what was shown, on the commit that was shown.
func TestACommitNamesWhatWasShown(t *testing.T) {
	t.Parallel()
	k, _, dir := cloned(t)
	write(t, dir, "README", "shown\n")
	req := k.commitRequest(uuid, "shop", "Open")
	equal(t, "head", req.Head, run(t, dir, "rev-parse", "HEAD"))
	try := func(snapshot, head string) error {
		_, err := k.Commit(t.Context(), uuid, "shop", &protocol.CommitRequest{
			Message: "Open", Author: ada, Snapshot: snapshot, Head: head,
		})
		return err
	}
	write(t, dir, "other", "newer\n")
	equal(t, "newer files", errorHint(t, try(req.Snapshot, req.Head), protocol.CodeConflict), "Look at the changes again")
	must(t, os.Remove(filepath.Join(dir, "other")))
	run(t, dir, "commit", "--quiet", "--allow-empty", "-m", "Meanwhile")
	equal(t, "a newer commit", errorHint(t, try(req.Snapshot, req.Head), protocol.CodeConflict), "Look at the changes again")
	now := k.commitRequest(uuid, "shop", "Open")
	errorHint(t, try(now.Snapshot, req.Head), protocol.CodeConflict)
	errorHint(t, try(req.Snapshot, now.Head), protocol.CodeConflict)
	errorHint(t, try(strings.Repeat("a", 40), now.Head), protocol.CodeConflict)
	errorHint(t, try("", now.Head), protocol.CodeInvalid)
	errorHint(t, try(now.Snapshot, ""), protocol.CodeInvalid)
	equal(t, "commits of ours", run(t, dir, "log", "--all", "--format=%cn", "--grep=Open"), "")
	must(t, try(now.Snapshot, now.Head))
}

// A host that ended in the middle of a commit has written a part of it, and has left its locks. A repeat makes the rest.
func TestARepeatFinishesACommit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		packed bool
		undo   func(dir, branch, before string) // makes the repository as after a part
	}{
		"the branch is missing": {false, func(dir, branch, before string) {
			run(t, dir, "update-ref", branch, before)
			shell(t, dir, "cd .git; echo x >"+own("index")+"; ln "+own("index")+" index.lock; echo y >"+own(branch)+"; ln "+own(branch)+" "+branch+".lock")
		}},
		"the branch is missing, and packed": {true, func(dir, branch, before string) {
			run(t, dir, "update-ref", branch, before)
			run(t, dir, "pack-refs", "--all")
		}},
		"the index is missing": {false, func(dir, branch, before string) {
			run(t, dir, "update-ref", branch, before)
			run(t, dir, "read-tree", before)
			shell(t, dir, "cd .git; echo x >"+own("index")+"; ln "+own("index")+" index.lock; echo y >"+own(branch))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			k, _, dir := cloned(t)
			write(t, dir, "README", "open\n")
			write(t, dir, "new/file", "new\n")
			if c.packed {
				run(t, dir, "pack-refs", "--all")
			}
			branch, before := run(t, dir, "symbolic-ref", "HEAD"), run(t, dir, "rev-parse", "HEAD")
			req := k.commitRequest(uuid, "shop", "Open")
			req.At = time.Unix(1_800_000_000, 0)
			first, err := k.Commit(t.Context(), uuid, "shop", req)
			must(t, err)
			c.undo(dir, branch, before)
			second, err := k.Commit(t.Context(), uuid, "shop", req)
			must(t, err)
			equal(t, "commit", fmt.Sprintf("%+v", *second), fmt.Sprintf("%+v", *first))
			equal(t, "status", run(t, dir, "status", "--porcelain"), "")
			equal(t, "tip", run(t, dir, "rev-parse", "HEAD"), first.Commit)
			equal(t, "fsck", run(t, dir, "fsck", "--strict", "--no-dangling"), "")
			shell(t, dir, "! find .git -name '*.lock' -o -name '.bellhop*' | grep .")
		})
	}
}

// own is the name of the writer's temporary file for a path.
func own(path string) string {
	sum := sha256.Sum256([]byte(path))
	return filepath.Join(filepath.Dir(path), ".bellhop-"+hex.EncodeToString(sum[:8]))
}

// The host's own lock of the index does not hold the agent's git up after a restart.
func TestTheHostsOwnLockIsRemovedAtOnce(t *testing.T) {
	t.Parallel()
	k, _, dir := cloned(t)
	shell(t, dir, "echo x >.git/index.lock")
	k.session(uuid, "shop")
	if !exists(filepath.Join(dir, ".git", "index.lock")) {
		t.Error("a young lock of git is gone")
	}
	shell(t, dir, "cd .git; ln index.lock "+own("index"))
	k.session(uuid, "shop")
	if exists(filepath.Join(dir, ".git", "index.lock")) {
		t.Error("the host's lock is still there")
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
		req := k.commitRequest(uuid, "shop", c.message)
		req.Author = c.author
		_, err := k.Commit(t.Context(), uuid, "shop", req)
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
