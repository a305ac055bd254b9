package sandbox

import (
	"encoding/json"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bellhop/internal/process"
)

// runReader runs a command as the reader of the session's workspace.
func (m *machine) runReader(args ...string) (string, error) {
	m.Helper()
	c, err := m.sandbox.ConfineReader(m.session.User, []string{m.Workspace}, nil, process.Command{Args: args, Dir: "/"})
	must(m.T, err)
	cmd := exec.CommandContext(m.Context(), c.Args[0], c.Args[1:]...)
	cmd.Dir, cmd.Env = c.Dir, []string{"PATH=/usr/bin:/bin"}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// A reader has the rights of the session's programs or less: the hostile program achieves nothing more, and cannot
// even change the workspace that it reads, or use the session's home.
func TestAReaderOnlyReads(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T) *machine{
		"namespaces":                     func(t *testing.T) *machine { return newMachine(t, Options{}) },
		"namespaces, another user":       func(t *testing.T) *machine { return newUserMachine(t, Options{}) },
		"Landlock alone":                 func(t *testing.T) *machine { return newMachine(t, Options{NoNamespaces: true}) },
		"Landlock alone, another user":   func(t *testing.T) *machine { return newUserMachine(t, Options{NoNamespaces: true}) },
		"the network of the machine":     func(t *testing.T) *machine { return newMachine(t, Options{Network: NetworkOpen}) },
		"another user, the same network": func(t *testing.T) *machine { return newUserMachine(t, Options{Network: NetworkOpen}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := open(t)
			readme := filepath.Join(m.Workspace, "README")
			if out, err := m.runReader("/bin/cat", readme); err != nil || out != "own" {
				t.Fatalf("%q, %v", out, err)
			}
			scripts := map[string]string{
				"change a file":      "echo x >" + readme,
				"change its mode":    "chmod 777 " + readme,
				"change its time":    "touch -d 2020-01-01 " + readme,
				"make a file":        "echo x >" + m.Workspace + "/new",
				"remove a file":      "rm -f " + readme,
				"read the home":      "cat " + m.Home + "/.profile",
				"read another one's": "cat " + m.Other + "/secret",
				"read the host's":    "cat " + m.Host + "/private",
			}
			for what, script := range scripts {
				if out, err := m.runReader("/bin/sh", "-c", script); err == nil {
					t.Errorf("it can %s: %q", what, out)
				}
			}
		})
	}
}

// A reader makes no socket, not even where it shares the machine's network.
func TestAReaderHasNoSockets(t *testing.T) {
	t.Parallel()
	for _, options := range []Options{{}, {NoNamespaces: true}, {Network: NetworkOpen}} {
		m := newMachine(t, options)
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		t.Cleanup(func() { _ = listener.Close() })
		to := fmt.Sprint("exec 3<>/dev/tcp/127.0.0.1/", listener.Addr().(*net.TCPAddr).Port)
		if out, err := exec.CommandContext(t.Context(), "bash", "-c", to).CombinedOutput(); err != nil {
			t.Fatalf("outside: %v, %s", err, out)
		}
		if out, err := m.runReader("/bin/bash", "-c", to); err == nil || !strings.Contains(out, "Permission denied") {
			t.Errorf("%+v: %v, %q", options, err, out)
		}
	}
}

// Every escape that the session's own programs cannot make, a reader cannot make either.
func TestAReaderAchievesNoMoreThanPrograms(t *testing.T) {
	t.Parallel()
	m := newMachine(t, Options{})
	programs := m.attack()
	encoded, err := json.Marshal(m.target)
	must(t, err)
	out, err := m.runReader(m.program, "hostile", string(encoded))
	must(t, err)
	results := map[string]string{}
	must(t, json.Unmarshal([]byte(out), &results))
	m.removeMarks(results)
	for name, result := range results {
		if result == "escaped" && programs[name] != "escaped" {
			t.Errorf("%s: escaped", name)
		}
	}
}
