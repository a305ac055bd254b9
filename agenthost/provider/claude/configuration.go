package claude

import (
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"bellhop/agenthost/provider/stdio"
	"bellhop/internal/configfile"
	"bellhop/internal/openflag"
)

//go:embed templates
var templates embed.FS

// write expands a template into a file of the session's own folder and returns its
// path.
func (p *program) write(template, name string) (string, error) {
	text, err := templates.ReadFile("templates/" + template)
	if err != nil {
		return "", err
	}
	return filepath.Join(p.spec.StateDir, name), configfile.Write(p.spec.StateDir, name, string(text), p.variables(), configfile.JSON)
}

func (p *program) variables() map[string]string {
	variables := map[string]string{"WORKSPACE": p.spec.Dir}
	if p.spec.Local != nil {
		variables["MCP_URL"] = p.spec.Local.MCPURL
		variables["HOOK_URL"] = p.spec.Local.HookURL
		variables["SECRET"] = p.spec.Local.Secret
		variables["SESSION_START"] = sessionStart
	}
	return variables
}

// sessionStart posts a hook's input, because the program sends SessionStart to commands only.
// It prints nothing, as the program would show that to the model. The session's variables keep
// the secret out of the command line.
const sessionStart = `bash -c 'input=$(cat); exec 3<>"/dev/tcp/127.0.0.1/$BELLHOP_HOOK_PORT" || exit 0
printf "POST /hook HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\nX-Workspace-Path: %s\r\n" \
  "$BELLHOP_WORKSPACE_SECRET" "$BELLHOP_WORKSPACE_PATH" >&3
printf "Content-Type: application/json\r\nContent-Length: %s\r\nConnection: close\r\n\r\n%s" \
  "$(printf %s "$input" | wc -c | tr -d " ")" "$input" >&3
cat <&3' >/dev/null 2>&1 || true`

// writeMCP configures the host's MCP server and returns the file, or "" if the host
// has no listener. Its few tools are always offered, because the model would
// otherwise have to search for them.
func (p *program) writeMCP() (string, error) {
	if p.spec.Local == nil || p.spec.Local.MCPURL == "" {
		return "", nil
	}
	return p.write("mcp.json", "bellhop-mcp.json")
}

// writeHooks makes the terminal client report to the host. It returns the file, or
// "" if the host has no listener.
func (p *program) writeHooks() (string, error) {
	if p.spec.Local == nil || p.spec.Local.HookURL == "" {
		return "", nil
	}
	return p.write("hooks.json", "bellhop-settings.json")
}

// transcripts returns the folder of the program's sessions, as a directory that programs cannot move and a name below it.
func (p *program) transcripts() (dir, name string) {
	env := environment(p.options, p.spec)
	if folder := stdio.Lookup(env, "CLAUDE_CONFIG_DIR"); folder != "" {
		return folder, "projects"
	}
	return stdio.Lookup(env, "HOME"), ".claude/projects"
}

// stateFile is the file in which the program stores the answers of its user.
const stateFile = ".claude.json"

// stateFolder returns the directory of stateFile.
func (p *program) stateFolder() string {
	env := environment(p.options, p.spec)
	return cmp.Or(stdio.Lookup(env, "CLAUDE_CONFIG_DIR"), stdio.Lookup(env, "HOME"))
}

// maxState bounds the file of Claude Code with its state, in bytes.
const maxState = 16 << 20

// seed writes the answers that the terminal client requires at its first start;
// otherwise it would stop at an introduction of the vendor. Existing values stay.
func (p *program) seed() error {
	text, err := templates.ReadFile("templates/state.json")
	if err != nil {
		return err
	}
	seeded, err := configfile.Expand(string(text), p.variables(), configfile.JSON)
	if err != nil {
		return err
	}
	var state, more map[string]any
	if err := json.Unmarshal([]byte(seeded), &more); err != nil {
		return err
	}
	folder := p.stateFolder()
	old, err := openflag.ReadFile(folder, stateFile, maxState) // programs of the session can put a link in its place
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		if err := json.Unmarshal(old, &state); err != nil {
			return fmt.Errorf("read %s: %w", filepath.Join(folder, stateFile), err)
		}
	}
	state = merge(state, more)
	p.approveKey(state)
	merged, err := json.MarshalIndent(state, "", "  ")
	if err != nil {
		return err
	}
	return configfile.Write(folder, stateFile, "${STATE}", map[string]string{"STATE": string(merged)}, nil)
}

// merge adds the members to state that it does not have.
func merge(state, more map[string]any) map[string]any {
	if state == nil {
		state = map[string]any{}
	}
	for name, value := range more {
		switch old := state[name].(type) {
		case nil:
			state[name] = value
		case map[string]any:
			if value, ok := value.(map[string]any); ok {
				state[name] = merge(old, value)
			}
		}
	}
	return state
}

// approveKey allows the terminal client to use the API key of its environment,
// which it identifies by the end of the key. Otherwise it first asks whether it may use
// the key, and the default answer is no.
func (p *program) approveKey(state map[string]any) {
	const endLength = 20
	key := stdio.Lookup(environment(p.options, p.spec), "ANTHROPIC_API_KEY")
	if key == "" {
		return
	}
	end := key[max(0, len(key)-endLength):]
	responses, _ := state["customApiKeyResponses"].(map[string]any)
	approved, _ := responses["approved"].([]any)
	if !slices.Contains(approved, any(end)) {
		approved = append(approved, end)
	}
	state["customApiKeyResponses"] = merge(map[string]any{"approved": approved}, responses)
}
