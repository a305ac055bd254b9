package acp

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"

	"bellhop/agenthost"
	"bellhop/internal/configfile"
)

// maxMemory is as much of a repository's memory as Gemini CLI is told of it.
const maxMemory = 64 << 10

// distrust makes claude-agent-acp take the memory of the workspace and nothing
// else from it; other agents ignore it, as the protocol says of _meta.
func distrust(dir string) object {
	return object{"claudeCode": object{"options": object{
		"settingSources":        []string{"user"},
		"additionalDirectories": []string{dir},
		"env":                   object{"CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD": "1"},
	}}}
}

// judge writes whether Gemini CLI may trust the workspace. One that has settings
// for it is not trusted: they start servers, run hooks and allow tools that
// nobody was asked about. Gemini CLI then reads no memory of the workspace either,
// so that this is copied, and uses no MCP server, the host's included.
func judge(spec agenthost.AgentSpec) error {
	verdict, text := "TRUST_FOLDER", ""
	if configures(spec.Dir) {
		verdict, text = "DO_NOT_TRUST", memory(filepath.Join(spec.Dir, "GEMINI.md"))
		if spec.Log != nil {
			spec.Log.Warn("the repository configures Gemini CLI, which does not trust it and has none of the host's tools", "dir", spec.Dir)
		}
	}
	folders := map[string]string{spec.Dir: verdict}
	if real, err := filepath.EvalSymlinks(spec.Dir); err == nil {
		folders[real] = verdict
	}
	encoded, err := json.Marshal(folders)
	if err != nil {
		return err
	}
	for name, content := range map[string]string{"trustedFolders.json": string(encoded), "GEMINI.md": text} {
		path := filepath.Join(spec.StateDir, ".gemini", name)
		if err := configfile.Write(path, "${CONTENT}", map[string]string{"CONTENT": content}, nil); err != nil {
			return err
		}
	}
	return nil
}

// configures reports whether the repository has settings or variables for Gemini
// CLI, in the folder or above it.
func configures(dir string) bool {
	for {
		for _, name := range []string{".gemini", ".env", ".agents"} {
			if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
				return true
			}
		}
		parent := filepath.Dir(dir)
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil || parent == dir {
			return false
		}
		dir = parent
	}
}

// memory is "" for a file that is none: a link could show one of the host's to
// the model.
func memory(path string) string {
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
