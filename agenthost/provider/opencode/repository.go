package opencode

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
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
		if found := plugin(dir); found != "" {
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

// maxPlugins bounds the names of a folder that are looked at.
const maxPlugins = 1000

// plugin returns the file or folder that defines a plug-in, or "". What OpenCode may read and the host does not, such as
// by a link, counts as one.
func plugin(dir string) string {
	for _, folder := range []string{".opencode/plugin", ".opencode/plugins"} {
		entries, err := openflag.ReadDir(dir, folder, maxPlugins)
		if err != nil && !isAbsent(dir, folder, err) || len(entries) == maxPlugins {
			return folder
		}
		for _, entry := range entries {
			if extension := path.Ext(entry.Name()); extension == ".ts" || extension == ".js" {
				return path.Join(folder, entry.Name())
			}
		}
	}
	for _, name := range []string{
		"opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc",
	} {
		text, err := openflag.ReadFile(dir, name, maxConfiguration)
		if err != nil && !isAbsent(dir, name, err) {
			return name
		}
		// Searched instead of parsed, because it may be JSON with comments. An escape (\u)
		// could spell "plugin" without its letters, so it counts as one.
		if bytes.Contains(text, []byte(`"plugin`)) || bytes.Contains(text, []byte(`\u`)) {
			return name
		}
	}
	return ""
}

// isAbsent reports whether the error of opening name says that OpenCode finds nothing there, either.
func isAbsent(dir, name string, err error) bool {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return true
	}
	return errors.Is(err, syscall.ENOTDIR) && !isLink(dir, path.Dir(name)) && !isLink(dir, name)
}

func isLink(dir, name string) bool {
	info, err := os.Lstat(filepath.Join(dir, name))
	return err == nil && info.Mode().Type() == fs.ModeSymlink
}
