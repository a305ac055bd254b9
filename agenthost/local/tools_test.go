package local_test

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestToolNamesSuitEveryClient(t *testing.T) {
	t.Parallel()
	s := newTestHost(t)
	_, spec := s.session()
	listed, err := s.connect(asAgent{spec.Local.Secret, spec.Dir}).ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	for _, tool := range listed.Tools {
		names[tool.Name] = tool.Title
		if strings.Trim(tool.Name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" ||
			len("mcp__bellhop__"+tool.Name) > 64 {
			t.Errorf("some clients refuse the name %s", tool.Name)
		}
	}
	want := map[string]string{}
	for _, verb := range []string{"getStatus", "getMetadata", "setMetadata", "create", "delete", "executeCommand"} {
		want["workspace_"+verb] = "workspace." + verb
	}
	if !maps.Equal(names, want) {
		t.Errorf("got %v", names)
	}
}

func TestTheDescriptionListsTheCommandsOfTheWorkspace(t *testing.T) {
	t.Parallel()
	s := newTestHost(t)
	_, spec := s.session()
	described := func() string {
		listed, err := s.connect(asAgent{spec.Local.Secret, spec.Dir}).ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(listed.Tools, func(tool *sdk.Tool) bool { return tool.Name == "workspace_executeCommand" })
		return listed.Tools[i].Description
	}
	if got := described(); !strings.HasSuffix(got, " The operator has named none for this workspace.") {
		t.Errorf("without commands: %s", got)
	}
	s.spaces.commands["test"], s.spaces.commands["lint"] = []string{"true"}, []string{"true"}
	if got := described(); !strings.HasSuffix(got, "of its output. The commands of this workspace: lint, test.") {
		t.Errorf("with commands: %s", got)
	}
}

func TestToolsOfAWorkspace(t *testing.T) {
	t.Parallel()
	s := newTestHost(t)
	_, spec := s.session()
	me := s.connect(asAgent{secret: spec.Local.Secret})
	s.spaces.dirty = true
	got, _ := s.tool(me, "workspace_getStatus", nil)
	want := map[string]any{
		"path": spec.Dir, "project": "", "branch": "b", "dirty": true,
		"agent": map[string]any{"status": "idle", "reason": ""},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("status %v", got)
	}
	s.hook(spec.Local.Secret, `{"hook_event_name":"UserPromptSubmit"}`)
	if got, _ = s.tool(me, "workspace_getStatus", nil); got["agent"].(map[string]any)["status"] != "busy" {
		t.Errorf("status %v", got)
	}
	s.spaces.dirty = false

	got, _ = s.tool(me, "workspace_setMetadata", map[string]any{"key": "title", "value": "a < b"})
	if !reflect.DeepEqual(got["metadata"], map[string]any{"title": "a < b"}) {
		t.Errorf("metadata %v", got)
	}
	made, _ := s.tool(me, "workspace_create", map[string]any{"name": "second"})
	path, _ := made["path"].(string)
	if made["branch"] != "bellhop/second" || path == "" {
		t.Fatalf("made %v", made)
	}
	got, _ = s.tool(me, "workspace_getMetadata", map[string]any{"path": path})
	if len(got["metadata"].(map[string]any)) != 0 {
		t.Errorf("the host's own notes are shown: %v", got)
	}
	selected := s.connect(asAgent{spec.Local.Secret, path})
	if got, _ = s.tool(selected, "workspace_getStatus", nil); got["path"] != path {
		t.Errorf("selected %v", got)
	}
	if got, failure := s.tool(selected, "workspace_getStatus", map[string]any{"path": spec.Dir}); got["path"] != spec.Dir {
		t.Errorf("its own again: %v %s", got, failure)
	}
	s.spaces.dirty = true
	if _, failure := s.tool(me, "workspace_delete",
		map[string]any{"path": path}); failure != "The workspace has uncommitted work. (conflict)" {
		t.Errorf("unfinished work: %q", failure)
	}
	if got, failure := s.tool(me, "workspace_delete",
		map[string]any{"path": path, "force": true}); got["deleted"] != true {
		t.Errorf("by force: %v %s", got, failure)
	}
	got, _ = s.tool(me, "workspace_setMetadata", map[string]any{"key": "title"})
	if len(got["metadata"].(map[string]any)) != 0 {
		t.Errorf("metadata %v", got)
	}
}

func TestToolErrors(t *testing.T) {
	t.Parallel()
	s := newTestHost(t)
	_, spec := s.session()
	_, other := s.session()
	me, another := s.connect(asAgent{secret: spec.Local.Secret}), s.connect(asAgent{secret: other.Local.Secret})
	made, _ := s.tool(another, "workspace_create", map[string]any{"name": "theirs"})
	for i := range 60 {
		s.tool(another, "workspace_setMetadata", map[string]any{"key": "k" + strings.Repeat("x", i), "value": "v"})
	}
	const notYours = "This secret does not open that workspace. Name the session's own workspace, or one that its " +
		"agent has made. (forbidden)"
	for _, c := range []struct {
		name    string
		session *sdk.ClientSession
		tool    string
		args    map[string]any
		want    string
	}{
		{"another's workspace", me, "workspace_getStatus", map[string]any{"path": made["path"]}, notYours},
		{
			"another's notes", me, "workspace_setMetadata",
			map[string]any{"path": other.Dir, "key": "a", "value": "b"},
			notYours,
		},
		{"to delete another's", me, "workspace_delete", map[string]any{"path": made["path"], "force": true}, notYours},
		{
			"to delete a session's own workspace", me, "workspace_delete",
			map[string]any{"path": spec.Dir, "force": true},
			"A session works in this workspace. Its user deletes it with the session. (conflict)",
		},
		{"to delete everything", me, "workspace_delete", map[string]any{"path": "/", "force": true}, notYours},
		{"to delete nothing", me, "workspace_delete", map[string]any{"path": ""}, "path is required. (invalid)"},
		{"a name that is taken", me, "workspace_create", map[string]any{"name": "theirs"}, "The name is taken. (conflict)"},
		{
			"a key of the host", me, "workspace_setMetadata",
			map[string]any{"key": "bellhop.session", "value": "x"},
			"The key must be 1 to 64 of A-Z a-z 0-9 . _ -, begin with a letter or digit and not with bellhop. (invalid)",
		},
		{
			"a long value", me, "workspace_setMetadata",
			map[string]any{"key": "a", "value": strings.Repeat("x", 5000)},
			"A value may have 4096 bytes. (too_large)",
		},
		{
			"too many keys", another, "workspace_setMetadata",
			map[string]any{"key": "one-more", "value": "x"},
			"The workspace has as many keys as it may. Delete one. (too_large)",
		},
		{
			"a command that is not configured", me, "workspace_executeCommand",
			map[string]any{"command": "rm -rf /"},
			"No such command. The operator names the commands of a project in the host's configuration. (not_found)",
		},
		{
			"a long wait", me, "workspace_executeCommand",
			map[string]any{"command": "x", "timeoutSeconds": 601},
			"timeoutSeconds must be 1 to 600. (invalid)",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, failure := s.tool(c.session, c.tool, c.args); failure != c.want {
				t.Errorf("%v %q", got, failure)
			}
		})
	}
	if strings.Contains(s.log.String(), `"level":"ERROR"`) {
		t.Errorf("logged\n%s", s.log)
	}
}

