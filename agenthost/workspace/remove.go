package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"bellhop/protocol"
)

// Create makes a workspace by name, without a session: a worktree of the
// project, or with project "" a repository of its own. CodeInvalid: no usable
// name, unknown project or one used in place; CodeConflict: the name is taken.
func (m *Manager) Create(ctx context.Context, project, name string) (Info, error) {
	if !plainName(name) || strings.Contains(name, "..") || strings.HasSuffix(name, ".") || strings.HasSuffix(name, ".lock") || len(name) > 64 {
		return Info{}, protocol.Errorf(protocol.CodeInvalid, "A workspace's name must be 1 to 64 of A-Z a-z 0-9 . _ -, and start with a letter or digit")
	}
	if project != "" {
		if _, err := m.project(project); err != nil {
			return Info{}, err
		}
	}
	key := "@" + name
	_, err := m.once(ctx, key, func(ctx context.Context) (string, error) {
		release, err := m.locks.hold(ctx, key)
		if err != nil {
			return "", err
		}
		defer release()
		rec, err := m.record(key)
		switch {
		case protocol.CodeOf(err) == protocol.CodeNotFound:
			rec = m.newRecord(key, "", project)
		case err != nil:
			return "", err
		case rec.State == stateReady:
			return "", &protocol.Error{
				Code: protocol.CodeConflict, Message: fmt.Sprintf("There is a workspace %q", name),
				Hint: "Take another name, or delete that workspace first",
			}
		default: // an attempt that was cut short
			rec.Project = project
		}
		return "", m.make(ctx, rec)
	})
	if err != nil {
		return Info{}, err
	}
	return m.Info(ctx, m.own("workspaces", key))
}

// Delete removes the workspace at path, and its branch. Without force it
// refuses one that holds changes that are not committed, or commits that are
// nowhere else (CodeConflict). A project's own directory is never deleted
// (CodeInvalid). A session that goes on gets another at its next turn.
func (m *Manager) Delete(ctx context.Context, path string, force bool) error {
	rec, err := m.find(path)
	if err != nil {
		return err
	}
	if rec.Kind == kindShared {
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: "This is a project's own directory, not a workspace of a session",
			Hint: "Only directories that this host has made are deleted",
		}
	}
	release, err := m.locks.hold(ctx, orElse(rec.Session, rec.Key))
	if err != nil {
		return err
	}
	defer release()
	if rec, err = m.record(rec.Key); err != nil {
		return err
	}
	work, err := m.work(ctx, rec)
	if !force && err != nil {
		return err
	}
	if !force && work.any() {
		return errUnfinished(work)
	}
	_, err = m.drop(ctx, rec, true)
	return err
}

func errUnfinished(work unfinished) error {
	var what []string
	if work.dirty {
		what = append(what, "changes that are not committed")
	}
	if work.commits > 0 {
		what = append(what, fmt.Sprintf("%d commits that are nowhere else", work.commits))
	}
	return &protocol.Error{
		Code: protocol.CodeConflict, Message: "The workspace holds " + strings.Join(what, " and "),
		Hint: "Commit and push or merge them, or delete with force to lose them",
	}
}

// Prune removes the workspaces whose session was deleted and that hold no
// work, and returns them. With dryRun it only returns them.
func (m *Manager) Prune(ctx context.Context, dryRun bool) ([]Info, error) {
	all, err := m.List(ctx)
	if err != nil {
		return nil, err
	}
	out := []Info{}
	for _, info := range all {
		if !info.Gone || info.Shared || info.Dirty || info.Unpushed > 0 {
			continue
		}
		if !dryRun {
			pruned, err := m.prune(ctx, info)
			if err != nil {
				return out, err
			}
			if !pruned {
				continue
			}
		}
		out = append(out, info)
	}
	if dryRun {
		return out, nil
	}
	return out, m.tidy(ctx)
}

// prune removes a workspace unless its session came back meanwhile: one that is
// being opened has no state yet either.
func (m *Manager) prune(ctx context.Context, info Info) (bool, error) {
	release, err := m.locks.hold(ctx, info.Session)
	if err != nil {
		return false, err
	}
	defer release()
	rec, err := m.find(info.Path)
	if protocol.CodeOf(err) == protocol.CodeNotFound || err == nil && !m.gone(rec) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	kept, err := m.drop(ctx, rec, false)
	return !kept, err
}

// tidy removes what is left of workspaces that were never ready, or were
// removed, and whose session is gone.
func (m *Manager) tidy(ctx context.Context) error {
	all, err := m.records()
	if err != nil {
		return err
	}
	for _, seen := range all {
		if seen.State == stateReady || !m.gone(seen) {
			continue
		}
		release, err := m.locks.hold(ctx, seen.Session)
		if err != nil {
			return err
		}
		if rec, err := m.record(seen.Key); err == nil && rec.State != stateReady && m.gone(rec) {
			_, err = m.drop(ctx, rec, true)
			if err != nil {
				m.log.Warn("the remains of a workspace stay", "workspace", rec.Key, "error", err)
			}
		}
		release()
	}
	return nil
}

// drop removes a workspace: the directory, what git knows of it, its branch and
// its record. Unless forced it keeps one with unfinished work.
func (m *Manager) drop(ctx context.Context, rec *record, force bool) (kept bool, err error) {
	if rec.Kind == kindShared {
		return false, m.forget(rec)
	}
	if !force && rec.State == stateReady {
		work, err := m.work(ctx, rec)
		if err != nil {
			m.log.Warn("a workspace cannot be looked at: it stays", "workspace", rec.Key, "error", err)
			work.dirty = true
		}
		if work.any() {
			return true, nil
		}
	}
	if err := removeAll(m.root(rec)); err != nil {
		return true, fmt.Errorf("remove the workspace: %w", err)
	}
	if rec.Kind == kindWorktree {
		if err := m.dropWorktree(ctx, rec); err != nil {
			m.log.Warn("the repository still knows a removed worktree", "workspace", rec.Key, "error", err)
		}
	}
	return false, m.forget(rec)
}

// dropWorktree removes a worktree from its repository. Git deletes the branch
// only if nothing else has it checked out.
func (m *Manager) dropWorktree(ctx context.Context, rec *record) error {
	src, err := m.sourceOf(ctx, rec)
	if err != nil || rec.Branch == "" { // it never came to a branch
		return err
	}
	if rec.Worktree != "" {
		if err := removeAll(filepath.Join(src.common, "worktrees", rec.Worktree)); err != nil {
			return err
		}
	}
	_, err = m.git.run(ctx, call{
		dir: m.data, repo: repository{gitDir: src.common}, trust: true,
		args: []string{"branch", "--quiet", "-D", "--end-of-options", rec.Branch},
	})
	if exited(err, 1) { // there is none
		return nil
	}
	return err
}

// forget removes a record, or notes that its session needs another workspace.
func (m *Manager) forget(rec *record) error {
	if rec.Kind != kindShared && rec.Session != "" && !m.gone(rec) {
		left := m.newRecord(rec.Key, rec.Session, rec.Project)
		left.State = stateRemoved
		return errors.Join(m.save(left), m.dropMetadata(rec))
	}
	return errors.Join(os.Remove(m.recordPath(rec.Key)), m.dropMetadata(rec))
}
