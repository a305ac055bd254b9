package policy

import (
	"strings"
	"testing"

	"bellhop/protocol"
)

// Each row has the decisions in the modes plan, ask, accept-edits and auto: the first
// letters of action and level.
func TestModesArePresetsOfTheRules(t *testing.T) {
	t.Parallel()
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
		want string
	}{
		{"reading", tool("Read", map[string]string{"file_path": "a"}), "ai ai ai ai"},
		{"reading elsewhere", tool("Read", map[string]string{"file_path": "/x"}), "cw cw cw aw"},
		{"a command that reads", bash("git log -3"), "ci ci ci ai"},
		{"writing", write("a"), "dw ci ai ai"},
		{"writing elsewhere", write("/x"), "dw cw cw cw"},
		{"writing in a place that is not known", write(""), "dw cw cw cw"},
		{"a command that writes elsewhere", bash("touch /x"), "dw cw cw cw"},
		{"a command that writes in a place that is not known", bash(`touch "d/$X"`), "dw cw cw cw"},
		{"a tool of unknown effect on a file", tool("mcp__x__y", map[string]string{"path": "a"}), "dw cw cw aw"},
		{"a tool of unknown effect on a file elsewhere", tool("mcp__x__y", map[string]string{"path": "/x"}), "dw cw cw cw"},
		{"a write that a rule allows and plan mode does not", write("notes/a"), "dw ai ai ai"},
		{"a write that a rule asks about", write("keys/a"), "dw ci ci ci"},
		{"a file that others trust", write(".git/hooks/x"), "dc cc cc cc"},
		{"a command that writes", bash("touch a"), "dw ci ci ai"},
		{"a command that runs code of the workspace", bash("go test ./..."), "dw ci ci ai"},
		{"a command that moves files", bash("git checkout x"), "dw ci ci ai"},
		{"a command that is not understood", bash("python3 x.py"), "dc cc cc cc"},
		{"a destructive command", bash("rm -rf /"), "dc cc cc cc"},
		{"a command that a rule denies", bash("git push"), "dw dw dw dw"},
		{"an address", tool("WebFetch", map[string]string{"url": "https://x.test"}), "cw cw cw aw"},
		{"a tool of unknown effect", tool("mcp__x__y", map[string]string{}), "dw cw cw aw"},
		{"a tool that a rule allows", tool("mcp__docs__find", map[string]string{}), "ai ai ai ai"},
		{"the end of a plan", tool("ExitPlanMode", map[string]string{}), "ci ci ci ai"},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := strings.Fields(c.want)
			want = append(want, want[1], want[1]) // unknown modes count as ask
			for i, mode := range append(protocol.PermissionModes(), "", "unknown") {
				c.call.Mode = mode
				d := e.Decide(c.call)
				if got := string(d.Action[0]) + strings.ToLower(string(d.Level[0])); got != want[i] {
					t.Errorf("in mode %q: %s, not %s", mode, got, want[i])
				}
			}
		})
	}
}

func TestTheHostsOwnToolsAreKnown(t *testing.T) {
	t.Parallel()
	other := map[string]any{"path": "/other"}
	force := map[string]any{"path": "/other", "force": true}
	unclear := map[string]any{"path": "/x", "force": "yes"}
	named, titled := map[string]any{"name": "x"}, map[string]any{"title": "x"}
	remove := map[string]any{"command": "rm -rf /"}
	for _, c := range []struct {
		name string
		mode protocol.PermissionMode
		rule string
		tool string
		args map[string]any
		want string
	}{
		{"a tool that only reads needs no permission", "", "", "workspace_getStatus", nil, "allow INFO"},
		{"a tool that only reads needs no permission for a path", "", "", "workspace_getMetadata", other, "allow INFO"},
		{"a plan may read", "plan", "", "workspace_getStatus", nil, "allow INFO"},
		{"a tool that changes something needs a permission", "", "", "workspace_create", named, "confirm INFO"},
		{"a plan may not change", "plan", "", "workspace_create", named, "deny WARN"},
		{"a command's name is no command", "", "", "workspace_executeCommand", remove, "confirm INFO"},
		{"deleting needs a permission", "", "", "workspace_delete", other, "confirm INFO"},
		{"deleting with force is CRITICAL", "", "", "workspace_delete", force, "confirm CRITICAL"},
		{"deleting with force needs a permission in auto mode", "auto", "", "workspace_delete", force, "confirm CRITICAL"},
		{
			"deleting with force needs a permission although a rule allows it", "", "{tool: 'mcp:*', action: allow}",
			"workspace_delete", force, "confirm CRITICAL",
		},
		{
			"a rule may allow deleting without force", "", "{tool: 'mcp:*', action: allow}", "workspace_delete",
			other, "allow INFO",
		},
		{"force that is no boolean counts as force", "", "", "workspace_delete", unclear, "confirm CRITICAL"},
		{"arguments that the agent does not report count as force", "", "", "workspace_delete", titled, "confirm CRITICAL"},
		{
			"a rule may deny a tool that only reads", "", "{tool: 'mcp:*', action: deny}", "workspace_getStatus",
			nil, "deny WARN",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, err := Parse([]byte("version: 1\nrules: ["+c.rule+"]\n"), "", Options{})
			if err != nil {
				t.Fatal(err)
			}
			call := tool("mcp__bellhop__"+c.tool, c.args)
			call.Mode = c.mode
			if got := outcome(e.Decide(call)); got != c.want {
				t.Errorf("got %s, not %s", got, c.want)
			}
		})
	}
}

// A dangerous call may be confirmed at a low level by a rule; a yes still covers it alone.
func TestADangerousCallHasNoShapeAtAnyLevel(t *testing.T) {
	t.Parallel()
	const rule = "{tool: 'shell:*', destructive: true, action: confirm, level: INFO}"
	e, err := Parse([]byte("version: 1\nrules: ["+rule+"]"), "", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if d := e.Decide(bash("rm -r build")); d.Action != Confirm || d.Level == Critical || d.Shape != "" {
		t.Errorf("got %+v", d)
	}
}