func TestCommandsRunInTheWorkspaceAndAreBounded(t *testing.T) {
	s := newTestHost(t)
	t.Setenv("BELLHOP_TEST_CANARY", "leaked")
	s.spaces.commands = map[string][]string{
		"where": {"sh", "-c", `pwd; echo "$HOME"; echo "canary=$BELLHOP_TEST_CANARY"; echo oops >&2; exit 3`},
		"loud":  {"sh", "-c", `head -c 100000 /dev/zero | tr '\0' x; echo end`},
		"slow":  {"sh", "-c", `echo begun; sleep 1000 & wait`},
		"gone":  {"/no/such/program"},
	}
	id, spec := s.session()
	me := s.connect(asAgent{secret: spec.Local.Secret})
	got, _ := s.tool(me, "workspace_getStatus", nil) // this call creates the directory
	dir, err := filepath.EvalSymlinks(spec.Dir)
	if err != nil {
		t.Fatal(err, got)
	}
	got, failure := s.tool(me, "workspace_executeCommand", map[string]any{"command": "where"})
	want := strings.Join([]string{dir, filepath.Join(s.root, "state-"+id), "canary=", "oops", ""}, "\n")
	if got["output"] != want || got["exitCode"] != 3.0 {
		t.Errorf("got %v %q, want %q", got, failure, want)
	}
	got, _ = s.tool(me, "workspace_executeCommand", map[string]any{"command": "loud"})
	if out, _ := got["output"].(string); len(out) != 32<<10 || !strings.HasSuffix(out, "xend\n") ||
		got["truncated"] != true {
		t.Errorf("%d bytes, %v", len(out), got["truncated"])
	}
	got, _ = s.tool(me, "workspace_executeCommand", map[string]any{"command": "slow", "timeoutSeconds": 1})
	if got["timedOut"] != true || got["output"] != "begun\n" {
		t.Errorf("got %v", got)
	}
	if _, failure := s.tool(me, "workspace_executeCommand", map[string]any{"command": "gone"}); failure !=
		"The command cannot be started. The operator has to look at the host's configuration. (invalid)" {
		t.Errorf("%q", failure)
	}
}

