package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"bellhop/agenthost/workspace/treereader"
	"bellhop/internal/owner"
	"bellhop/protocol"
)

// Delete removes the workspace that contains path, and its branch. Without force
// it refuses to lose what exists only there, and to delete a workspace created
// by name in which a session works (CodeConflict). It never deletes a project's own directory
// (CodeInvalid). If the session still exists, its next turn gets a new workspace.
func (m *Manager) Delete(ctx context.Context, path string, force bool) error {
	rec, err := m.findByPath(path)
	if err != nil {
		return err
	}
	if rec.Kind == kindShared {
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: "This is a project's own directory, not a workspace of a session",
			Hint: "Only directories that this host has made are deleted",
		}
	}
	release, err := m.locks.acquire(ctx, cmp.Or(rec.Session, rec.Key))
	if err != nil {
		return err
	}
	defer release()
	if rec, err = m.readRecord(rec.Key); err != nil {
		return err
	}
	if user := m.userOf(rec); user != "" && !force {
		return errTaken(strings.TrimPrefix(rec.Key, "@"), user)
	}
	if !force {
		only, err := m.onlyCopies(ctx, rec)
		if err != nil {
			return err
		}
		if only.Exist() {
			return errOnlyCopies(only)
		}
	}
	_, err = m.removeLocked(ctx, rec, true)
	return err
}

func errOnlyCopies(only *protocol.OnlyCopies) error {
	return &protocol.Error{
		Code: protocol.CodeConflict, Message: "Only this workspace has " + only.Summary(false),
		Hint: "Commit and push or merge it, or copy it elsewhere. Delete with force to lose it",
	}
}

// Prune removes the workspaces whose session was deleted and that hold nothing which exists only there, and returns
// them, and those that it keeps. With dryRun it only returns them.
func (m *Manager) Prune(ctx context.Context, dryRun bool) (pruned, kept []Info, err error) {
	all, err := m.list(ctx, m.whole, func(rec *record) bool { return rec.Kind != kindShared && m.isSessionDeleted(rec) })
	if err != nil {
		return nil, nil, err
	}
	pruned = []Info{}
	for _, info := range all {
		if !dryRun && !info.OnlyHere.Exist() {
			isPruned, err := m.pruneOne(ctx, &info)
			if err != nil {
				return pruned, kept, err
			}
			if !isPruned && !info.OnlyHere.Exist() {
				continue // its session was opened meanwhile
			}
		}
		if info.OnlyHere.Exist() {
			kept = append(kept, info)
		} else {
			pruned = append(pruned, info)
		}
	}
	if dryRun {
		return pruned, kept, nil
	}
	return pruned, kept, m.pruneRemains(ctx)
}

// pruneOne checks again under the session's lock, because the session may have
// been opened since it was listed. It reports whether it removed the workspace, and else stores why not.
func (m *Manager) pruneOne(ctx context.Context, info *Info) (bool, error) {
	release, err := m.locks.acquire(ctx, info.Session)
	if err != nil {
		return false, err
	}
	defer release()
	rec, err := m.findByPath(info.Path)
	if protocol.CodeOf(err) == protocol.CodeNotFound || err == nil && !m.isSessionDeleted(rec) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	info.OnlyHere, err = m.removeLocked(ctx, rec, false)
	return !info.OnlyHere.Exist(), err
}

// pruneRemains removes the remains of workspaces that are not ready and whose
// session was deleted.
func (m *Manager) pruneRemains(ctx context.Context) error {
	all, err := m.readRecords()
	if err != nil {
		return err
	}
	for _, candidate := range all {
		if candidate.State == stateReady && candidate.Kind != kindNamed || !m.isSessionDeleted(candidate) {
			continue
		}
		release, err := m.locks.acquire(ctx, candidate.Session)
		if err != nil {
			return err
		}
		rec, err := m.readRecord(candidate.Key)
		if err == nil && (rec.State != stateReady || rec.Kind == kindNamed) && m.isSessionDeleted(rec) {
			_, err = m.removeLocked(ctx, rec, true)
			if err != nil {
				m.log.Warn("cannot remove the remains of a workspace", "workspace", rec.Key, "error", err)
			}
		}
		release()
	}
	return nil
}

