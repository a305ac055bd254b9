package agents

import (
	"os"
	"testing"

	"bellhop/agenthost/setup"
)

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

// FindCommand returns the command line of any agent program; those of gemini
// and claude-agent-acp begin with Node.js. Only the pinned one that is
// installed counts, never one that happens to be on the PATH.
func FindCommand(t testing.TB, name string) []string {
	t.Helper()
	dir := os.Getenv(Variable)
	if dir == "" {
		t.Fatalf("%s is not set: run these tests with 'make test-agents', or set it to the folder given to 'bellhop agents install --dir FOLDER %s'", Variable, name)
	}
	cache, err := setup.Open(setup.CacheOptions{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	program, err := cache.Find(t.Context(), name, setup.Want{})
	if err != nil || program.Source != setup.SourceInstalled {
		t.Fatalf("the agent %s is not installed in %s (%v): run 'bellhop agents install --dir %s %s'", name, dir, err, dir, name)
	}
	return program.Command
}
