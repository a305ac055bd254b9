package workspace

import (
	"context"
	"os"
	"path/filepath"
	"strings"
)

// Access names what programs of a workspace use besides it.
type Access struct {
	Write []string // the workspace, and git directories that it cannot do without
	Read  []string // the project's objects, which a clone reads

	// Root is the workspace, if it can belong to the programs of its session. It is "" for a
	// project's own directory.
	Root string
}

// Access returns what programs of the workspace that contains path must be able to
// use. CodeNotFound: path is not in a workspace of this host.
func (m *Manager) Access(ctx context.Context, path string) (Access, error) {
	rec, err := m.findByPath(path)
	if err != nil {
		return Access{}, err
	}
	access := Access{Write: []string{m.rootDir(rec)}}
	switch rec.Kind {
	case kindOwn, kindPlain:
		access.Root = m.rootDir(rec)
	case kindClone:
		access.Root = m.rootDir(rec)
		src, err := m.recordSource(ctx, rec)
		if err != nil {
			return Access{}, err
		}
		access.Read = objectDirectories(filepath.Join(src.gitDir, "objects"), nil)
	case kindShared:
		if dir := m.gitDirElsewhere(ctx, m.rootDir(rec)); dir != "" {
			access.Write = append(access.Write, dir)
		}
	}
	return access, nil
}

// gitDirElsewhere returns the git directory of a directory in place if that lies elsewhere: above it, or where a worktree
// or submodule has it. An agent can write what .git names, so the repository must have the directory as its work tree.
func (m *Manager) gitDirElsewhere(ctx context.Context, root string) string {
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		return ""
	}
	src, err := m.findRepository(ctx, root)
	if src == nil || err != nil {
		return ""
	}
	gitDir, err := filepath.EvalSymlinks(src.gitDir)
	data, dataErr := filepath.EvalSymlinks(m.data)
	if err != nil || dataErr != nil || isBelow(gitDir, root) || isBelow(gitDir, data) {
		return ""
	}
	top := root
	if src.prefix != "" {
		top = strings.TrimSuffix(root, string(filepath.Separator)+filepath.FromSlash(src.prefix))
	}
	if top != root && gitDir == filepath.Join(top, ".git") || m.hasWorkTree(ctx, gitDir, top) {
		return gitDir
	}
	m.log.Warn("the .git of a project names a repository that does not name the project: the agent cannot write that",
		"project", root, "repository", gitDir)
	return ""
}

// isBelow reports whether a path is that of a directory, or below it.
func isBelow(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator))
}

// hasWorkTree reports whether a repository has a directory as the top of a worktree, or of its own work tree.
func (m *Manager) hasWorkTree(ctx context.Context, gitDir, top string) bool {
	names := func(from, path string) bool {
		if !filepath.IsAbs(path) {
			path = filepath.Join(from, path)
		}
		found, err := filepath.EvalSymlinks(path)
		return err == nil && found == top
	}
	worktrees, err := os.ReadDir(filepath.Join(gitDir, "worktrees"))
	if err == nil {
		for _, entry := range worktrees {
			dir := filepath.Join(gitDir, "worktrees", entry.Name())
			content, ok := readPlain(filepath.Join(dir, "gitdir"))
			if ok && names(dir, filepath.Dir(strings.TrimSpace(string(content)))) {
				return true
			}
		}
	}
	out, err := m.git.run(ctx, call{dir: m.data, noFiles: true, args: []string{
		"config", "--file", filepath.Join(gitDir, "config"), "--get", "core.worktree",
	}})
	return err == nil && names(gitDir, trimNewline(out))
}

// maxAlternates bounds the chain of repositories that borrow objects from each other.
const maxAlternates = 20

// objectDirectories returns an object directory and those that it borrows from. An agent that works in the project's own
// directory can name any there: only those that are object directories count.
func objectDirectories(dir string, found []string) []string {
	if len(found) >= maxAlternates || len(found) > 0 && !isObjectDirectory(dir) {
		return found
	}
	found = append(found, dir)
	content, _ := readPlain(filepath.Join(dir, "info", "alternates"))
	for line := range strings.Lines(string(content)) {
		other := strings.TrimSpace(line)
		if other == "" || strings.HasPrefix(other, "#") {
			continue
		}
		if !filepath.IsAbs(other) {
			other = filepath.Join(dir, other)
		}
		found = objectDirectories(other, found)
	}
	return found
}

func isObjectDirectory(dir string) bool {
	for _, name := range []string{"info", "pack"} {
		if info, err := os.Lstat(filepath.Join(dir, name)); err != nil || !info.IsDir() {
			return false
		}
	}
	return true
}
