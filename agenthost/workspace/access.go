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
	case kindShared: // the repository may lie above the project
		src, err := m.findRepository(ctx, m.rootDir(rec))
		if err == nil && src != nil {
			access.Write = append(access.Write, src.gitDir)
		}
	}
	return access, nil
}

// maxAlternates bounds the chain of repositories that borrow objects from each other.
const maxAlternates = 20

// objectDirectories returns an object directory and those that it borrows from.
func objectDirectories(dir string, found []string) []string {
	if len(found) >= maxAlternates {
		return found
	}
	found = append(found, dir)
	content, err := os.ReadFile(filepath.Join(dir, "info", "alternates"))
	if err != nil {
		return found
	}
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