// removeLocked removes a workspace: directory, mirror, branch and record. Without force it keeps a workspace with what
// exists only there, and returns that. The caller holds the session's lock.
func (m *Manager) removeLocked(ctx context.Context, rec *record, force bool) (kept *protocol.OnlyCopies, err error) {
	if rec.Kind == kindShared {
		return nil, errors.Join(m.removeStore(rec), m.releaseRecord(rec))
	}
	if rec.Kind == kindNamed { // the workspace stays: the session did not create it
		return nil, os.Remove(m.recordPath(rec.Key))
	}
	if !force && rec.State == stateReady {
		if only := m.onlyCopiesOrUnknown(ctx, rec); only.Exist() {
			m.log.Info("a workspace is kept", "workspace", rec.Key, "only_there", only.Summary(false))
			return only, nil
		}
	}
	if err := m.removeTree(ctx, m.sessionIn(rec), m.rootDir(rec)); err != nil {
		return unknownCopies(err), fmt.Errorf("remove the workspace: %w", err)
	}
	if err := os.RemoveAll(m.mirrorDir(rec)); err != nil {
		return unknownCopies(err), fmt.Errorf("remove the workspace's mirror: %w", err)
	}
	if err := m.removeStore(rec); err != nil {
		return unknownCopies(err), err
	}
	if rec.Kind == kindClone {
		if err := m.removeBranch(ctx, rec); err != nil {
			m.log.Warn("cannot remove a session's branch from its project", "workspace", rec.Key, "error", err)
		}
	}
	return nil, m.releaseRecord(rec)
}

// removeBranch removes the branch of a clone from the project. Git keeps the branch if it is checked out there.
func (m *Manager) removeBranch(ctx context.Context, rec *record) error {
	src, err := m.recordSource(ctx, rec)
	if err != nil || rec.Branch == "" { // making it ended before the branch existed
		return err
	}
	release, err := m.repoLocks.acquire(ctx, src.gitDir)
	if err != nil {
		return err
	}
	defer release()
	_, err = m.inProject(ctx, src, "branch", "--quiet", "-D", "--end-of-options", rec.Branch)
	if exitedWith(err, 1) { // the branch does not exist
		return nil
	}
	return err
}

// releaseRecord deletes a record, or marks it removed if its session still exists.
func (m *Manager) releaseRecord(rec *record) error {
	if rec.Kind != kindShared && rec.Session != "" && !m.isSessionDeleted(rec) {
		removed := m.newRecord(rec.Key, rec.Session, rec.Project)
		removed.State, removed.From = stateRemoved, rec.From
		return errors.Join(m.saveRecord(removed), m.removeMetadata(rec))
	}
	return errors.Join(os.Remove(m.recordPath(rec.Key)), m.removeMetadata(rec))
}

// removals is how often a directory is emptied while programs go on to fill it.
const removals = 3

// removeTree removes a directory of the host that an agent can fill. A confined process empties it, as the user to which
// it belongs; the directory itself is the host's to remove. session is that whose programs work there, "" for none.
// CodeConflict: something in it cannot be removed, or programs fill it again and again.
func (m *Manager) removeTree(ctx context.Context, session, dir string) (err error) {
	for range removals {
		if err := os.Remove(dir); err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err = m.emptyTree(ctx, session, dir); err != nil && !isOthers(err) {
			return errNotRemoved(err)
		}
		if at, ownerErr := owner.OfPath(dir); isOthers(err) && ownerErr == nil { // a person who is root has made files there
			if err := owner.Give(dir, at); err != nil {
				return err
			}
		}
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return errNotRemoved(&treereader.Failure{Why: treereader.IsInUse})
	}
	return nil
}

// isOthers reports whether a file may not be removed because it is another user's.
func isOthers(err error) bool {
	f := (*treereader.Failure)(nil)
	return errors.As(err, &f) && f.Why == treereader.IsClosed && os.Geteuid() == 0
}

func (m *Manager) emptyTree(ctx context.Context, session, dir string) error {
	files, err := m.openToRemove(ctx, session, dir)
	if err != nil {
		return err
	}
	defer files.close()
	return files.explain(files.RemoveAll())
}

func errNotRemoved(err error) error {
	f := (*treereader.Failure)(nil)
	if !errors.As(err, &f) {
		return err
	}
	hint := "A program of the session still makes files there: end it, and repeat"
	if f.Why == treereader.IsClosed {
		hint = "The user of the session's programs may not remove it: look at its owner on the agent host"
	}
	return &protocol.Error{
		Code: protocol.CodeConflict, Message: fmt.Sprintf("%q cannot be removed", cmp.Or(f.Path, "The directory")), Hint: hint, Err: f,
	}
}
