package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bellhop/protocol"
)

// changedByOthers adds a commit to a branch of a remote that changes README.
func changedByOthers(t *testing.T, bare, branch, content string) string {
	t.Helper()
	other := filepath.Join(t.TempDir(), "other")
	run(t, filepath.Dir(other), "clone", "--quiet", "--branch", branch, bare, other)
	write(t, other, "README", content)
	run(t, other, "commit", "--quiet", "-a", "-m", "theirs")
	run(t, other, "push", "--quiet", "origin", branch)
	return run(t, other, "rev-parse", "HEAD")
}

func (k *kit) fetchRemoteOf(id string) (*protocol.FetchResponse, error) {
	return k.FetchRemote(k.Context(), id, "shop", nil)
}

// The merge needs nothing but the clone: the remote is away meanwhile.
func TestAConflictIsMergedInTheCloneAndPushed(t *testing.T) {
	t.Parallel()
	k, bare, dir := withRemote(t)
	branch := run(t, dir, "symbolic-ref", "--short", "HEAD")
	write(t, dir, "README", "mine\n")
	k.commit(uuid, "shop", "Mine")
	must1(t)(k.tryPush(""))
	write(t, dir, "more.txt", "more\n")
	k.commit(uuid, "shop", "More")
	main := changedByOthers(t, bare, "main", "theirs\n")
	theirs := pushedByOthers(t, bare, branch)
	if err := tryRun(dir, "cat-file", "-e", main); err == nil {
		t.Fatal("the clone has the commit already")
	}
	before := run(t, dir, "status", "--porcelain")
	heads := run(t, dir, "for-each-ref", "refs/heads")

	done, err := k.fetchRemoteOf(uuid)
	must(t, err)
	want := protocol.FetchResponse{
		Success: true, SessionID: uuid, Branch: branch, Base: "main", Diverged: theirs, BaseCommit: main,
	}
	if *done != want {
		t.Errorf("got %+v, want %+v", *done, want)
	}
	if state := k.remoteState(); !strings.Contains(state, `"diverged":"`+theirs+`","baseMoved":true`) {
		t.Error(state)
	}
	equal(t, "branches", run(t, dir, "for-each-ref", "refs/heads"), heads)
	equal(t, "status", run(t, dir, "status", "--porcelain"), before)

	away := bare + ".away"
	must(t, os.Rename(bare, away))
	run(t, dir, "merge", "--quiet", "--no-edit", "origin/"+branch)
	if err := tryRun(dir, "merge", "--quiet", "--no-edit", "origin/main"); err == nil {
		t.Fatal("there is no conflict")
	}
	if _, err := k.tryCommit(uuid, "shop", "Too early"); protocol.CodeOf(err) != protocol.CodeUnmerged {
		t.Errorf("with marks of a conflict: %v", err)
	}
	write(t, dir, "README", "mine and theirs\n")
	run(t, dir, "add", ".")
	run(t, dir, "commit", "--quiet", "--no-edit")
	equal(t, "whole", run(t, dir, "fsck", "--no-dangling", "--no-progress"), "")
	must(t, os.Rename(away, bare))

	must1(t)(k.tryPush(""))
	equal(t, "at the remote", run(t, bare, "show", branch+":README"), "mine and theirs")
	for _, commit := range []string{main, theirs} {
		run(t, bare, "merge-base", "--is-ancestor", commit, branch)
	}
	if state := k.remoteState(); !strings.Contains(state, `"ahead":0}`) {
		t.Error(state)
	}
	done, err = k.fetchRemoteOf(uuid)
	must(t, err)
	equal(t, "afterwards", fmt.Sprint(done.Diverged, done.BaseCommit), "")
}

func TestCommitsAreFetchedBeforeTheFirstPush(t *testing.T) {
	t.Parallel()
	k, bare, dir := withRemote(t)
	main := changedByOthers(t, bare, "main", "theirs\n")
	for range 2 {
		done, err := k.fetchRemoteOf(uuid)
		must(t, err)
		equal(t, "base", done.BaseCommit, main)
		equal(t, "branch", done.Diverged, "")
		equal(t, "in the clone", run(t, dir, "rev-parse", "origin/main"), main)
	}
	if state := k.remoteState(); !strings.Contains(state, `"baseMoved":true`) || strings.Contains(state, "pushed") {
		t.Error(state)
	}
	reopened := openOn(t, k.data, k.projects)
	if state := reopened.remoteState(); !strings.Contains(state, `"baseMoved":true`) {
		t.Errorf("after a restart: %s", state)
	}
	run(t, dir, "merge", "--quiet", "--no-edit", "origin/main")
	if state := k.remoteState(); strings.Contains(state, "baseMoved") {
		t.Error(state)
	}
}

