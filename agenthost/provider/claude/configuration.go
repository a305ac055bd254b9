package claude

import (
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"bellhop/internal/configfile"
)

//go:embed templates
var templates embed.FS

// write expands a template into a file of the session's own folder and returns
// its path.
func (a *agent) write(template, name string) (string, error) {
	text, err := templates.ReadFile("templates/" + template)
	if err != nil {
		return "", err
	}
	path := filepath.Join(a.spec.StateDir, name)
	return path, configfile.Write(path, string(text), a.variables(), configfile.JSON)
}

func (a *agent) variables() map[string]string {
	variables := map[string]string{"WORKSPACE": a.spec.Dir}
	if a.spec.Local != nil {
		variables["MCP_URL"] = a.spec.Local.MCPURL
		variables["HOOK_URL"] = a.spec.Local.HookURL
		variables["SECRET"] = a.spec.Local.Secret
	}
	return variables
}

// writeMCP makes the host known to the agent; "" if it has no listener. Its few
// tools are always offered: else the model would have to search for them.
func (a *agent) writeMCP() (string, error) {
	if a.spec.Local == nil || a.spec.Local.MCPURL == "" {
		return "", nil
	}
	return a.write("mcp.json", "bellhop-mcp.json")
}

// writeHooks makes the terminal client report to the host; "" if it has no
// listener.
func (a *agent) writeHooks() (string, error) {
	if a.spec.Local == nil || a.spec.Local.HookURL == "" {
		return "", nil
	}
	return a.write("hooks.json", "bellhop-settings.json")
}

// folder is where the program keeps its sessions.
func (a *agent) folder() string {
	env := environment(a.options, a.spec)
	if folder := lookup(env, "CLAUDE_CONFIG_DIR"); folder != "" {
		return folder
	}
	return filepath.Join(lookup(env, "HOME"), ".claude")
}

// stateFile is where the program remembers what it has asked the person.
func (a *agent) stateFile() string {
	env := environment(a.options, a.spec)
	return filepath.Join(cmp.Or(lookup(env, "CLAUDE_CONFIG_DIR"), lookup(env, "HOME")), ".claude.json")
}

// seed answers what the terminal client asks a person who starts it for the
// first time: it would stop there, at a page of the vendor's. What the file says
// already stays.
func (a *agent) seed() error {
	text, err := templates.ReadFile("templates/state.json")
	if err != nil {
		return err
	}
	seeded, err := configfile.Expand(string(text), a.variables(), configfile.JSON)
	if err != nil {
		return err
	}
	var state, more map[string]any
	if err := json.Unmarshal([]byte(seeded), &more); err != nil {
		return err
	}
	path := a.stateFile()
	old, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		if err := json.Unmarshal(old, &state); err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
	}
	state = merge(state, more)
	a.approveKey(state)
	merged, err := json.MarshalIndent(state, "", "  ")
	if err != nil {
		return err
	}
	return configfile.Write(path, "${STATE}", map[string]string{"STATE": string(merged)}, nil)
}

// merge adds to state what it does not have.
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

// approveKey lets the terminal client use the key of its environment, which it
// knows by its end; else it asks first, and takes no for the answer.
func (a *agent) approveKey(state map[string]any) {
	const shown = 20
	key := lookup(environment(a.options, a.spec), "ANTHROPIC_API_KEY")
	if key == "" {
		return
	}
	end := key[max(0, len(key)-shown):]
	responses, _ := state["customApiKeyResponses"].(map[string]any)
	approved, _ := responses["approved"].([]any)
	if !slices.Contains(approved, any(end)) {
		approved = append(approved, end)
	}
	state["customApiKeyResponses"] = merge(map[string]any{"approved": approved}, responses)
}
