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
		info.DiskBytes, err = treeSize(ctx, m.rootDir(rec))
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
		return Info{}, err
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

// List describes all workspaces, the oldest first. If a workspace cannot be
// inspected, its entry comes from its record and counts as dirty.
func (m *Manager) List(ctx context.Context) ([]Info, error) {
	return m.list(ctx, m.info, func(*record) bool { return true })
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
			info.Dirty = true
		}
		out = append(out, info)
	}
	slices.SortFunc(out, func(a, b Info) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.Path, b.Path))
	})
	return out, nil
}

// unfinished is the work that deleting a workspace would lose.
type unfinished struct {
	branch  string // the branch that is checked out; "" = none
	dirty   bool
	commits int
}

func (u unfinished) exists() bool { return u.dirty || u.commits > 0 }

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
		hasFiles, err := hasEntries(m.rootDir(rec))
		return unfinished{dirty: hasFiles && rec.Kind != kindShared}, err
	}
	if work.dirty, err = m.isDirty(ctx, rec, repo); err != nil {
		return work, err
	}
	if work.branch, err = m.checkedOut(ctx, rec, repo); err != nil {
		return work, err
	}
	if rec.Kind == kindShared {
		return work, nil
	}
	work.commits, err = m.unpushedCommits(ctx, rec, repo)
	return work, err
}

// checkedOut returns the branch that is checked out, "" if HEAD is detached.
func (m *Manager) checkedOut(ctx context.Context, rec *record, repo repository) (string, error) {
	if rec.Kind == kindClone || rec.Kind == kindOwn { // the host wrote HEAD of the mirror
		content, err := os.ReadFile(filepath.Join(repo.gitDir, "HEAD"))
		line := strings.TrimSpace(string(content))
		if err != nil || objectID.MatchString(line) {
			return "", err
		}
		if name, ok := strings.CutPrefix(line, "ref: refs/heads/"); ok {
			return name, nil
		}
	}
	head, err := m.git.run(ctx,
		call{repo: repo, noFiles: true, args: []string{"symbolic-ref", "--quiet", "--short", "HEAD"}})
	if exitedWith(err, 1) { // 1: HEAD is detached
		err = nil
	}
	return trimNewline(head), err
}

// isDirty reports uncommitted changes. One byte of git's output is enough, so
// output beyond the limit is no error.
func (m *Manager) isDirty(ctx context.Context, rec *record, repo repository) (bool, error) {
	out, err := m.git.run(ctx, call{
		repo: repo, limit: 4 << 10,
		args: []string{
			"status", "--porcelain=v1", "-z", "--untracked-files=normal", "--ignore-submodules=dirty", "--no-renames",
		},
	})
	if err != nil && !errors.Is(err, errOutputLimit) {
		return false, err
	}
	return len(out) > 0 || m.hasSubmodules(rec, repo), nil
}

// hasSubmodules reports whether a submodule is checked out. Its content is not
// inspected, so it counts as unfinished work.
func (m *Manager) hasSubmodules(rec *record, repo repository) bool {
	if rec.Kind == kindShared {
		found, err := hasEntries(filepath.Join(repo.gitDir, "modules"))
		return err == nil && found
	}
	agent, err := m.openGitDir(rec)
	if err != nil {
		return true
	}
	defer agent.Close()
	names, err := readDir(agent, "modules")
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
	commits, err := m.unpushedCommits(ctx, rec, repository{gitDir: src.gitDir})
	return unfinished{branch: rec.Branch, commits: commits}, err
}

// unpushedCommits counts commits that only this workspace holds. Without a work tree,
// repo is the project's repository.
func (m *Manager) unpushedCommits(ctx context.Context, rec *record, repo repository) (int, error) {
	args := []string{"rev-list", "--count", "--ignore-missing"}
	if repo.workTree != "" {
		args = append(args, "HEAD")
	}
	var known strings.Builder
	switch {
	case rec.Kind == kindClone && repo.workTree != "":
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