func TestAFetchIsRefusedOrFailsWithoutAnyChange(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		work func(k *kit, bare, dir string)
		want protocol.Code
	}{
		"no branch": {
			func(k *kit, _, dir string) { run(k.T, dir, "checkout", "--quiet", "--detach") }, protocol.CodeNoBranch,
		},
		"no remote": {
			func(k *kit, _, _ string) { run(k.T, k.shop(), "remote", "remove", "origin") }, protocol.CodeNoRemote,
		},
		"a remote helper":    {setOrigin("ext::touch mark"), protocol.CodeNoRemote},
		"an option":          {setOrigin("--upload-pack=touch"), protocol.CodeNoRemote},
		"a removed bare one": {func(k *kit, bare, _ string) { must(k.T, os.RemoveAll(bare)) }, protocol.CodeRemoteFailed},
		"a damaged one": {
			func(k *kit, bare, _ string) {
				objects := filepath.Join(bare, "objects")
				must(k.T, os.RemoveAll(objects))
				must(k.T, os.MkdirAll(filepath.Join(objects, "pack"), 0o700))
			}, protocol.CodeRemoteFailed,
		},
		"a file in the place of a ref's directory": {
			func(k *kit, _, dir string) {
				remotes := filepath.Join(dir, ".git", "refs", "remotes")
				must(k.T, os.RemoveAll(remotes))
				must(k.T, os.WriteFile(remotes, nil, 0o600))
			}, protocol.CodeConflict,
		},
		"a lock of the agent": {
			func(k *kit, _, dir string) {
				write(k.T, filepath.Join(dir, ".git", "refs", "remotes", "origin"), "main.lock", "")
			}, protocol.CodeBusy,
		},
	} {
		t.Run(name, func(t *testing.T) {
			k, bare, dir := withRemote(t)
			changedByOthers(t, bare, "main", "theirs\n")
			c.work(&kit{t, k.Manager, k.log}, bare, dir)
			before := run(t, dir, "for-each-ref")
			_, err := k.fetchRemoteOf(uuid)
			errorHint(t, err, c.want)
			equal(t, "refs", run(t, dir, "for-each-ref"), before)
			equal(t, "status", run(t, dir, "status", "--porcelain"), "")
		})
	}
}

func TestAFetchFollowsNoLinkOutOfTheWorkspace(t *testing.T) {
	t.Parallel()
	k, bare, dir := withRemote(t)
	changedByOthers(t, bare, "main", "theirs\n")
	outside := t.TempDir()
	remotes := filepath.Join(dir, ".git", "refs", "remotes")
	must(t, os.RemoveAll(remotes))
	must(t, os.Symlink(outside, remotes))
	_, err := k.fetchRemoteOf(uuid)
	errorHint(t, err, protocol.CodeConflict)
	if entries, err := os.ReadDir(outside); err != nil || len(entries) > 0 {
		t.Errorf("written outside: %v %v", entries, err)
	}
}

// A ref to a commit that is not there would end git's own fetch.
func TestDamagedRefsOfAnAgentDoNotEndAFetch(t *testing.T) {
	t.Parallel()
	k, bare, dir := withRemote(t)
	main := changedByOthers(t, bare, "main", "theirs\n")
	write(t, filepath.Join(dir, ".git", "refs", "heads"), "gone", strings.Repeat("1", 40)+"\n")
	done, err := k.fetchRemoteOf(uuid)
	must(t, err)
	equal(t, "base", done.BaseCommit, main)
}

func TestARemoteThatHangsEndsAFetch(t *testing.T) {
	t.Parallel()
	k, _, _ := withRemote(t)
	err := hangs(t, k, func() error { _, err := k.fetchRemoteOf(uuid); return err })
	errorHint(t, err, protocol.CodeRemoteFailed)
	if !strings.Contains(err.Error(), "did not answer in time") {
		t.Error(err)
	}
}
