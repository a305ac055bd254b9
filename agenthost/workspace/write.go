package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"bellhop/agenthost/workspace/treereader"
	"bellhop/internal/process"
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
	c, err := m.helper(rec, treereader.WriteCommand, writes)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, c.Args[0], c.Args[1:]...)
	var stdout, stderr bytes.Buffer // the writer's memory is bounded, and so is this
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.Dir, c.Env, &limited{&stdout, maxToldFile}, &limited{&stderr, maxComplaint}
	process.KillsGroup(cmd)
	cmd.WaitDelay = 2 * time.Second
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start the tree writer: %w", err)
	}
	sent := errors.Join(treereader.WriteChanges(stdin, root, hashSize, changes), stdin.Close())
	waited := cmd.Wait()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	told, err := treereader.ReadOutcome(&stdout)
	var refusal *treereader.Refusal
	switch {
	case errors.As(err, &refusal):
		return nil, refusal
	case err != nil:
		return nil, fmt.Errorf("write into a workspace: %w: %s", errors.Join(err, waited, sent), strings.TrimSpace(stderr.String()))
	}
	return told, nil
}

const (
	maxComplaint = 4 << 10
	maxToldFile  = maxHunkFile + 1<<10
)

// limited keeps the beginning of what is written.
type limited struct {
	to   *bytes.Buffer
	size int
}

func (w *limited) Write(p []byte) (int, error) {
	w.to.Write(p[:min(len(p), max(0, w.size-w.to.Len()))])
	return len(p), nil
}

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

// helper returns the command that reads or writes in a workspace, confined.
func (m *Manager) helper(rec *record, command string, writes bool) (process.Command, error) {
	c := process.Command{
		Args: []string{m.readerProgram, command}, Dir: string(filepath.Separator), Env: treereader.Environment(),
	}
	var err error
	if c.Args[0] == "" {
		if c.Args[0], err = os.Executable(); err != nil {
			return c, err
		}
	}
	if m.confine == nil {
		return c, nil
	}
	return m.confine(m.sessionIn(rec), m.rootDir(rec), writes, c)
}
