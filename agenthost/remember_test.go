package agenthost_test

import (
	"testing"

	"bellhop/protocol"
)

// Only a yes that was meant to last lasts: every other answer is for its own
// question, and the same tool is asked about again.
func TestOnlyALastingYesIsRemembered(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]protocol.AnswerRequest{
		"a yes":                       {Approved: yes()},
		"a no":                        {Approved: no()},
		"a no that was meant to last": {Approved: no(), Remember: protocol.RememberSession},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t).start()
			script := []step{callTool("c1", "rm", `{}`), confirm("c1", "rm")}
			for _, turn := range []string{"t1", "t2"} {
				stream := r.startNew("s1", turn, script...)
				asked := r.untilPart(stream, "tool-approval-request")
				r.wantCode("the answer", r.host.Answer(t.Context(), "s1", asked.part.ApprovalID, &answer), "")
				r.read(stream)
			}
		})
	}
}
