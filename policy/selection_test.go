package policy

import "testing"

func TestRulesOnSelections(t *testing.T) {
	t.Parallel()
	e, err := Parse([]byte(`
version: 1
extends: none
rules:
  - {tool: file:read, path: 'private/**', action: deny}
  - {tool: file:read, path: '**/*.secret', action: deny}
  - {tool: file:read, path: 'docs/*.md', action: allow}
  - {tool: file:read, path: 'src/**', action: allow}
  - {tool: file:read, path: '/ws', action: allow}
`), "", Options{Home: "/home/u"})
	if err != nil {
		t.Fatal(err)
	}
	for pattern, want := range map[string]Action{
		"docs/*.md": Allow, "docs/*": Confirm, "docs/?.md": Confirm, "docs/**": Confirm, "docs/a.md": Allow,
		"src/**/*.go": Allow, "src/*": Allow, "src/../docs/*": Confirm, "src/*.sec*": Deny, "src/{a,b.secret}": Deny,
		"private/*.md": Deny, "pri*/a.md": Deny, "**/*.secret": Deny, "src/[a": Confirm,
	} {
		if d := e.Decide(tool("Glob", map[string]any{"pattern": pattern})); d.Action != want {
			t.Errorf("%s is %s, not %s", pattern, d.Action, want)
		}
	}
}

func TestAnAliasInRules(t *testing.T) {
	t.Parallel()
	e, err := Parse([]byte("version: 1\nrules:\n  - {tool: 'shell:execute', command: git push *, action: deny}\n"), "", Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Bash", "shell:run", "shell:execute", "exec"} {
		if d := e.Decide(tool(name, map[string]any{"command": "git push"})); d.Action != Deny {
			t.Errorf("%s is %s", name, d.Action)
		}
	}
}
