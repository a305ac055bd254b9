package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"bellhop/agenthost/workspace/treereader"
	"bellhop/internal/lazyregexp"
	"bellhop/protocol"
)

// source is the git repository of a project.
type source struct {
	gitDir      string // the git directory, of a worktree the one that all share
	prefix      string // subdirectory of the project; "" = the complete repository
	startCommit string // commit that new clones start from; "" = the repository has none
	format      string // of object names, as git names it; "" = not read yet
	files       *sourceFiles
}

// sourceFiles are files of a project's repository that its clones get; nil = there is none.
type sourceFiles struct {
	exclude []byte // the list of ignored files
	shallow []byte // the commits at which a shallow history ends
}

// openProject opens the git directory of a project, which an agent can change if it works in the project's own directory.
func (m *Manager) openProject(ctx context.Context, src *source) (*tree, error) {
	return m.openTree(ctx, "", src.gitDir, &treereader.TreeRequest{Root: src.gitDir})
}

// filesOfProject reads the files that clones of a project get.
func (m *Manager) filesOfProject(ctx context.Context, src *source) (*sourceFiles, error) {
	if src.files != nil {
		return src.files, nil
	}
	project, err := m.openProject(ctx, src)
	if err != nil {
		return nil, err
	}
	defer project.close()
	files := &sourceFiles{}
	if files.exclude, err = project.readFile("info/exclude", maxExcludeFile); err != nil {
		return nil, err
	}
	if files.shallow, err = project.readFile("shallow", maxRefFile); err != nil {
		return nil, err
	}
	src.files = files
	return files, nil
}

const (
	cloneTimeout = 10 * time.Minute
	fetchTimeout = time.Minute
)

// source returns the repository of a project as it is on this machine, or nil for a plain directory.
func (m *Manager) source(ctx context.Context, name string) (*source, error) {
	p, err := m.project(name)
	if err != nil {
		return nil, err
	}
	if err := m.checkDirectory(name, p.Path); err != nil {
		return nil, err
	}
	return m.findRepository(ctx, p.Path)
}

// sourceFrom is source, after it cloned or fetched the project. It also finds the commit that new
// clones start from: the last one of a branch, or of the project's default if branch is "".
func (m *Manager) sourceFrom(ctx context.Context, name, branch string) (*source, error) {
	p, err := m.project(name)
	if err != nil {
		return nil, err
	}
	if p.Clone != "" {
		if err := m.cloneOrFetch(ctx, name, p); err != nil {
			return nil, err
		}
	}
	src, err := m.source(ctx, name)
	if src == nil || err != nil {
		return src, err
	}
	if branch != "" {
		src.startCommit, err = m.branchCommit(ctx, name, p, src, branch)
	} else {
		src.startCommit, err = m.startCommit(ctx, name, p)
	}
	return src, err
}

// recordSource returns the repository of a record's project at the project's
// current path.
func (m *Manager) recordSource(ctx context.Context, rec *record) (*source, error) {
	if _, known := m.projects[rec.Project]; !known && rec.Repository != "" {
		if err := m.checkDirectory(rec.Project, rec.Repository); err != nil {
			return nil, err
		}
		return &source{gitDir: rec.Repository}, nil
	}
	src, err := m.source(ctx, rec.Project)
	if err == nil && src == nil {
		err = &protocol.Error{
			Code: protocol.CodeConflict, Message: fmt.Sprintf("The project %s is no git repository any more", rec.Project),
			Hint: "The session's workspace belongs to one. Correct the project's path, or begin another session",
		}
	}
	return src, err
}

// objectFormat returns the format of a project's object names.
func (m *Manager) objectFormat(ctx context.Context, src *source) (string, error) {
	if src.format != "" {
		return src.format, nil
	}
	return m.inProject(ctx, src, "rev-parse", "--show-object-format")
}

