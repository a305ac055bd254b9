package workspace

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"bellhop/protocol"
)

// Info describes one workspace.
type Info struct {
	Path      string    `json:"path"`
	Name      string    `json:"name,omitempty"` // of a workspace created by name
	Project   string    `json:"project"`
	Session   string    `json:"session"`          // owner; "" = created by name
	UsedBy    string    `json:"usedBy,omitempty"` // session that works in a workspace created by name
	Branch    string    `json:"branch"`
	Base      string    `json:"base"`     // commit or tree that diffs compare with; "" = none
	Dirty     bool      `json:"dirty"`    // has uncommitted changes
	Unpushed  int       `json:"unpushed"` // commits that no other branch and no remote has
	Shared    bool      `json:"shared"`   // the project's own directory
	Gone      bool      `json:"gone"`     // its session was deleted
	CreatedAt time.Time `json:"createdAt"`
	DiskBytes int64     `json:"diskBytes"`

	// OnlyHere is what deleting the workspace would lose; nil = it was not searched for.
	OnlyHere *protocol.OnlyCopies `json:"onlyHere,omitempty"`
}

// Info describes the workspace that contains path. CodeNotFound: path is not in
// a workspace of this host.
func (m *Manager) Info(ctx context.Context, path string) (Info, error) {
	rec, err := m.findByPath(path)
	if err != nil {
		return Info{}, err
	}
	return m.info(ctx, rec)
}

// Look is Info without DiskBytes, which may take long.
func (m *Manager) Look(ctx context.Context, path string) (Info, error) {
	rec, err := m.findByPath(path)
	if err != nil {
		return Info{}, err
	}
	return m.look(ctx, rec)
}

func (m *Manager) info(ctx context.Context, rec *record) (Info, error) {
	info, err := m.look(ctx, rec)
	if err == nil {
		info.DiskBytes, err = m.treeSize(ctx, rec)
	}
	if err != nil {
		return Info{}, err
	}
	return info, nil
}

func (m *Manager) look(ctx context.Context, rec *record) (Info, error) {
	info := m.recorded(rec)
	work, err := m.unfinishedWork(ctx, rec)
	if err != nil {
		return Info{}, errUnwritable(err)
	}
	info.Branch, info.Dirty, info.Unpushed = work.branch, work.dirty, work.commits
	return info, nil
}

// recorded returns the description of a workspace that its record contains.
func (m *Manager) recorded(rec *record) Info {
	info := Info{
		Path: m.workingDir(rec), Project: rec.Project, Session: rec.Session, Branch: rec.Branch, Base: rec.Base,
		Shared: rec.Kind == kindShared, Gone: m.isSessionDeleted(rec), CreatedAt: rec.CreatedAt, UsedBy: m.userOf(rec),
	}
	if rec.Session == "" {
		info.Name = strings.TrimPrefix(rec.Key, "@")
	}
	return info
}

// List describes all workspaces with what exists only in them, the oldest first. If a workspace cannot be
// inspected, its entry comes from its record and counts as dirty.
func (m *Manager) List(ctx context.Context) ([]Info, error) {
	return m.list(ctx, m.whole, func(*record) bool { return true })
}

// whole is info with what exists only in the workspace.
func (m *Manager) whole(ctx context.Context, rec *record) (Info, error) {
	info, err := m.info(ctx, rec)
	if err == nil && rec.Kind != kindShared {
		info.OnlyHere, err = m.onlyCopies(ctx, rec)
	}
	return info, err
}

// Recorded describes all workspaces by their records alone, in no order.
func (m *Manager) Recorded() ([]Info, error) {
	all, err := m.readRecords()
	if err != nil {
		return nil, err
	}
	infos := []Info{}
	for _, rec := range all {
		if rec.State == stateReady && rec.Kind != kindNamed {
			infos = append(infos, m.recorded(rec))
		}
	}
	return infos, nil
}

func (m *Manager) list(
	ctx context.Context, describe func(context.Context, *record) (Info, error), wanted func(*record) bool,
) ([]Info, error) {
	all, err := m.readRecords()
	if err != nil {
		return nil, err
	}
	out := []Info{}
	for _, rec := range all {
		if rec.State != stateReady || rec.Kind == kindNamed || !wanted(rec) {
			continue
		}
		info, err := describe(ctx, rec)
		if err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			m.log.Warn("a workspace cannot be inspected", "workspace", rec.Key, "error", err)
			info = m.recorded(rec)
			info.Dirty, info.OnlyHere = true, unknownCopies(err)
		}
		out = append(out, info)
	}
	slices.SortFunc(out, func(a, b Info) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.Path, b.Path))
	})
	return out, nil
}

// unfinished is the work in a workspace that its description shows.
type unfinished struct {
	branch  string // the branch that is checked out; "" = none
	dirty   bool
	commits int
}

// unfinishedWork finds uncommitted changes, and commits that no other branch of
// the repository and no remote has.
func (m *Manager) unfinishedWork(ctx context.Context, rec *record) (work unfinished, err error) {
	if _, err := os.Lstat(m.rootDir(rec)); errors.Is(err, fs.ErrNotExist) {
		return m.unfinishedWorkOfBranch(ctx, rec)
	}
	repo, err := m.repository(ctx, rec)
	if err != nil {
		return work, err
	}
	if repo.gitDir == "" {
		return m.unfinishedWorkInPlace(ctx, rec)
	}
	if work.dirty, err = m.isDirty(ctx, rec, repo); err != nil {
		return work, err
	}
	if work.branch, err = checkedOut(repo); err != nil {
		return work, err
	}
	work.commits, err = m.unpushedCommits(ctx, rec, repo, true)
	return work, err
}

