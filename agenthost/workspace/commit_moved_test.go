package workspace

import (
	"context"
	"testing"
	"time"

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
			mirror, err := k.shippedRepository(t.Context(), rec)
			must(t, err)
			at, err := k.head(t.Context(), mirror)
			must(t, err)
			var before string
			err = k.withSnapshot(t.Context(), rec, askForIndex, func(ctx context.Context, s *snapshot) error {
				run(t, dir, move...)
				before = run(t, dir, "for-each-ref") + run(t, dir, "status", "--branch", "--porcelain")
				c := committing{Manager: k.Manager, rec: rec, mirror: mirror, at: at, now: s, req: protocol.CommitRequest{
					Message: "Late\n", Author: ada, Snapshot: s.ID, Head: at.tip, At: time.Unix(1_800_000_000, 0),
				}}
				_, err := c.run(ctx)
				return err
			})
			if protocol.CodeOf(err) != protocol.CodeBusy {
				t.Errorf("got %v", err)
			}
			equal(t, "branches and status", run(t, dir, "for-each-ref")+run(t, dir, "status", "--branch", "--porcelain"), before)
		})
	}
}
