package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"

	"bellhop/agenthost/workspace/treereader"
	"bellhop/protocol"
)

// write changes files below root, which is in a workspace, by a confined writer. CodeConflict: a file is not as
// expected, or cannot be written. CodeBusy: git has locked one.
func (m *Manager) write(ctx context.Context, rec *record, root string, changes []treereader.Change) error {
	_, err := m.runWriter(ctx, rec, root, true, changes)
	return errRefused(err)
}

// readExpected returns the content of a file, if it is as expected. Its errors are those of write.
func (m *Manager) readExpected(ctx context.Context, rec *record, name string, old treereader.Old) ([]byte, error) {
	content, err := m.runWriter(ctx, rec, m.rootDir(rec), false, []treereader.Change{
		{Path: name, Old: old, New: treereader.New{Stays: true, Told: true}},
	})
	return content, errRefused(err)
}

// runWriter runs a confined writer below root, which is in a workspace, and returns the content of the file that is to be
// told. A *treereader.Refusal says why nothing was changed.
func (m *Manager) runWriter(
	ctx context.Context, rec *record, root string, writes bool, changes []treereader.Change,
) ([]byte, error) {
	hashSize := 20
	if !isSHA1(rec.Format) {
		hashSize = 32
	}
	c, err := m.startChild(ctx, m.sessionIn(rec), m.rootDir(rec), treereader.WriteCommand, writes)
	if err != nil {
		return nil, err
	}
	defer c.end()
	sent := errors.Join(treereader.WriteChanges(c.stdin, root, hashSize, changes), c.stdin.Close())
	told, err := treereader.ReadOutcome(io.LimitReader(c.stdout, maxToldFile))
	var refusal *treereader.Refusal
	switch {
	case err == nil, errors.As(err, &refusal):
		return told, err
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return nil, c.explain(fmt.Errorf("write into a workspace: %w", errors.Join(err, sent)))
}

const maxToldFile = maxHunkFile + 1<<10

// errRefused explains why files were not changed.
func errRefused(err error) error {
	r := (*treereader.Refusal)(nil)
	if !errors.As(err, &r) {
		return err
	}
	return explain(r)
}

func explain(r *treereader.Refusal) error {
	if r.Path == "" {
		return errNoRepository(r)
	}
	var err *protocol.Error
	switch r.Why {
	case treereader.IsNoFile:
		err = errNotAFile(r.Path)
	case treereader.IsInTheWay:
		err = &protocol.Error{
			Code: protocol.CodeConflict, Message: fmt.Sprintf("%q is in the way, and is not among the changes", r.Path), Err: r,
			Hint: "Git ignores it, or it is a part of a repository of its own. Ask the agent to move it",
		}
	case treereader.IsLocked:
		err = errGitBusy(r)
	case treereader.Unwritable:
		err = &protocol.Error{
			Code: protocol.CodeConflict, Message: fmt.Sprintf("%q cannot be written", r.Path), Err: r,
			Hint: "Its directory belongs to another user, was made read-only or moved, or the disk of the agent host is full",
		}
	default:
		err = errChangedSince(r.Path)
	}
	if r.Partly {
		err.Hint += ". Some files were changed: repeat the request for the others"
	}
	return err
}
