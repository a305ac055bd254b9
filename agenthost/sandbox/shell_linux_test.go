package sandbox

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bellhop/agenthost/usershell"
)

// quietScreen takes all output of a shell.
type quietScreen struct {
	shell *usershell.Shell
	text  strings.Builder
	left  chan error
}

func (s *quietScreen) Begin(last []byte, _ bool) error { return s.Show(last) }

func (s *quietScreen) Show(output []byte) error {
	s.text.Write(output)
	go s.shell.Acknowledge(s, len(output))
	return nil
}

func (s *quietScreen) Leave(cause error, _ int) { s.left <- cause }

// attackFromTerminal attacks as a user does who has a terminal in the workspace.
func (m *machine) attackFromTerminal() map[string]string {
	m.Helper()
	m.addOtherGroup()
	shells, err := usershell.New(usershell.Options{Command: []string{"/bin/sh"}, Self: m.program})
	must(m.T, err)
	place := usershell.Place{
		Session: "s1", Dir: m.Workspace, Home: m.Home, Confine: m.command().Confine,
	}
	shell, err := shells.Open(place, usershell.Size{Columns: 80, Rows: 24})
	must(m.T, err)
	screen := &quietScreen{shell: shell, left: make(chan error, 1)}
	must(m.T, shell.Show(screen))
	encoded, err := json.Marshal(m.target)
	must(m.T, err)
	// The terminal takes at most 4,095 characters of a line, so the program reads a file.
	file := filepath.Join(m.Workspace, "target")
	must(m.T, os.WriteFile(file, encoded, 0o644)) //nolint:gosec // the program's user reads it
	// A shell drops the rest of a line if it cannot fork, so that the end has a line of its own.
	must(m.T, shell.Type([]byte(m.program+" hostile \"$(cat target)\" > results\nenv > environment\nexit\n")))
	<-screen.left
	results := map[string]string{}
	if err := json.Unmarshal([]byte(readAll(filepath.Join(m.Workspace, "results"))), &results); err != nil {
		m.Fatalf("%v: %s", err, screen.text.String())
	}
	env := readAll(filepath.Join(m.Workspace, "environment"))
	if strings.Contains(env, "canary") || !strings.Contains(env, "HOME="+m.Home) {
		m.Errorf("the shell's variables are not its own:\n%s\n%s", env, screen.text.String())
	}
	m.removeMarks(results)
	return results
}

// A user with a terminal achieves no more than the agent's programs do.
func TestATerminalIsInTheSandboxOfItsAgent(t *testing.T) {
	t.Setenv("BELLHOP_HOST_PASSWORD", "canary-of-the-host")
	for name, newOne := range map[string]func(*testing.T) *machine{
		"Landlock alone": func(t *testing.T) *machine { return newMachine(t, Options{NoNamespaces: true}) },
		"with namespaces as another user": func(t *testing.T) *machine {
			return newUserMachine(t, Options{Network: NetworkProxy})
		},
	} {
		t.Run(name, func(t *testing.T) {
			want, got := newOne(t).attack(), newOne(t).attackFromTerminal()
			got["signal any other process"] = want["signal any other process"] // here its own shell is one
			for _, e := range escapes {
				if (got[e.name] == "escaped") != (want[e.name] == "escaped") {
					t.Errorf("%s: %q, by an agent's program: %q", e.name, got[e.name], want[e.name])
				}
			}
		})
	}
}
