package opencode_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/providertest"
	"bellhop/protocol"
)

func put(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// What the host does not read of a configuration, OpenCode could.
func TestAConfigurationThatIsNoSmallFileIsRefused(t *testing.T) {
	t.Parallel()
	for name, replace := range map[string]func(path string) error{
		"a FIFO":               func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a link to a device":   func(path string) error { return os.Symlink("/dev/zero", path) },
		"a link to a file":     func(path string) error { return os.Symlink("/etc/hosts", path) },
		"a file of many bytes": func(path string) error { return os.WriteFile(path, make([]byte, 2<<20), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			put(t, dir, ".git/HEAD", "")
			if err := replace(filepath.Join(dir, "opencode.json")); err != nil {
				t.Fatal(err)
			}
			a := open(t, options(newFake(t)), agenthost.AgentSpec{Dir: dir, StateDir: t.TempDir()})
			_, err := a.Run(t.Context(), agenthost.Prompt{Text: "go"}, &providertest.Recorder{})
			if protocol.CodeOf(err) != protocol.CodeInvalid || !strings.Contains(err.Error(), "opencode.json") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// OpenCode follows links, and the host does not.
func TestLinkedFoldersOfOpenCodeCountAsPlugIns(t *testing.T) {
	t.Parallel()
	for _, name := range []string{".opencode", ".opencode/plugin", ".opencode/plugins"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			put(t, dir, ".git/HEAD", "")
			link := filepath.Join(dir, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(link), 0o700), os.Symlink(t.TempDir(), link)); err != nil {
				t.Fatal(err)
			}
			a := open(t, options(newFake(t)), agenthost.AgentSpec{Dir: dir, StateDir: t.TempDir()})
			_, err := a.Run(t.Context(), agenthost.Prompt{Text: "go"}, &providertest.Recorder{})
			if protocol.CodeOf(err) != protocol.CodeInvalid || !strings.Contains(err.Error(), "plug-ins") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestARepositoryWithPlugInsIsRefused(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]string{
		"a plug-in file":                 ".opencode/plugin/a.js",
		"in the other folder":            ".opencode/plugins/a.ts",
		"a plug-in in the configuration": "opencode.json",
		"with comments":                  ".opencode/opencode.jsonc",
		"in a folder further up":         "../opencode.jsonc",
		"a plug-in file further up":      "../.opencode/plugin/a.ts",
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			dir := filepath.Join(root, "a[b]")
			put(t, root, ".git/HEAD", "")
			put(t, dir, file, `{ /* "x" */ "plugin": ["./a.js"]}`)
			a := open(t, options(newFake(t)), agenthost.AgentSpec{Dir: dir, StateDir: t.TempDir()})
			out := &providertest.Recorder{}
			_, err := a.Run(t.Context(), agenthost.Prompt{Text: "go"}, out)
			if protocol.CodeOf(err) != protocol.CodeInvalid || !strings.Contains(err.Error(), "plug-ins") ||
				len(out.Entries()) > 0 {
				t.Errorf("got %v", err)
			}
		})
	}
}