// unfinishedWorkInPlace finds uncommitted changes in a directory used in place. Commits there are the project's.
func (m *Manager) unfinishedWorkInPlace(ctx context.Context, rec *record) (work unfinished, err error) {
	root := m.rootDir(rec)
	if _, err := os.Lstat(filepath.Join(root, ".git")); err != nil || rec.Kind != kindShared {
		hasFiles, err := m.hasEntries(ctx, m.sessionIn(rec), root)
		return unfinished{dirty: hasFiles && rec.Kind != kindShared}, err
	}
	head, err := m.git.run(ctx, call{dir: root, noFiles: true, args: []string{"symbolic-ref", "--quiet", "--short", "HEAD"}})
	if err != nil && !exitedWith(err, 1) { // 1: HEAD is detached
		return work, err
	}
	work.branch = trimNewline(head)
	work.dirty, err = m.isDirty(ctx, rec, repository{})
	return work, err
}

// checkedOut returns the branch that is checked out in a mirror, "" if HEAD is detached.
func checkedOut(mirror repository) (string, error) {
	content, err := os.ReadFile(filepath.Join(mirror.gitDir, "HEAD"))
	name, ok := strings.CutPrefix(strings.TrimSpace(string(content)), "ref: ")
	if err != nil || !ok {
		return "", err
	}
	return strings.TrimPrefix(name, "refs/heads/"), nil
}

// isDirty reports whether the files of a workspace are others than those of the commit that is checked out in its
// mirror, or in the directory that is used in place. What a snapshot leaves out counts as changed.
func (m *Manager) isDirty(ctx context.Context, rec *record, mirror repository) (isDirty bool, err error) {
	release, err := m.acquireSlot(ctx, rec)
	if err != nil {
		return false, err
	}
	defer release()
	head := call{repo: mirror, noFiles: true, args: []string{"rev-parse", "--verify", "--quiet", "HEAD^{tree}"}}
	if mirror.gitDir == "" {
		head.dir = m.rootDir(rec)
	}
	out, err := m.git.run(ctx, head)
	if err != nil && !exitedWith(err, 1) && !exitedWith(err, 128) { // no commit
		return false, err
	}
	tree := trimNewline(out)
	err = m.withSnapshot(ctx, rec, nil, func(_ context.Context, s *snapshot) error {
		isDirty = len(mustRefuse(s.Snapshot)) > 0 || s.More > 0 || s.Tree != tree && (tree != "" || len(s.Files) > 0)
		return nil
	})
	return isDirty || m.hasSubmodules(ctx, rec), err
}

// hasSubmodules reports whether a submodule is checked out. Its content is not
// inspected, so it counts as unfinished work.
func (m *Manager) hasSubmodules(ctx context.Context, rec *record) bool {
	if rec.Kind == kindShared {
		src, err := m.findRepository(ctx, m.rootDir(rec))
		if src == nil || err != nil {
			return false
		}
		project, err := m.openProject(ctx, src)
		if err != nil {
			return false
		}
		defer project.close()
		names, err := project.names("modules")
		return err == nil && len(names) > 0
	}
	agent, err := m.openGitDir(ctx, rec)
	if err != nil {
		return true
	}
	defer agent.close()
	names, err := agent.names("modules")
	return err != nil || len(names) > 0
}

// unfinishedWorkOfBranch handles a workspace whose directory was removed by hand:
// the branch of a clone may still hold commits.
func (m *Manager) unfinishedWorkOfBranch(ctx context.Context, rec *record) (unfinished, error) {
	if rec.Kind != kindClone {
		return unfinished{}, nil
	}
	src, err := m.recordSource(ctx, rec)
	if err != nil {
		return unfinished{}, err
	}
	commits, err := m.unpushedCommits(ctx, rec, repository{gitDir: src.gitDir}, false)
	return unfinished{branch: rec.Branch, commits: commits}, err
}

// unpushedCommits counts commits that only this workspace holds. repo is its mirror, or without a directory the
// project's repository.
func (m *Manager) unpushedCommits(ctx context.Context, rec *record, repo repository, isMirror bool) (int, error) {
	args := []string{"rev-list", "--count", "--ignore-missing"}
	if isMirror {
		args = append(args, "HEAD")
	}
	var known strings.Builder
	switch {
	case rec.Kind == kindClone && isMirror:
		tips, err := m.projectTips(ctx, rec)
		if err != nil {
			return 0, err
		}
		for _, id := range tips {
			known.WriteString("^" + id + "\n")
		}
		fallthrough
	case rec.Kind == kindOwn:
		args = append(args, "--branches", "refs/stash", "--not", rec.Base, "--remotes", "--stdin")
	default:
		args = append(args, "refs/heads/"+rec.Branch, "--not", rec.Base, "--remotes", "--tags", "--exclude="+rec.Branch,
			"--branches")
	}
	out, err := m.git.run(ctx,
		call{dir: m.data, repo: repo, noFiles: true, stdin: strings.NewReader(known.String()), args: args})
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(trimNewline(out))
}

// projectTips returns the commits to which the branches and tags of a clone's project point
// now, or pointed when the clone was made. It omits the session's own branch.
func (m *Manager) projectTips(ctx context.Context, rec *record) ([]string, error) {
	src, err := m.recordSource(ctx, rec)
	if err != nil {
		return nil, err
	}
	refs, err := m.projectRefs(ctx, src)
	if err != nil {
		return nil, err
	}
	delete(refs, "refs/heads/"+rec.Branch)
	tips, err := m.startTips(rec)
	return slices.AppendSeq(tips, maps.Values(refs)), err
}
