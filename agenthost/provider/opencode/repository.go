package opencode

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"bellhop/internal/openflag"
	"bellhop/protocol"
)

// memories are a repository's memory files; the first one that exists counts.
var memories = []string{"AGENTS.md", "CLAUDE.md"}

// addMemory makes the program read the repository's memory, which it otherwise
// ignores together with the repository's configuration.
func (c *configuration) addMemory(dir string) {
	for _, name := range memories {
		// A link could show a file of the host to the model.
		if info, err := os.Lstat(filepath.Join(dir, name)); err != nil || !info.Mode().IsRegular() {
			continue
		}
		instructions, _ := c.file["instructions"].([]any)
		c.file["instructions"] = append(instructions, filepath.Join(dir, name))
		return
	}
}

// refusePlugins returns an error if the repository has plug-ins. OpenCode runs them
// inside the server, with the host's rights and keys, and no setting prevents that.
func refusePlugins(dir string) error {
	for {
		found, err := plugin(dir)
		if err != nil {
			return fmt.Errorf("look for plug-ins of OpenCode: %w", err)
		}
		if found != "" {
			return &protocol.Error{
				Code: protocol.CodeInvalid,
				Message: fmt.Sprintf("The repository has plug-ins for OpenCode in %s, which would run without being asked for",
					found),
				Hint: "Take them out of the repository, or choose another agent",
			}
		}
		parent := filepath.Dir(dir)
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil || parent == dir {
			return nil
		}
		dir = parent
	}
}

// maxConfiguration bounds a configuration of a repository, in bytes.
const maxConfiguration = 1 << 20

// plugin returns the file or pattern that defines a plug-in, or "".
func plugin(dir string) (string, error) {
	for _, pattern := range []string{"plugin/*.ts", "plugin/*.js", "plugins/*.ts", "plugins/*.js"} {
		found, err := filepath.Glob(filepath.Join(escapePattern(dir), ".opencode", pattern))
		if err != nil || len(found) > 0 {
			return filepath.Join(".opencode", pattern), err
		}
	}
	for _, name := range []string{
		"opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc",
	} {
		text, err := openflag.ReadFile(filepath.Join(dir, name), maxConfiguration)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOTDIR) {
			continue
		}
		if err != nil { // a link, a FIFO or a very long file, of which OpenCode may read more than the host does
			return name, nil //nolint:nilerr // it counts as one with plug-ins
		}
		// Searched instead of parsed, because it may be JSON with comments. An escape (\u)
		// could spell "plugin" without its letters, so it counts as one.
		if bytes.Contains(text, []byte(`"plugin`)) || bytes.Contains(text, []byte(`\u`)) {
			return name, nil
		}
	}
	return "", nil
}

// escapePattern escapes a path, so that filepath.Glob takes each character as itself.
func escapePattern(path string) string {
	var b bytes.Buffer
	for _, r := range path {
		if r == '*' || r == '?' || r == '[' || r == '\\' {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
