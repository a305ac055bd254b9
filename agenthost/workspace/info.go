package workspace

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"time"
)

// Info is what there is to know of a workspace.
type Info struct {
	Path      string    `json:"path"`
	Project   string    `json:"project"`
	Session   string    `json:"session"` // owner; "" = made by name, or shared
	Branch    string    `json:"branch"`
	Base      string    `json:"base"`     // what it began with; "" = nothing is known
	Dirty     bool      `json:"dirty"`    // holds changes that are not committed
	Unpushed  int       `json:"unpushed"` // commits that are nowhere else
	Shared    bool      `json:"shared"`   // the project's own directory
	Gone      bool      `json:"gone"`     // its session was deleted
	CreatedAt time.Time `json:"createdAt"`
	DiskBytes int64     `json:"diskBytes"`
}

// Info tells about the workspace at path, or above it. CodeNotFound: it is none
// of this host's.
func (m *Manager) Info(ctx context.Context, path string) (Info, error) {
	rec, err := m.find(path)
	if err != nil {
		return Info{}, err
	}
	return m.info(ctx, rec)
}

func (m *Manager) info(ctx context.Context, rec *record) (Info, error) {
	info := Info{
		Path: m.dir(rec), Project: rec.Project, Session: rec.Session, Base: rec.Base,
		Shared: rec.Kind == kindShared, Gone: m.gone(rec), CreatedAt: rec.CreatedAt,
	}
	work, err := m.work(ctx, rec)
	if err != nil {
		return Info{}, err
	}
	info.Branch, info.Dirty, info.Unpushed = work.branch, work.dirty, work.commits
	if info.DiskBytes, err = bytesBelow(ctx, m.root(rec)); err != nil {
		return Info{}, err
	}
	return info, nil
}

// List tells about all workspaces, the oldest first. One that cannot be looked
// at is listed with what its record says.
func (m *Manager) List(ctx context.Context) ([]Info, error) {
	all, err := m.records()
	if err != nil {
		return nil, err
	}
	out := []Info{}
	for _, rec := range all {
		if rec.State != stateReady {
			continue
		}
		info, err := m.info(ctx, rec)
		if err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			m.log.Warn("a workspace cannot be looked at", "workspace", rec.Key, "error", err)
			info = Info{
				Path: m.dir(rec), Project: rec.Project, Session: rec.Session, Branch: rec.Branch, Base: rec.Base,
				Dirty: true, Shared: rec.Kind == kindShared, Gone: m.gone(rec), CreatedAt: rec.CreatedAt,
			}
		}
		out = append(out, info)
	}
	slices.SortFunc(out, func(a, b Info) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.Path, b.Path))
	})
	return out, nil
}

// unfinished is what would be lost with a workspace.
type unfinished struct {
	branch  string // that is checked out; "" = none
	dirty   bool
	commits int
}

func (u unfinished) any() bool { return u.dirty || u.commits > 0 }

// work looks for what is nowhere else: changes that are not committed, and
// commits that no other branch of the repository and no remote has.
func (m *Manager) work(ctx context.Context, rec *record) (unfinished, error) {
	if _, err := os.Lstat(m.root(rec)); errors.Is(err, fs.ErrNotExist) {
		return m.workLeft(ctx, rec)
	}
	repo, err := m.repository(ctx, rec)
	if err != nil {
		return unfinished{}, err
	}
	if repo.gitDir == "" {
		full, err := holdsFiles(m.root(rec))
		return unfinished{dirty: full && rec.Kind != kindShared}, err
	}
	out, err := m.git.run(ctx, call{
		repo: repo, limit: 4 << 10,
		args: []string{"status", "--porcelain=v1", "-z", "--untracked-files=normal", "--ignore-submodules=dirty", "--no-renames"},
	})
	if err != nil && err != errOutput { //nolint:errorlint // returned as it is
		return unfinished{}, err
	}
	work := unfinished{dirty: len(out) > 0 || holdsModules(repo)}
	head, err := m.git.run(ctx, call{repo: repo, trust: true, args: []string{"symbolic-ref", "--quiet", "--short", "HEAD"}})
	if err != nil && !exited(err, 1) { // 1: no branch
		return unfinished{}, err
	}
	work.branch = line(head)
	if rec.Kind == kindShared {
		return work, nil
	}
	work.commits, err = m.ownCommits(ctx, rec, repo)
	return work, err
}

// workLeft is the work of a workspace that was removed by hand: a worktree's
// branch may hold commits.
func (m *Manager) workLeft(ctx context.Context, rec *record) (unfinished, error) {
	if rec.Kind != kindWorktree {
		return unfinished{}, nil
	}
	src, err := m.sourceOf(ctx, rec)
	if err != nil {
		return unfinished{}, err
	}
	commits, err := m.ownCommits(ctx, rec, repository{gitDir: src.common})
	return unfinished{branch: rec.Branch, commits: commits}, err
}

// ownCommits counts the commits that would be lost.
func (m *Manager) ownCommits(ctx context.Context, rec *record, repo repository) (int, error) {
	args := []string{"rev-list", "--count", "--ignore-missing"}
	if repo.workTree != "" {
		args = append(args, "HEAD")
	}
	if rec.Kind == kindOwn {
		args = append(args, "--branches", "refs/stash", "--not", rec.Base, "--remotes")
	} else {
		args = append(args, "refs/heads/"+rec.Branch, "--not", rec.Base, "--remotes", "--tags", "--exclude="+rec.Branch, "--branches")
	}
	out, err := m.git.run(ctx, call{dir: m.data, repo: repo, trust: true, args: args})
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(line(out))
}
