package policy

import "testing"

// In each mode a row shows the decision: plan, ask, accept-edits, auto.
func TestModesArePresetsOfTheRules(t *testing.T) {
	e, err := Parse([]byte(`
version: 1
rules:
  - {name: no-push, tool: 'shell:*', command: git push *, action: deny}
  - {name: notes, tool: file:write, path: notes/**, action: allow}
  - {name: ask-keys, tool: file:write, path: keys/**, action: confirm, level: INFO}
  - {name: docs, tool: mcp:docs/*, action: allow}
`), "", Options{Home: "/home/u"})
	if err != nil {
		t.Fatal(err)
	}
	write := func(path string) Call { return tool("Write", map[string]string{"file_path": path, "content": "x"}) }
	for _, c := range []struct {
		name string
		call Call
		want [4]string
	}{
		{"reading", tool("Read", map[string]string{"file_path": "a"}), [4]string{"allow INFO", "allow INFO", "allow INFO", "allow INFO"}},
		{"reading elsewhere", tool("Read", map[string]string{"file_path": "/x"}), [4]string{"confirm WARN", "confirm WARN", "confirm WARN", "allow WARN"}},
		{"a command that reads", bash("git log -3"), [4]string{"confirm INFO", "confirm INFO", "confirm INFO", "allow INFO"}},
		{"writing", write("a"), [4]string{"deny WARN", "confirm INFO", "allow INFO", "allow INFO"}},
		{"writing elsewhere", write("/x"), [4]string{"deny WARN", "confirm WARN", "confirm WARN", "allow WARN"}},
		{"a rule allows it, a plan does not", write("notes/a"), [4]string{"deny WARN", "allow INFO", "allow INFO", "allow INFO"}},
		{"a rule asks for it", write("keys/a"), [4]string{"deny WARN", "confirm INFO", "confirm INFO", "confirm INFO"}},
		{"a file that others trust", write(".git/hooks/x"), [4]string{"deny CRITICAL", "confirm CRITICAL", "confirm CRITICAL", "confirm CRITICAL"}},
		{"a command that writes", bash("touch a"), [4]string{"deny WARN", "confirm INFO", "confirm INFO", "allow INFO"}},
		{"a command that runs the workspace", bash("go test ./..."), [4]string{"deny WARN", "confirm INFO", "confirm INFO", "allow INFO"}},
		{"a command that moves files", bash("git checkout x"), [4]string{"deny WARN", "confirm INFO", "confirm INFO", "allow INFO"}},
		{"what is not understood", bash("python3 x.py"), [4]string{"deny CRITICAL", "confirm CRITICAL", "confirm CRITICAL", "confirm CRITICAL"}},
		{"what destroys", bash("rm -rf /"), [4]string{"deny CRITICAL", "confirm CRITICAL", "confirm CRITICAL", "confirm CRITICAL"}},
		{"what a rule denies", bash("git push"), [4]string{"deny WARN", "deny WARN", "deny WARN", "deny WARN"}},
		{"an address", tool("WebFetch", map[string]string{"url": "https://x.test"}), [4]string{"confirm WARN", "confirm WARN", "confirm WARN", "allow WARN"}},
		{"a tool of unknown effect", tool("mcp__x__y", map[string]string{}), [4]string{"deny WARN", "confirm WARN", "confirm WARN", "allow WARN"}},
		{"a tool that a rule allows", tool("mcp__docs__find", map[string]string{}), [4]string{"allow INFO", "allow INFO", "allow INFO", "allow INFO"}},
		{"the end of a plan", tool("ExitPlanMode", map[string]string{}), [4]string{"confirm INFO", "confirm INFO", "confirm INFO", "allow INFO"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for i, mode := range Modes() {
				c.call.Mode = mode
				if got := outcome(e.Decide(c.call)); got != c.want[i] {
					t.Errorf("in mode %s: %s, not %s", mode, got, c.want[i])
				}
			}
			for _, mode := range []Mode{"", "unknown"} { // counts as asking
				c.call.Mode = mode
				if got := outcome(e.Decide(c.call)); got != c.want[1] {
					t.Errorf("in mode %q: %s, not %s", mode, got, c.want[1])
				}
			}
		})
	}
}

func TestTheHostsOwnToolsAreKnown(t *testing.T) {
	other := map[string]any{"path": "/other"}
	force := map[string]any{"path": "/other", "force": true}
	for _, c := range []struct {
		name, rules string
		tool        string
		args        map[string]any
		want        string
	}{
		{"what only reads is not asked", "", "workspace_getStatus", nil, "allow INFO"},
		{"nor is it with a path", "", "workspace_getMetadata", other, "allow INFO"},
		{"a plan may read", "plan", "workspace_getStatus", nil, "allow INFO"},
		{"what changes is asked", "", "workspace_create", map[string]any{"name": "x"}, "confirm INFO"},
		{"a plan may not change", "plan", "workspace_create", map[string]any{"name": "x"}, "deny WARN"},
		{"the name of a command is no command", "", "workspace_executeCommand", map[string]any{"command": "rm -rf /"}, "confirm INFO"},
		{"deleting is asked", "", "workspace_delete", other, "confirm INFO"},
		{"with force at the highest level", "", "workspace_delete", force, "confirm CRITICAL"},
		{"even in auto mode", "auto", "workspace_delete", force, "confirm CRITICAL"},
		{"and where a rule allows the tools", "{tool: 'mcp:*', action: allow}", "workspace_delete", force, "confirm CRITICAL"},
		{"which covers it without force", "{tool: 'mcp:*', action: allow}", "workspace_delete", other, "allow INFO"},
		{"force that is no boolean counts", "", "workspace_delete", map[string]any{"path": "/x", "force": "yes"}, "confirm CRITICAL"},
		{"arguments that are not told count", "", "workspace_delete", map[string]any{"title": "x"}, "confirm CRITICAL"},
		{"a rule may deny what reads", "{tool: 'mcp:*', action: deny}", "workspace_getStatus", nil, "deny WARN"},
	} {
		t.Run(c.name, func(t *testing.T) {
			mode, rules := Mode(c.rules), "version: 1\n"
			if !mode.IsKnown() && c.rules != "" {
				rules += "rules: [" + c.rules + "]\n"
			}
			e, err := Parse([]byte(rules), "", Options{})
			if err != nil {
				t.Fatal(err)
			}
			call := tool("mcp__bellhop__"+c.tool, c.args)
			call.Mode = mode
			if got := outcome(e.Decide(call)); got != c.want {
				t.Errorf("got %s, not %s", got, c.want)
			}
		})
	}
}

// A dangerous call may be confirmed at a low level by a rule; a yes still covers it alone.
func TestADangerousCallHasNoShapeAtAnyLevel(t *testing.T) {
	e, err := Parse([]byte("version: 1\nrules: [{tool: 'shell:*', destructive: true, action: confirm, level: INFO}]"), "", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if d := e.Decide(bash("rm -r build")); d.Action != Confirm || d.Level == Critical || d.Shape != "" {
		t.Errorf("got %+v", d)
	}
}