// A command stops when its caller disconnects.
func TestACommandStopsWhenItsCallerLeaves(t *testing.T) {
	t.Parallel()
	s := newTestHost(t)
	s.spaces.commands = map[string][]string{"slow": {"sh", "-c", `sleep 1000 & wait`}}
	_, spec := s.session()
	me := s.connect(asAgent{secret: spec.Local.Secret})
	s.tool(me, "workspace_getStatus", nil)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := me.CallTool(ctx, &sdk.CallToolParams{
		Name: "workspace_executeCommand", Arguments: map[string]any{"command": "slow"},
	}); err == nil {
		t.Error("the command ended by itself")
	}
	s.end() // ends the server's handlers; goleak finds any others
}

func TestAToolResultEqualsItsText(t *testing.T) {
	t.Parallel()
	s := newTestHost(t)
	_, spec := s.session()
	result, err := s.connect(asAgent{secret: spec.Local.Secret}).CallTool(t.Context(), &sdk.CallToolParams{
		Name: "workspace_setMetadata", Arguments: map[string]any{"key": "k", "value": "<a> & é"},
	})
	if err != nil {
		t.Fatal(err)
	}
	text := result.Content[0].(*sdk.TextContent).Text
	var same any
	if err := json.Unmarshal([]byte(text), &same); err != nil || !strings.Contains(text, `<a> & é`) ||
		!reflect.DeepEqual(same, result.StructuredContent) {
		t.Errorf("%s %v %v", text, result.StructuredContent, err)
	}
	if slices.Contains([]string{"", "null"}, text) {
		t.Error("nothing to read")
	}
}

// The end of the host stops running commands, too.
func TestACommandStopsWithTheHost(t *testing.T) {
	t.Parallel()
	s := newTestHost(t)
	s.spaces.commands = map[string][]string{"slow": {"sh", "-c", `touch begun; sleep 1000 & wait`}}
	_, spec := s.session()
	me := s.connect(asAgent{secret: spec.Local.Secret})
	s.tool(me, "workspace_getStatus", nil)
	done := make(chan error, 1)
	go func() {
		_, err := me.CallTool(context.Background(), &sdk.CallToolParams{
			Name: "workspace_executeCommand", Arguments: map[string]any{"command": "slow"},
		})
		done <- err
	}()
	for _, err := os.Stat(filepath.Join(spec.Dir,
		"begun")); err != nil; _, err = os.Stat(filepath.Join(spec.Dir, "begun")) {
		runtime.Gosched()
	}
	s.end()
	<-done
}
