package policy

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// noLinks stands for a file system without links.
func noLinks(string) (string, error) { return "", os.ErrNotExist }

func defaults() *Engine { return Default(Options{Home: "/home/u", Links: noLinks}) }

func rules(t testing.TB, file string) *Engine {
	t.Helper()
	e, err := Parse([]byte(file), "policy.yaml", Options{Home: "/home/u", Links: noLinks})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// bash returns a call of a shell tool.
func bash(command string) Call { return tool("Bash", map[string]any{"command": command}) }

func tool(name string, input any) Call {
	raw, err := json.Marshal(input)
	if err != nil {
		panic(err)
	}
	return Call{Agent: "claude", Project: "shop", Dir: "/ws", Tool: name, Input: raw}
}

// outcome shortens a decision to its action and level.
func outcome(d Decision) string { return string(d.Action) + " " + string(d.Level) }

// tree creates a directory with files and links (name -> target).
func tree(t *testing.T, links map[string]string, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range files {
		path := filepath.Join(dir, f)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
