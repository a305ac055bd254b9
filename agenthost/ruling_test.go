package agenthost_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"bellhop/agenthost"
	"bellhop/agenthost/core"
	"bellhop/protocol"
)

// rulingRules deny by a command and by a path.
const rulingRules = `
version: 1
rules:
  - {tool: shell:run, command: "git push *", action: deny, message: Not this}
  - {tool: file:write, path: "keys/**", action: deny, message: Not this}
`

// What runs is what the agent asks about, not what it announced before.
func TestAQuestionIsDecidedByItsOwnArguments(t *testing.T) {
	t.Parallel()
	long := `{"file_path":"keys/a","content":"` + strings.Repeat("x", core.MaxValue) + `"}`
	for name, c := range map[string]struct {
		tool, announced string
		question        agenthost.Question
	}{
		"the question has another command": {
			"Bash", `{"command":"ls"}`, agenthost.Question{Args: json.RawMessage(`{"command":"git push"}`)},
		},
		"the question has more arguments": {
			"Bash", `{"command":"ls"}`, agenthost.Question{Args: json.RawMessage(`{"command":"ls","cmd":"git push"}`)},
		},
		"its arguments only describe the call": {
			"Bash", `{"description":"lists"}`,
			agenthost.Question{Args: json.RawMessage(`{"command":"ls"}`), Input: json.RawMessage(`{"command":"git push"}`)},
		},
		"its arguments are too long for the journal": {
			"Write", long, agenthost.Question{Args: json.RawMessage(long)},
		},
		"it has no arguments": {"Bash", `{"command":"git push"}`, agenthost.Question{Args: json.RawMessage(` {} `)}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t).underPolicy(rulingRules)
			var got agenthost.Answer
			r.turn("s1", "t1", callTool("c1", c.tool, c.announced), func(ctx context.Context, out agenthost.Output) (err error) {
				c.question.ToolCallID, c.question.ToolName = "c1", c.tool
				got, err = out.Confirm(ctx, c.question)
				return err
			})
			if got.Approved || got.Reason != "Denied by policy: Not this" {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// A shape is journaled, so it must not hold a secret.
func TestAYesForTheSessionNeverCoversACallWithASecret(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t-value-0123456789"
	r := newRig(t)
	r.options = func(o *agenthost.Options) {
		o.Policy, o.Secrets = r.policy(testRules), func(string) []string { return []string{secret} }
	}
	r.start()
	for _, turn := range []string{"t1", "t2"} {
		stream := r.startNew("s1", turn, func(ctx context.Context, out agenthost.Output) error {
			args := json.RawMessage(`{"command":"make ` + secret + `"}`)
			_, err := out.Confirm(ctx, agenthost.Question{ToolName: "Bash", Args: args})
			return err
		})
		id := r.untilPart(stream, "tool-approval-request").part.ApprovalID
		answer := &protocol.AnswerRequest{Approved: yes(), Remember: "session"}
		if err := r.host.Answer(t.Context(), "s1", id, answer); err != nil {
			t.Fatal(err)
		}
		r.read(stream)
	}
	for _, e := range r.interactions("s1") {
		if e.Answer != nil && (e.Answer.Remembered != "" || !*e.Answer.Approved) {
			t.Errorf("journaled: %+v", e.Answer)
		}
	}
}
