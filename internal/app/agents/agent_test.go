package agents_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"bellhop/agenthost/setup"
	"bellhop/internal/app/agents"
	"bellhop/policy"
)

func TestProgramsThatAreNotAskedAboutAllAreNamed(t *testing.T) {
	t.Parallel()
	for program, unasked := range map[string]bool{
		"opencode": false, "claude": false, "gemini": false, "codex": true, "claude-agent-acp": true, "none": false,
	} {
		if note := agents.Unasked(program); (note != "") != unasked {
			t.Errorf("%s: %q", program, note)
		}
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// What each row must have, so that a new one is complete.
func TestEveryRowIsComplete(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, a := range agents.All() {
		if a.Kind == "" || a.Title == "" || a.New == nil || seen[a.Kind] {
			t.Errorf("%q: no kind, title or provider, or there twice", a.Kind)
		}
		seen[a.Kind] = true
		if a.BuiltIn && !slices.ContainsFunc(a.Programs, func(p setup.Agent) bool { return p.Name == a.Kind }) {
			t.Errorf("%s is built in and has no program", a.Kind)
		}
		for _, variable := range []string{a.Model.Key, a.Model.Address} {
			if len(a.Programs) > 0 && !slices.Contains(a.Variables, variable) {
				t.Errorf("%s: its programs do not get %q", a.Kind, variable)
			}
		}
		for tool, common := range a.ToolNames {
			if tool == "" || !slices.Contains(policy.CommonTools(), common) {
				t.Errorf("%s: tool %q is %q", a.Kind, tool, common)
			}
		}
	}
}

var update = flag.Bool("update", false, "write the table of docs/agents.md")

// The table of docs/agents.md is made from the rows.
func TestTheDocumentationListsTheRows(t *testing.T) {
	t.Parallel()
	const path = "../../../docs/agents.md"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, found := strings.Cut(string(page), "<!-- rows of internal/app/agents -->\n")
	_, tail, ended := strings.Cut(rest, "<!-- end of rows -->\n")
	if !found || !ended {
		t.Fatal("docs/agents.md has lost the marks of the table")
	}
	want := head + "<!-- rows of internal/app/agents -->\n" + table() + "<!-- end of rows -->\n" + tail
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want != string(page) {
		t.Error("docs/agents.md differs from the rows: run go test ./internal/app/agents -update")
	}
}

func table() string {
	var b strings.Builder
	b.WriteString("\n| kind | agent | programs | variables |\n|---|---|---|---|\n")
	for _, a := range agents.All() {
		var programs, variables []string
		for _, p := range a.Programs {
			text := "`" + p.Name + "` " + p.Version
			if p.Node > 0 {
				text += fmt.Sprintf(" (Node.js %d or newer)", p.Node)
			}
			programs = append(programs, text)
		}
		for _, name := range a.Variables {
			variables = append(variables, "`"+name+"`")
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", a.Kind, a.Title, strings.Join(programs, ", "),
			strings.Join(variables, " "))
	}
	b.WriteString("\n")
	return b.String()
}
