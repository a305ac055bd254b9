package claude_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/providertest"
)

// The program would not ask about calls that it takes for harmless. Its hook makes it
// ask about every one, in a turn and outside of turns.
func TestEveryCallIsAskedByTheProgramsHook(t *testing.T) {
	t.Parallel()
	hook := func(id string) string {
		return `{"type":"control_request","request_id":"` + id +
			`","request":{"subtype":"hook_callback","callback_id":"before-tool",` +
			`"input":{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"echo"}},"tool_use_id":"c1"}}`
	}
	s := open(t, opening{},
		script("<", begins, echo, hook("in-a-turn"), "<", ends, hook("between-turns"), "<", "<", begins, echo, ends))
	for range 2 {
		if _, err := s.Run(t.Context(), agenthost.Prompt{Text: "go"}, &providertest.Recorder{}); err != nil {
			t.Fatal(err)
		}
	}
	received, err := os.ReadFile(filepath.Join(s.spec.StateDir, "received"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(received), "\n")
	if !strings.Contains(lines[0], `"PreToolUse":[{"hookCallbackIds":["before-tool"]}]`) {
		t.Errorf("the handshake subscribes to no calls: %s", lines[0])
	}
	for _, id := range []string{"in-a-turn", "between-turns"} {
		answered := false
		for _, line := range lines {
			answered = answered ||
				strings.Contains(line, `"request_id":"`+id+`"`) && strings.Contains(line, `"permissionDecision":"ask"`)
		}
		if !answered {
			t.Errorf("%s: the program was not made to ask\n%s", id, received)
		}
	}
}
