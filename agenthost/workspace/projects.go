package workspace

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"

	"bellhop/protocol"
)

// maxRefsOutput bounds the output of git that lists the branches of one project.
const maxRefsOutput = 256 << 10

// Projects describes the configured projects, by name. It uses no network: a project that
// was never cloned has no branches yet. A project that cannot be read has a problem.
func (m *Manager) Projects(ctx context.Context) []protocol.OfferedProject {
	out := make([]protocol.OfferedProject, 0, len(m.projects))
	for _, name := range slices.Sorted(maps.Keys(m.projects)) {
		out = append(out, m.describeProject(ctx, name, m.projects[name]))
	}
	return out
}

func (m *Manager) describeProject(ctx context.Context, name string, p Project) protocol.OfferedProject {
	shown := protocol.OfferedProject{Name: name, DefaultBranch: p.Branch, Branches: []string{}, Shared: p.InPlace}
	if _, err := os.Lstat(p.Path); p.Clone != "" && errors.Is(err, os.ErrNotExist) {
		shown.IsRepository = true
		return shown
	}
	src, err := m.source(ctx, name)
	if err == nil && src != nil {
		shown.IsRepository = true
		if shown.Branches, err = m.branches(ctx, src); err == nil && shown.DefaultBranch == "" {
			shown.DefaultBranch, err = m.headBranch(ctx, p)
		}
	}
	if err != nil {
		m.log.Warn("a project cannot be described", "project", name, "error", err)
		shown.Branches, shown.Problem = []string{}, "The project cannot be read"
	}
	return shown
}

// branches returns the names of the branches without those of sessions, the latest commit first.
func (m *Manager) branches(ctx context.Context, src *source) ([]string, error) {
	out, err := m.git.run(ctx, call{
		repo: repository{gitDir: src.gitDir}, dir: src.gitDir, noFiles: true, limit: maxRefsOutput,
		args: []string{
			"for-each-ref", "--sort=-committerdate", "--count=1000", "--format=%(refname)", "refs/heads", "refs/remotes/origin",
		},
	})
	if err != nil {
		return nil, err
	}
	names := []string{}
	for ref := range strings.Lines(string(out)) {
		ref = strings.TrimSuffix(ref, "\n")
		name, isLocal := strings.CutPrefix(ref, "refs/heads/")
		if !isLocal {
			name = strings.TrimPrefix(ref, "refs/remotes/origin/")
		}
		if isSessionBranch("refs/heads/"+name) || !isLocal && name == "HEAD" || slices.Contains(names, name) {
			continue
		}
		if names = append(names, name); len(names) == protocol.MaxOfferedBranches {
			break
		}
	}
	return names, nil
}

// headBranch returns the branch that new clones start from, "" for a detached HEAD.
func (m *Manager) headBranch(ctx context.Context, p Project) (string, error) {
	refs := []string{"HEAD"}
	if p.Clone != "" {
		refs = []string{"refs/remotes/origin/HEAD", "HEAD"}
	}
	for _, ref := range refs {
		out, err := m.git.run(ctx, call{dir: p.Path, noFiles: true, args: []string{"symbolic-ref", "--quiet", ref}})
		if err == nil {
			name := strings.TrimPrefix(trimNewline(out), "refs/heads/")
			return strings.TrimPrefix(name, "refs/remotes/origin/"), nil
		}
		if !exitedWith(err, 1) && !exitedWith(err, 128) {
			return "", err
		}
	}
	return "", nil
}
