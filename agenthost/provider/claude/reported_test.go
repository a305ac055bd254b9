package claude_test

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/providertest"
	"bellhop/protocol"
)

// recorded returns the script of a recording, changed by pairs of old and new texts.
func recorded(t *testing.T, name string, changes ...string) string {
	t.Helper()
	script, err := os.ReadFile(filepath.Join("testdata", name, "program.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(changes); i += 2 {
		if !strings.Contains(string(script), changes[i]) {
			t.Fatalf("the recording %s has no %s", name, changes[i])
		}
	}
	return strings.NewReplacer(changes...).Replace(string(script))
}

func TestTheRecommendedOptionIsTheDefault(t *testing.T) {
	t.Parallel()
	const red, recommended = `"label": "Red"`, "Red (Recommended)"
	for rule, c := range map[string]struct{ script, want string }{
		"none":       {recorded(t, "question"), ""},
		"the marked": {recorded(t, "question", red, `"label": "`+recommended+`"`), recommended},
	} {
		t.Run(rule, func(t *testing.T) {
			out := providertest.Answering(agenthost.Answer{Text: "Blue"})
			open(t, opening{}, c.script).run(t, out)
			asked := out.Of(providertest.KindAsk)
			if len(asked) != 1 || asked[0].Question.Default != c.want || c.want != "" && asked[0].Question.Options[0] != c.want {
				t.Errorf("want the default %q: asked %+v", c.want, asked)
			}
		})
	}
}

func TestTheToolsOfTheProgramAreReported(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var reported [][]string
	s := open(t, opening{spec: agenthost.AgentSpec{ReportTools: func(names []string) {
		mu.Lock()
		defer mu.Unlock()
		reported = append(reported, names)
	}}},
		recorded(t, "text", `"subtype": "init",`, `"subtype": "init", "tools": ["Bash", "mcp__bellhop__workspace_list"],`))
	s.run(t, &providertest.Recorder{})
	mu.Lock()
	defer mu.Unlock()
	if len(reported) != 1 || !slices.Equal(reported[0], []string{"Bash", "mcp__bellhop__workspace_list"}) {
		t.Errorf("reported %q", reported)
	}
}

func TestTheCommandsOfTheProgramAreReported(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var reported [][]protocol.Command
	const answer = `{"type":"control_response","response":{"subtype":"success","request_id":"${CONTROL}","response":` +
		`{"commands":[{"name":"compact","description":"Shortens the context","argumentHint":"[what to keep]"},` +
		`{"name":"__internal"},{"name":"gone"}]}}}`
	s := open(t, opening{spec: agenthost.AgentSpec{ReportCommands: func(list []protocol.Command) {
		mu.Lock()
		defer mu.Unlock()
		reported = append(reported, protocol.CleanCommands(list))
	}}}, "no-handshake\n<\n"+answer+"\n"+
		recorded(t, "text", `"subtype": "init",`, `"subtype": "init", "slash_commands": ["compact", "mcp:ask"],`))
	s.run(t, &providertest.Recorder{})
	mu.Lock()
	defer mu.Unlock()
	compact := protocol.Command{Name: "compact", Description: "Shortens the context", Arguments: "[what to keep]"}
	want := [][]protocol.Command{{compact, {Name: "gone"}}, {compact, {Name: "mcp:ask"}}}
	if !reflect.DeepEqual(reported, want) {
		t.Errorf("reported %+v", reported)
	}
}
