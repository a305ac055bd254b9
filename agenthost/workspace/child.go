package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bellhop/agenthost/workspace/treereader"
	"bellhop/internal/process"
	"bellhop/protocol"
)

// child is a confined process of this program, which works where an agent can change what names stand for.
type child struct {
	stdin  io.WriteCloser
	stdout io.Reader

	cmd      *exec.Cmd
	ctx      context.Context //nolint:containedctx // of the process, which lives as long as this
	cancel   context.CancelFunc
	stderr   bytes.Buffer
	hasEnded bool
}

// startChild starts a command of package treereader. It sees only a place, which it can change if it writes. session is
// that whose programs work there, "" for none. The caller ends it.
func (m *Manager) startChild(ctx context.Context, session, place, command string, writes bool) (*child, error) {
	confined, err := m.helper(session, place, command, writes)
	if err != nil {
		return nil, err
	}
	return startCommand(ctx, confined)
}

func startCommand(ctx context.Context, command process.Command) (*child, error) {
	c := &child{}
	c.ctx, c.cancel = context.WithCancel(ctx)
	c.cmd = exec.CommandContext(c.ctx, command.Args[0], command.Args[1:]...)
	c.cmd.Dir, c.cmd.Env, c.cmd.Stderr = command.Dir, command.Env, &limited{&c.stderr, maxComplaint}
	process.KillsGroup(c.cmd)
	c.cmd.WaitDelay = 2 * time.Second
	var err error
	c.stdin, err = c.cmd.StdinPipe()
	if err == nil {
		c.stdout, err = c.cmd.StdoutPipe()
	}
	if err == nil {
		err = c.cmd.Start()
	}
	if err != nil {
		c.cancel()
		return nil, fmt.Errorf("start the tree reader: %w", err)
	}
	return c, nil
}

// end kills the process, if it still runs, and waits for its end.
func (c *child) end() {
	if !c.hasEnded {
		c.hasEnded = true
		c.cancel()
		_ = c.cmd.Wait() // it was killed, or its answer says more
	}
}

// explain ends the process, and returns why it did not answer.
func (c *child) explain(err error) error {
	cause := context.Cause(c.ctx)
	c.end()
	if cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return fmt.Errorf("%w: %s", errors.Join(err, cause), strings.TrimSpace(c.stderr.String()))
}

const maxComplaint = 4 << 10

// limited keeps the beginning of what is written.
type limited struct {
	to   *bytes.Buffer
	size int
}

func (w *limited) Write(p []byte) (int, error) {
	w.to.Write(p[:min(len(p), max(0, w.size-w.to.Len()))])
	return len(p), nil
}

// command returns a command of package treereader with the host's rights.
func (m *Manager) command(name string) (c process.Command, err error) {
	c = process.Command{
		Args: []string{m.readerProgram, name}, Dir: string(filepath.Separator), Env: treereader.Environment(),
	}
	if c.Args[0] == "" {
		c.Args[0], err = os.Executable()
	}
	return c, err
}

// helper is command, confined to a place.
func (m *Manager) helper(session, place, name string, writes bool) (process.Command, error) {
	c, err := m.command(name)
	if err != nil || m.confine == nil {
		return c, err
	}
	return m.confine(session, place, writes, c)
}

// tree is a directory that an agent can change, of which a confined process tells. The process may be silent for a limited time.
// Its errors are those of treereader.Tree, and for a process that does not answer those of child.explain.
type tree struct {
	*treereader.Tree
	child *child
	stop  context.CancelCauseFunc
	below string // the directory that names are in: "" or with a slash at its end
}

// in returns the tree as that of a directory in it, with the same process. A failure has a path from the whole tree's directory.
func (t *tree) in(dir string) *tree { return &tree{t.Tree, t.child, t.stop, t.below + dir + "/"} }

// List is that of treereader.Tree.
func (t *tree) List(dir string, limit int) (entries []treereader.Entry, isCut bool, err error) {
	return t.Tree.List(t.below+dir, limit)
}

// Read is that of treereader.Tree.
func (t *tree) Read(p treereader.Part) (treereader.Entry, []byte, error) {
	p.Path = t.below + p.Path
	return t.Tree.Read(p)
}

// ReadEach is that of treereader.Tree.
func (t *tree) ReadEach(parts []treereader.Part, do func(i int, e treereader.Entry, content []byte, err error) error) error {
	if t.below != "" {
		parts = slices.Clone(parts)
		for i := range parts {
			parts[i].Path = t.below + parts[i].Path
		}
	}
	return t.Tree.ReadEach(parts, do)
}

const (
	lookTime = 20 * time.Second
	walkTime = time.Minute // of a walk through all that is below a directory
	// removeTime is that of a removal: a large tree on a slow disk takes minutes, and nobody waits for it.
	removeTime = 5 * time.Minute
)

// openTree opens a directory in a place. The caller closes the tree.
func (m *Manager) openTree(ctx context.Context, session, place string, r *treereader.TreeRequest) (*tree, error) {
	command, err := m.helper(session, place, treereader.TreeCommand, false)
	if err != nil {
		return nil, err
	}
	return startTree(ctx, lookTime, command, r)
}

// openToRemove opens a directory, of which names are to be removed.
func (m *Manager) openToRemove(ctx context.Context, session, dir string) (*tree, error) {
	command, err := m.helper(session, dir, treereader.TreeCommand, true)
	if err != nil {
		return nil, err
	}
	return startTree(ctx, removeTime, command, &treereader.TreeRequest{Root: dir})
}

// startTree starts a process that may be silent for a limited time.
func startTree(ctx context.Context, limit time.Duration, command process.Command, r *treereader.TreeRequest) (*tree, error) {
	ctx, stop := context.WithCancelCause(ctx)
	c, err := startCommand(ctx, command)
	if err != nil {
		stop(nil)
		return nil, err
	}
	to := &patience{c.stdin, c.stdout, limit, func() { stop(context.DeadlineExceeded) }}
	return &tree{treereader.NewTree(to, to, r), c, stop, ""}, nil
}

func (t *tree) close() {
	t.child.end()
	t.stop(nil)
}

// patience gives up when a process does not go on for too long.
type patience struct {
	to     io.Writer
	from   io.Reader
	limit  time.Duration
	giveUp func()
}

// Read implements io.Reader.
func (p *patience) Read(b []byte) (int, error) {
	defer time.AfterFunc(p.limit, p.giveUp).Stop()
	return p.from.Read(b)
}

// Write implements io.Writer.
func (p *patience) Write(b []byte) (int, error) {
	defer time.AfterFunc(p.limit, p.giveUp).Stop()
	return p.to.Write(b)
}

// explain returns why something was not answered. A *treereader.Failure and a *protocol.Error stay what they are.
// CodeConflict: it takes too long.
func (t *tree) explain(err error) error {
	if err == nil || errors.As(err, new(*treereader.Failure)) || errors.As(err, new(*protocol.Error)) {
		return err
	}
	err = t.child.explain(err)
	if errors.Is(err, context.DeadlineExceeded) {
		return errTooSlow(err)
	}
	return err
}

// errTooSlow is the error of a reading that takes too long.
func errTooSlow(err error) error {
	return &protocol.Error{
		Code: protocol.CodeConflict, Message: "Reading the workspace takes too long", Err: err,
		Hint: "Ask the agent to remove large files, or list packages and build output in .gitignore",
	}
}

// has reports whether a git directory has something of a name.
func (t *tree) has(name string) (bool, error) {
	_, _, err := t.Read(treereader.Part{Path: name})
	if err == nil {
		return true, nil
	}
	return false, t.errGitDir(err)
}
