package codex

import (
	"io"
	"os"
	"path/filepath"

	"bellhop/internal/configfile"
)

// maxMemory is as much of a memory as Codex itself reads.
const maxMemory = 32 << 10

// memories are what a repository tells agents; the first counts.
var memories = []string{"AGENTS.override.md", "AGENTS.md"}

// remember gives Codex the memory of the workspace as the session's own: it does
// not read that of a workspace that is not trusted.
func remember(dir, home string) error {
	text := ""
	for _, name := range memories {
		if text = memory(dir, name); text != "" {
			break
		}
	}
	return configfile.Write(filepath.Join(home, "AGENTS.md"), "${MEMORY}", map[string]string{"MEMORY": text}, nil)
}

// memory is "" for a file that is none: a link could show one of the host's to
// the model.
func memory(dir, name string) string {
	path := filepath.Join(dir, name)
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, maxMemory))
	if err != nil {
		return ""
	}
	return string(text)
}
