package workspace

import (
	"path/filepath"
	"testing"

	"bellhop/protocol"
)

// A program of the agent may commit, or check out another branch, while the host makes its commit.
func TestACommitIsNotGivenToABranchThatMovedMeanwhile(t *testing.T) {
	t.Parallel()
	for name, move := range map[string][]string{
		"another commit": {"commit", "--quiet", "--allow-empty", "-m", "Meanwhile"},
		"another branch": {"checkout", "--quiet", "-b", "meanwhile"},
	} {
		t.Run(name, func(t *testing.T) {
			k, _, dir := cloned(t)
			write(t, dir, "README", "open\n")
			rec, end, err := k.beginStep(t.Context(), uuid, "shop")
			must(t, err)
			defer end()
			mirror, err := k.diffRepository(t.Context(), rec)
			must(t, err)
			agent, err := k.openGitDir(rec)
			must(t, err)
			defer agent.Close()
			at, err := k.head(t.Context(), mirror)
			must(t, err)
			scratch := t.TempDir()
			next := mirror
			next.indexFile, next.objectDir = filepath.Join(scratch, "index"), filepath.Join(scratch, "objects")
			tree, err := k.snapshot(t.Context(), mirror, at.tip, scratch, next.objectDir)
			must(t, err)
			req := &protocol.CommitRequest{Message: "Late\n", Author: ada}
			id, err := k.commitTree(t.Context(), next, at.tip, tree, req)
			must(t, err)

			run(t, dir, move...)
			before := run(t, dir, "for-each-ref") + run(t, dir, "status", "--branch", "--porcelain")
			err = k.giveCommit(t.Context(), agent, next, at, id, scratch)
			if protocol.CodeOf(err) != protocol.CodeBusy {
				t.Errorf("got %v", err)
			}
			equal(t, "branches and status", run(t, dir, "for-each-ref")+run(t, dir, "status", "--branch", "--porcelain"), before)
		})
	}
}
