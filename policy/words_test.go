package policy

import (
	"fmt"
	"strings"
	"testing"

	"bellhop/protocol"
)

// titleForms are the titles that agents of ACP give their calls.
var titleForms = []string{
	"Read %s", "Reading %s", "Read file %s", "Read the file %s", "Show %s notes", "View %s", "Open %s", "cat %s", "List %s",
	"List files in %s", "Find `%s`", "Find `**/*` in %s", "grep \"key\" %s", "Search %s for password", "Search for key in %s",
	"Fetch %s", "Inspect %s", "Check %s", "Look at %s", "%s",
	"Edit %s", "Edit the file %s", "Editing %s", "Edit files in %s", "Write %s", "Writing to %s", "Write to file %s",
	"Create %s", "Update %s", "Save %s", "Append to %s", "Replace text in %s", "Patch %s", "Apply patch to %s", "Rename a to %s",
	"Move x to %s", "Overwrite %s", "Modify %s, then check it", "Fix the bug in %s", "Add a key to %s",
}

var titlePlaces = []string{"/etc/passwd", "~/Documents/tax.pdf", "/home/bob", "../../x", "src/../../victim"}

// What an agent says about a call never decides about it: without arguments, its place is not known.
func TestWordsAreNoArguments(t *testing.T) {
	t.Parallel()
	e := Default(Options{Home: "/home/u", Links: bypassLinks})
	modes := []protocol.PermissionMode{protocol.ModePlan, protocol.ModeAsk, protocol.ModeAcceptEdits, protocol.ModeAuto}
	titles := 0
	for _, form := range titleForms {
		for _, place := range titlePlaces {
			titles++
			title := fmt.Sprintf(form, place)
			for _, name := range []string{"read", "edit", "delete", "move", "search", "fetch", "execute", "other", title} {
				for _, member := range []string{"title", "summary", "description", "message", "headline"} {
					if member == "headline" && form == "%s" { // a path alone, in a member that is not known, is a place
						continue
					}
					c := tool(name, map[string]any{member: title})
					none := tool(name, map[string]any{})
					for _, c.Mode = range modes {
						none.Mode = c.Mode
						if d, without := e.Decide(c), e.Decide(none); weaker(d, without) {
							t.Errorf("%s of %s %q is %s %s, without it %s %s", c.Mode, name, c.Input, d.Action, d.Level,
								without.Action, without.Level)
						} else if isFile := strings.HasPrefix(e.CommonTool(c.Agent, name), "file:"); d.Action == Allow &&
							(isFile || c.Mode != protocol.ModeAuto) {
							t.Errorf("%s of %s %q is allowed", c.Mode, name, c.Input)
						}
					}
				}
			}
		}
	}
	if titles < 200 {
		t.Errorf("%d titles", titles)
	}
}

// Words beside arguments change nothing.
func TestWordsBesideArgumentsChangeNothing(t *testing.T) {
	t.Parallel()
	e := Default(Options{Home: "/home/u", Links: bypassLinks})
	for _, c := range []struct {
		name string
		args map[string]any
	}{
		{"read", map[string]any{"path": "a.txt"}},
		{"edit", map[string]any{"path": "src/a.go", "content": "x"}},
		{"edit", map[string]any{"path": "/etc/passwd"}},
		{"fetch", map[string]any{"url": "https://example.com"}},
		{"Grep", map[string]any{"pattern": "x"}},
		{"Grep", map[string]any{"pattern": "x", "path": "/etc"}},
	} {
		without := e.Decide(tool(c.name, c.args))
		for _, words := range []string{"title", "description", "reason", "summary", "comment", "label", "message", "goal"} {
			c.args[words] = "Read /etc/passwd from https://other.example, see ../../x"
			if d := e.Decide(tool(c.name, c.args)); d != without {
				t.Errorf("%s of %v is %+v, without %s %+v", c.name, c.args, d, words, without)
			}
			delete(c.args, words)
		}
	}
}
