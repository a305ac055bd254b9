package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"bellhop/agenthost/workspace/treereader"
	"bellhop/internal/owner"
	"bellhop/protocol"
)

var agentUser = owner.ID{UID: 1_900_000_001, GID: 1_900_000_000}

// give gives a workspace to the agent's user, as its first program does.
func (k *kit) give(id, dir string) {
	k.Helper()
	must(k.T, owner.Give(dir, agentUser)) // files that the test has written as root
	must(k.T, k.Give(id, dir, agentUser))
}

// allBelong checks that every file of a workspace belongs to the agent's user.
func (k *kit) allBelong(when, dir string) {
	k.Helper()
	must(k.T, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if at, err := owner.OfPath(path); err != nil || at != agentUser {
			k.Errorf("%s: %s belongs to %v, %v", when, path, at, err)
		}
		return nil
	}))
}

// What the host writes into a workspace belongs to the user of the agent's programs, which could not
// change it otherwise.
func TestFilesOfTheHostBelongToTheAgentsUser(t *testing.T) {
	t.Parallel()
	k, shop, dir := cloned(t)
	k.give(uuid, dir)
	k.allBelong("given", dir)

	write(t, dir, "README", "shop\nopen\n")
	write(t, dir, "new/deep.txt", "b\n")
	must(t, os.Remove(filepath.Join(dir, "old.txt")))
	k.give(uuid, dir)
	done := k.commit(uuid, "shop", "Open")
	k.allBelong("committed", dir)
	equal(t, "in the project", run(t, shop, "rev-parse", done.Branch), done.Commit)
	if at, err := owner.OfPath(filepath.Join(shop, ".git", "refs", "heads")); err != nil || at != owner.Self() {
		t.Errorf("the project belongs to %v, %v", at, err)
	}

	must(t, k.tryDiscard(uuid, "shop", "README", "old.txt", "new/deep.txt"))
	k.allBelong("discarded", dir)

	must(t, os.Remove(filepath.Join(dir, ".git", "objects", "info", "alternates")))
	k.session(uuid, "shop")
	k.allBelong("with the project's objects again", dir)

	must(t, os.RemoveAll(filepath.Join(dir, ".git")))
	k.session(uuid, "shop")
	k.allBelong("with its git directory again", dir)
	k.diff(uuid, "shop")

	if at, err := k.StateOwner(uuid); err != nil || at != agentUser {
		t.Errorf("the state belongs to %v, %v", at, err)
	}
}

func TestARemovedWorkspaceIsGivenAgain(t *testing.T) {
	t.Parallel()
	k, _, dir := cloned(t)
	k.give(uuid, dir)
	must(t, os.RemoveAll(dir))
	k.session(uuid, "shop")
	must(t, k.Give(uuid, dir, agentUser))
	k.allBelong("made again", dir)
}

func TestWhatRootHasCommittedIsGivenAgain(t *testing.T) {
	t.Parallel()
	k, _, dir := cloned(t)
	k.give(uuid, dir)
	write(t, dir, "README", "shop\nopen\n")
	run(t, dir, "-c", "safe.directory=*", "commit", "--quiet", "--all", "--message=Open")
	must(t, k.Give(uuid, dir, agentUser))
	k.allBelong("committed by root", dir)
}

func TestDirectoriesWithoutTheirOwnerAreGivenInFull(t *testing.T) {
	t.Parallel()
	k := open(t, nil)
	dir := k.session("s1", "")
	// As after a crash of the host between two files.
	must(t, os.Lchown(filepath.Join(dir, ".git"), agentUser.UID, agentUser.GID))
	must(t, k.Give("s1", dir, agentUser))
	k.allBelong("given", dir)
	owners, err := k.Owners()
	if err != nil || !owners[agentUser.UID] {
		t.Errorf("%v, %v", owners, err)
	}
}

// While a session's first program starts, its files get another owner, which the process that reads them does not have.
func TestAReadingIsRepeatedWhenFilesHaveBeenGiven(t *testing.T) {
	t.Parallel()
	m := &Manager{}
	m.giving.Lock()
	begun, isGiven, calls := make(chan struct{}), false, 0
	done := make(chan error)
	go func() {
		done <- m.settled(func() error {
			if calls++; calls == 1 {
				close(begun)
				return &protocol.Error{Code: protocol.CodeConflict, Err: &treereader.Failure{Path: "HEAD", Why: treereader.IsClosed}}
			}
			if !isGiven {
				t.Error("repeated while the files are given")
			}
			return nil
		})
	}()
	<-begun
	isGiven = true
	m.giving.Unlock()
	if err := <-done; err != nil || calls != 2 {
		t.Errorf("%v after %d readings", err, calls)
	}
	for _, final := range []error{&treereader.Failure{Why: treereader.IsLink}, errors.New("other")} {
		calls = 0
		if err := m.settled(func() error { calls++; return final }); !errors.Is(err, final) || calls != 1 {
			t.Errorf("%v after %d readings of %v", err, calls, final)
		}
	}
}
