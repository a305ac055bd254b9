package acp

import (
	"encoding/json"
	"os"
	"path/filepath"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/stdio"
	"bellhop/internal/configfile"
)

// maxMemory is how many bytes of a repository's memory are copied for Gemini CLI.
const maxMemory = 64 << 10

// distrust makes claude-agent-acp read only the memory of the workspace and ignore
// its settings. Other agents ignore this member, as the protocol requires for
// _meta.
func distrust(dir string) stdio.Object {
	return stdio.Object{"claudeCode": stdio.Object{"options": stdio.Object{
		"settingSources":        []string{"user"},
		"additionalDirectories": []string{dir},
		"env":                   stdio.Object{"CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD": "1"},
	}}}
}

// writeTrust writes whether Gemini CLI may trust the workspace. A workspace with
// settings for Gemini CLI is not trusted, because they start servers, run hooks and
// allow tools without asking. Gemini CLI then reads no memory of the workspace
// either, so the memory is copied. It also uses no MCP server, not even the host's.
func writeTrust(spec agenthost.AgentSpec) error {
	level, text := "TRUST_FOLDER", ""
	if configures(spec.Dir) {
		level, text = "DO_NOT_TRUST", stdio.ReadMemory(spec.Dir, "GEMINI.md", maxMemory)
		if spec.Log != nil {
			spec.Log.Warn("the repository configures Gemini CLI, so it is not trusted and the host's tools are not available",
				"dir", spec.Dir)
		}
	}
	folders := map[string]string{spec.Dir: level}
	if real, err := filepath.EvalSymlinks(spec.Dir); err == nil {
		folders[real] = level
	}
	encoded, err := json.Marshal(folders)
	if err != nil {
		return err
	}
	for name, content := range map[string]string{"trustedFolders.json": string(encoded), "GEMINI.md": text} {
		variables := map[string]string{"CONTENT": content}
		if err := configfile.Write(spec.StateDir, ".gemini/"+name, "${CONTENT}", variables, nil); err != nil {
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
