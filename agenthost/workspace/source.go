package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"bellhop/protocol"
)

// source is the repository of a project.
type source struct {
	common string // its git directory
	prefix string // the project's part of it, "" = all
	base   string // commit that workspaces begin with; "" = there is none yet
}

const (
	cloneTime = 10 * time.Minute
	fetchTime = time.Minute
)

// source returns the repository of a project, nil for a plain directory. begin
// also finds the commit to begin with, cloning or fetching before.
func (m *Manager) source(ctx context.Context, name string, begin bool) (*source, error) {
	p, err := m.project(name)
	if err != nil {
		return nil, err
	}
	if p.Clone != "" && begin {
		if err := m.refresh(ctx, name, p); err != nil {
			return nil, err
		}
	}
	if err := m.isDirectory(name, p.Path); err != nil {
		return nil, err
	}
	src, err := m.locate(ctx, p.Path)
	if src == nil || err != nil || !begin {
		return src, err
	}
	src.base, err = m.beginning(ctx, name, p)
	return src, err
}

// sourceOf is the repository of a worktree, where the project is now.
func (m *Manager) sourceOf(ctx context.Context, rec *record) (*source, error) {
	if _, known := m.projects[rec.Project]; !known && rec.Repository != "" {
		if err := m.isDirectory(rec.Project, rec.Repository); err != nil {
			return nil, err
		}
		return &source{common: rec.Repository}, nil
	}
	src, err := m.source(ctx, rec.Project, false)
	if err == nil && src == nil {
		err = &protocol.Error{
			Code: protocol.CodeConflict, Message: fmt.Sprintf("The project %s is no git repository any more", rec.Project),
			Hint: "The session's workspace belongs to one. Correct the project's path, or begin another session",
		}
	}
	return src, err
}

// locate finds the repository that a directory belongs to.
func (m *Manager) locate(ctx context.Context, path string) (*source, error) {
	if m.git.program == "" {
		if _, err := os.Lstat(filepath.Join(path, ".git")); err == nil {
			return nil, errNoGit
		}
		return nil, nil //nolint:nilnil // no repository is an answer here
	}
	out, err := m.git.run(ctx, call{
		dir: path, trust: true,
		args: []string{"rev-parse", "--path-format=absolute", "--git-common-dir", "--is-bare-repository", "--is-inside-git-dir", "--show-prefix"},
	})
	switch {
	case err == nil:
	case exited(err, 128) && strings.Contains(said(err), "not a git repository"):
		return nil, nil //nolint:nilnil // no repository is an answer here
	default:
		return nil, err
	}
	lines := strings.Split(line(out), "\n")
	if len(lines) < 3 {
		return nil, fmt.Errorf("git does not say where %s belongs to", path)
	}
	src := &source{common: lines[0]}
	if lines[1] == "false" && lines[2] == "true" { // a .git directory itself
		return nil, nil //nolint:nilnil // no repository is an answer here
	}
	if len(lines) > 3 {
		src.prefix = strings.TrimSuffix(lines[3], "/")
	}
	if src.prefix == "" {
		return src, nil
	}
	// A directory that its repository ignores is no part of it.
	_, err = m.git.run(ctx, call{dir: path, trust: true, args: []string{"cat-file", "-e", "HEAD:" + src.prefix}})
	switch {
	case err == nil:
		return src, nil
	case exited(err, 128), exited(err, 1):
		return nil, nil //nolint:nilnil // no repository is an answer here
	default:
		return nil, err
	}
}

// beginning is the commit that new workspaces begin with.
func (m *Manager) beginning(ctx context.Context, name string, p Project) (string, error) {
	candidates := []string{"HEAD"}
	switch {
	case p.Clone != "" && p.Branch != "":
		candidates = []string{"refs/remotes/origin/" + p.Branch}
	case p.Clone != "":
		candidates = []string{"refs/remotes/origin/HEAD", "HEAD"}
	case p.Branch != "":
		candidates = []string{"refs/heads/" + p.Branch, "refs/remotes/origin/" + p.Branch}
	}
	for _, ref := range candidates {
		out, err := m.git.run(ctx, call{
			dir: p.Path, trust: true,
			args: []string{"rev-parse", "--verify", "--quiet", "--end-of-options", ref + "^{commit}"},
		})
		if err == nil {
			return line(out), nil
		}
		if !exited(err, 1) && !exited(err, 128) {
			return "", err
		}
	}
	if p.Branch == "" {
		return "", nil
	}
	return "", &protocol.Error{
		Code: protocol.CodeConflict, Message: fmt.Sprintf("The project %s has no branch %q", name, p.Branch),
		Hint: "Correct the branch in the host's configuration, or create it",
	}
}

// refresh clones a project, or fetches what is new. A fetch that fails leaves
// what was there at the last one.
func (m *Manager) refresh(ctx context.Context, name string, p Project) error {
	release, err := m.locks.hold(ctx, "project:"+name)
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
	// The address and the programs are the configuration's: agents can write to
	// the clone's own.
	_, err = m.git.run(ctx, call{
		dir: p.Path, trust: true, time: fetchTime,
		args: []string{
			"fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--upload-pack=git-upload-pack",
			"--end-of-options", p.Clone, "+refs/heads/*:refs/remotes/origin/*",
		},
	})
	if err != nil {
		if m.git.program == "" || ctx.Err() != nil {
			return err
		}
		m.log.Warn("a project cannot be fetched: sessions begin with what it was", "project", name, "error", err)
	}
	return nil
}

// clone makes the clone beside its place, so that half of one is never used.
func (m *Manager) clone(ctx context.Context, name string, p Project) error {
	next := p.Path + ".new"
	if err := removeAll(next); err != nil {
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
		dir: filepath.Dir(next), trust: true, time: cloneTime,
		args: append(args, "--end-of-options", p.Clone, next),
	})
	if noGit(err) {
		return err
	}
	if err != nil {
		return errors.Join(&protocol.Error{
			Code: protocol.CodeConflict, Message: fmt.Sprintf("The project %s cannot be cloned", name),
			Hint: "Try 'git clone' on the agent host as its user: " + cut(said(err), 300), Err: err,
		}, removeAll(next))
	}
	return os.Rename(next, p.Path)
}

func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