// followProject is recordSource, and records the repository's new place if the project's
// directory has moved.
func (m *Manager) followProject(ctx context.Context, rec *record) (*source, error) {
	src, err := m.recordSource(ctx, rec)
	if err != nil || rec.Repository == src.gitDir {
		return src, err
	}
	rec.Repository = src.gitDir
	return src, m.saveRecord(rec)
}

// findRepository returns the repository that tracks a directory, or nil if the
// directory is a plain one.
func (m *Manager) findRepository(ctx context.Context, path string) (*source, error) {
	if m.git.program == "" {
		if _, err := os.Lstat(filepath.Join(path, ".git")); err == nil {
			return nil, errNoGit
		}
		return nil, nil //nolint:nilnil // a plain directory
	}
	if src := usualRepository(path); src != nil {
		return src, nil
	}
	return m.askForRepository(ctx, path)
}

// askForRepository is findRepository by git.
func (m *Manager) askForRepository(ctx context.Context, path string) (*source, error) {
	out, err := m.git.run(ctx, call{
		dir: path, noFiles: true,
		args: []string{
			"rev-parse", "--path-format=absolute", "--git-common-dir", "--is-bare-repository",
			"--is-inside-git-dir", "--show-object-format", "--show-prefix",
		},
	})
	switch {
	case err == nil:
		return m.trackingSource(ctx, path, strings.Split(trimNewline(out), "\n"))
	case exitedWith(err, 128) && strings.Contains(stderrOf(err), "not a git repository"):
		return nil, nil //nolint:nilnil // a plain directory
	default:
		return nil, err
	}
}

// unusualWords are the words of settings, in lower case, with which git may find another repository or work tree
// than usualRepository, or objects of another format.
var unusualWords = [][]byte{[]byte("worktree"), []byte("include"), []byte("extensions")}

// usualVersion matches the line of a repository's settings without extensions; usualHead matches its HEAD.
var (
	usualVersion = lazyregexp.New(`(?mi)^\s*repositoryformatversion\s*=\s*0$`)
	usualHead    = lazyregexp.New(`^(ref: refs/[!-~]+|[0-9a-f]{40})\n$`)
)

// usualRepository returns the repository at the top of a work tree if all of it is as git writes it, without starting
// git; otherwise nil, and git decides. It reads the files each time, so that it sees what git would see.
func usualRepository(path string) *source {
	root, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil
	}
	gitDir := filepath.Join(root, ".git")
	for _, dir := range []string{gitDir, filepath.Join(gitDir, "objects"), filepath.Join(gitDir, "refs")} {
		if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
			return nil
		}
	}
	if _, err := os.Lstat(filepath.Join(gitDir, "commondir")); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	head, ok := readPlain(filepath.Join(gitDir, "HEAD"))
	if !ok || !usualHead.Match(head) {
		return nil
	}
	settings, ok := readPlain(filepath.Join(gitDir, "config"))
	if !ok || !usualVersion.Match(settings) || bytes.Count(bytes.ToLower(settings), []byte("formatversion")) != 1 ||
		containsAny(settings, unusualWords) {
		return nil
	}
	return &source{gitDir: gitDir, format: "sha1"}
}

// trackingSource evaluates the lines of rev-parse: git directory, is bare, is
// inside a git directory, format of objects, prefix. It returns nil for a .git directory itself and
// for a subdirectory that HEAD does not contain.
func (m *Manager) trackingSource(ctx context.Context, path string, lines []string) (*source, error) {
	if len(lines) < 4 {
		return nil, fmt.Errorf("git reports no repository for %s", path)
	}
	src := &source{gitDir: lines[0], format: lines[3]}
	if lines[1] == "false" && lines[2] == "true" {
		return nil, nil //nolint:nilnil // a plain directory
	}
	if len(lines) > 4 {
		src.prefix = strings.TrimSuffix(lines[4], "/")
	}
	if src.prefix == "" {
		return src, nil
	}
	_, err := m.git.run(ctx, call{dir: path, noFiles: true, args: []string{"cat-file", "-e", "HEAD:" + src.prefix}})
	switch {
	case err == nil:
		return src, nil
	case exitedWith(err, 128), exitedWith(err, 1):
		return nil, nil //nolint:nilnil // a plain directory
	default:
		return nil, err
	}
}

