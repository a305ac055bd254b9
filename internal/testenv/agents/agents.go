package agents

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bellhop/agenthost/setup"
	"bellhop/internal/app/agents"
)

// Subject is an agent's program, with the settings to run it on the scripted model.
type Subject struct {
	Program string // name of the program
	Agent   string // as `bellhop dev --agent` knows it
	Kind    agents.Agent
	Model   string // "" = the agent's own choice
}

// models of agents that cannot use the scripted model under any name. Codex
// offers the tool that edits files only to models that it knows.
var models = map[string]string{"opencode": "openai-compatible/mock-1", "codex": "gpt-5.5"}

// Subjects are all programs that can be installed, by the rows of
// internal/app/agents.
func Subjects() []Subject {
	var all []Subject
	for _, kind := range agents.All() {
		for _, program := range kind.Programs {
			s := Subject{Program: program.Name, Agent: program.Name, Kind: kind, Model: models[program.Name]}
			if !kind.BuiltIn {
				s.Agent = kind.Kind + ":" + program.Name
			}
			all = append(all, s)
		}
	}
	return all
}

// Env is the environment in which the agent finds the model at url.
func (s Subject) Env(url string) []string {
	return []string{s.Kind.Model.Address + "=" + url + s.Kind.Model.Path, s.Kind.Model.Key + "=dummy"}
}

// Variable names the folder that `bellhop agents install --dir` filled.
const Variable = "BELLHOP_AGENTS_DIR"

// Find returns the path of a native agent program: opencode, claude or codex.
func Find(t testing.TB, name string) string {
	t.Helper()
	command := FindCommand(t, name)
	if len(command) != 1 {
		t.Fatalf("%s is started as %q: use FindCommand", name, command)
	}
	return command[0]
}

// FindCommand returns the command line of any agent program; those of gemini and
// claude-agent-acp begin with Node.js. It finds only the pinned, installed version, never one
// on the PATH.
func FindCommand(t testing.TB, name string) []string {
	t.Helper()
	dir := os.Getenv(Variable)
	if dir == "" {
		t.Fatalf("%s is not set: run these tests with 'make test-agents', or set it to the folder given to 'bellhop "+
			"agents install --dir FOLDER %s'", Variable, name)
	}
	cache, err := agents.OpenCache(dir)
	if err != nil {
		t.Fatal(err)
	}
	program, err := cache.Find(t.Context(), name, setup.Want{})
	if err != nil || program.Source != setup.SourceInstalled {
		t.Fatalf("the agent %s is not installed in %s (%v): run 'bellhop agents install --dir %s %s'", name, dir, err,
			dir, name)
	}
	return program.Command
}

// AgeGemini renames the chats of Gemini CLI below its home, so that they are older than this
// minute, which is part of their names. Within the same minute, loading a session would start a
// new chat of the same name and find nothing to load.
func AgeGemini(t testing.TB, home string) {
	t.Helper()
	chats, err := filepath.Glob(filepath.Join(home, ".gemini", "tmp", "*", "chats", "session-*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range chats {
		id := path[strings.LastIndex(path, "-"):]
		if err := os.Rename(path, filepath.Join(filepath.Dir(path), "session-2026-01-01T00-00"+id)); err != nil {
			t.Fatal(err)
		}
	}
}
