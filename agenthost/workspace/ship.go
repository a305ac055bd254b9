package workspace

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"bellhop/protocol"
)

// shipTimeout bounds one step of shipping.
const shipTimeout = 2 * time.Minute

// Ships lists what the host does with the work of a session; nothing for a session whose
// workspace is not a clone or a repository of its own.
func (m *Manager) Ships(sessionID, project string) []protocol.ShipStep {
	rec, err := m.shippable(sessionID, project)
	switch {
	case err != nil:
		return nil
	case rec.Kind == kindOwn:
		return []protocol.ShipStep{protocol.ShipCommit, protocol.ShipDiscard, protocol.ShipDiscardHunk}
	}
	return protocol.ShipSteps()
}

// shippable returns the record of a session's workspace. CodeNotFound: there is none.
// CodeConflict: its repository is not the session's alone.
func (m *Manager) shippable(sessionID, project string) (*record, error) {
	rec, err := m.existingRecord(sessionID, project)
	if err != nil {
		return nil, err
	}
	switch {
	case rec.State != stateReady:
		return nil, errNoWorkspace()
	case rec.Kind == kindClone || rec.Kind == kindOwn:
		return rec, nil
	case rec.Kind == kindPlain:
		return nil, &protocol.Error{
			Code: protocol.CodeConflict, Message: "The session's workspace is no git repository",
			Hint: "Install git on the agent host, and begin another task",
		}
	}
	return nil, &protocol.Error{
		Code: protocol.CodeConflict, Message: fmt.Sprintf("The session works in a repository of the project %s", rec.Project),
		Hint: "Others may have changes there too: commit them on the agent host, or begin a task that works in a clone",
	}
}

// step runs a step of shipping, alone in its workspace.
func (m *Manager) step(
	ctx context.Context, sessionID, project string, do func(ctx context.Context, rec *record) error,
) error {
	ctx, cancel := context.WithTimeout(ctx, shipTimeout)
	defer cancel()
	rec, unlock, err := m.beginStep(ctx, sessionID, project)
	if err != nil {
		return err
	}
	defer unlock()
	leave, err := m.acquireSlot(ctx, rec) // it reads all files
	if err != nil {
		return err
	}
	defer leave()
	return errUnwritable(do(ctx, rec))
}

// beginStep takes the lock of a session's workspace.
func (m *Manager) beginStep(ctx context.Context, sessionID, project string) (*record, func(), error) {
	if m.git.program == "" {
		return nil, nil, errNoGit
	}
	if _, err := m.shippable(sessionID, project); err != nil {
		return nil, nil, err
	}
	unlock, err := m.locks.acquire(ctx, m.lockKey(sessionID, project))
	if err != nil {
		return nil, nil, err
	}
	rec, err := m.shippable(sessionID, project) // it may have changed until the lock was free
	if err != nil {
		unlock()
		return nil, nil, err
	}
	return rec, unlock, nil
}

// shippedRepository returns the mirror of a workspace that can be shipped. CodeConflict: its directory is gone.
func (m *Manager) shippedRepository(ctx context.Context, rec *record) (repository, error) {
	repo, err := m.repository(ctx, rec)
	if err != nil {
		return repo, err
	}
	if _, err := os.Lstat(m.rootDir(rec)); err != nil {
		return repo, errWorkspaceGone(err)
	}
	return repo, nil
}

func errWorkspaceGone(err error) error {
	return &protocol.Error{
		Code: protocol.CodeConflict, Message: "The session's workspace is gone",
		Hint: "The session's next turn makes it again", Err: err,
	}
}

// head is the branch that a workspace has checked out.
type head struct {
	ref string // "refs/heads/…"
	tip string // its commit
}

func (h head) branch() string { return strings.TrimPrefix(h.ref, "refs/heads/") }

// head returns the branch that is checked out, from the mirror. CodeNoBranch: none is, or it has no
// commit.
func (m *Manager) head(ctx context.Context, mirror repository) (head, error) {
	content, err := os.ReadFile(filepath.Join(mirror.gitDir, "HEAD"))
	if err != nil {
		return head{}, err
	}
	ref, symbolic := strings.CutPrefix(strings.TrimSpace(string(content)), "ref: ")
	if !symbolic || !strings.HasPrefix(ref, "refs/heads/") ||
		protocol.CheckBranch(strings.TrimPrefix(ref, "refs/heads/")) != nil {
		return head{}, &protocol.Error{
			Code: protocol.CodeNoBranch, Message: "No branch is checked out in the workspace",
			Hint: "Ask the agent to check out a branch with a usual name, and try again",
		}
	}
	out, err := m.git.run(ctx, call{
		repo: mirror, noFiles: true,
		args: []string{"rev-parse", "--verify", "--quiet", "--end-of-options", ref + "^{commit}"},
	})
	if exitedWith(err, 1) || exitedWith(err, 128) {
		return head{}, &protocol.Error{
			Code: protocol.CodeNoBranch, Message: "The branch that is checked out in the workspace has no commit",
			Hint: "Ask the agent to check out the branch of the task, and try again",
		}
	}
	return head{ref, trimNewline(out)}, err
}

// unfinishedFiles are what git keeps in a git directory until a merge, a rebase or the like is over.
var unfinishedFiles = []string{"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply"}

// errUnmerged means that a merge, a rebase or the like is not finished: files may have marks of conflicts, and the commit
// needs parents that only git knows.
func errUnmerged() error {
	return &protocol.Error{
		Code: protocol.CodeUnmerged, Message: "A merge or rebase is not finished in the workspace",
		Hint: "Ask the agent to resolve the conflicts and to finish it",
	}
}