// startCommit returns the commit that new clones start from, or "" if the
// repository has no commit.
func (m *Manager) startCommit(ctx context.Context, name string, p Project) (string, error) {
	candidates := []string{"HEAD"}
	switch {
	case p.Clone != "" && p.Branch != "":
		candidates = []string{"refs/remotes/origin/" + p.Branch}
	case p.Clone != "":
		candidates = []string{"refs/remotes/origin/HEAD", "HEAD"}
	case p.Branch != "":
		candidates = []string{"refs/heads/" + p.Branch, "refs/remotes/origin/" + p.Branch}
	}
	commit, err := m.firstCommit(ctx, p, candidates)
	if commit != "" || err != nil || p.Branch == "" {
		return commit, err
	}
	return "", &protocol.Error{
		Code: protocol.CodeConflict, Message: fmt.Sprintf("The project %s has no branch %q", name, p.Branch),
		Hint: "Correct the branch in the host's configuration, or create it",
	}
}

// firstCommit returns the commit of the first ref that a project has, "" if it has none of them.
func (m *Manager) firstCommit(ctx context.Context, p Project, refs []string) (string, error) {
	for _, ref := range refs {
		out, err := m.git.run(ctx, call{
			dir: p.Path, noFiles: true,
			args: []string{"rev-parse", "--verify", "--quiet", "--end-of-options", ref + "^{commit}"},
		})
		if err == nil {
			return trimNewline(out), nil
		}
		if !exitedWith(err, 1) && !exitedWith(err, 128) {
			return "", err
		}
	}
	return "", nil
}

// cloneOrFetch clones a project, or fetches new commits. If the fetch fails,
// sessions start from the commits of the last successful fetch.
func (m *Manager) cloneOrFetch(ctx context.Context, name string, p Project) error {
	release, err := m.repoLocks.acquire(ctx, "project:"+name)
	if err != nil {
		return err
	}
	defer release()
	switch _, err := os.Lstat(p.Path); {
	case errors.Is(err, fs.ErrNotExist):
		return m.clone(ctx, name, p)
	case err != nil:
		return err
	}
	err = m.update(ctx, name, p)
	if err != nil {
		if m.git.program == "" || ctx.Err() != nil {
			return err
		}
		m.log.Warn("cannot fetch a project: sessions start from its last commits", "project", name, "error", err)
	}
	return nil
}

// clone clones into a temporary name first, so that an incomplete clone is never
// used.
func (m *Manager) clone(ctx context.Context, name string, p Project) error {
	next := p.Path + ".new"
	if err := os.RemoveAll(next); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(next), 0o700); err != nil {
		return err
	}
	args := []string{"clone", "--quiet", "--no-recurse-submodules", "--template=", "--origin=origin"}
	if !p.InPlace {
		args = append(args, "--no-checkout")
	}
	if p.Branch != "" {
		args = append(args, "--branch="+p.Branch)
	}
	_, err := m.git.run(ctx, call{
		dir: filepath.Dir(next), noFiles: true, time: cloneTimeout, connects: true,
		args: append(args, "--end-of-options", p.Clone, next),
	})
	if isGitMissing(err) {
		return err
	}
	if err != nil {
		return errors.Join(&protocol.Error{
			Code: protocol.CodeConflict, Message: fmt.Sprintf("The project %s cannot be cloned", name),
			Hint: "Try 'git clone' on the agent host as its user: " + truncate(stderrOf(err), 300), Err: err,
		}, os.RemoveAll(next))
	}
	return os.Rename(next, p.Path)
}

func truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
