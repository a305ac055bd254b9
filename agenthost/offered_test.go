package agenthost_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// lasting is what an agent offers that takes neither a yes nor a no for only one call.
var lasting = agenthost.Offered{Lasting: []agenthost.Lasting{{Name: "Always", Approves: true}, {Name: "Never"}}}

// confirmOffered asks about a call of an agent that takes what offered says.
func confirmOffered(offered agenthost.Offered, got *agenthost.Answer) step {
	return func(ctx context.Context, out agenthost.Output) (err error) {
		*got, err = out.Confirm(ctx, agenthost.Question{
			Prompt: "Write?", ToolCallID: "c1", ToolName: "Write", Args: json.RawMessage(`{"path":"a.go"}`), Level: "WARN",
			Offered: &offered,
		})
		return err
	}
}

func TestAnAnswerThatTheAgentDoesNotTakeIsRefused(t *testing.T) {
	t.Parallel()
	onlyYes := agenthost.Offered{No: true, Lasting: lasting.Lasting[:1]}
	for _, c := range []struct {
		name    string
		offered agenthost.Offered
		refused []protocol.AnswerRequest
		says    string
		answer  protocol.AnswerRequest
		want    agenthost.Answer
	}{
		{
			"a lasting yes by name", onlyYes,
			[]protocol.AnswerRequest{{Approved: yes()}, {Text: "Other"}, {}},
			`The agent takes no yes for only this call. It offers: "Always"`,
			protocol.AnswerRequest{Text: "Always"},
			agenthost.Answer{Approved: true, Text: "Always", Picked: 1},
		},
		{
			"a no for the call", onlyYes, nil, "", protocol.AnswerRequest{Approved: no()}, agenthost.Answer{},
		},
		{
			"a lasting no by name", lasting,
			[]protocol.AnswerRequest{{Approved: no()}, {Approved: yes(), Remember: "session"}},
			`The agent takes no yes and no no for only this call. It offers: "Always", "Never"`,
			protocol.AnswerRequest{Text: "Never"},
			agenthost.Answer{Text: "Never", Picked: 2},
		},
		{
			"a name decides, not what is beside it", lasting, nil, "",
			protocol.AnswerRequest{Approved: yes(), Text: "Never"},
			agenthost.Answer{Text: "Never", Picked: 2},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t).start()
			var got agenthost.Answer
			stream := r.startNew("s1", "t1", callTool("c1", "Write", `{"path":"a.go"}`), confirmOffered(c.offered, &got))
			asked := r.untilPart(stream, "tool-approval-request")
			id := asked.part.ApprovalID
			for _, request := range c.refused {
				err := r.host.Answer(t.Context(), "s1", id, &request)
				r.wantCode("an answer that the agent does not take", err, protocol.CodeInvalid)
				if request.Approved != nil && !strings.Contains(err.Error(), c.says) {
					t.Errorf("the person reads %q", err)
				}
			}
			r.wantCode("the answer", r.host.Answer(t.Context(), "s1", id, &c.answer), "")
			r.wantCode("the same again", r.host.Answer(t.Context(), "s1", id, &c.answer), "")
			r.read(stream)
			if got != c.want {
				t.Errorf("the agent gets %+v, not %+v", got, c.want)
			}
		})
	}
}

// What nobody answers is never a lasting yes.
func TestNoRuleAndNoMemoryGivesALastingYes(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"", "version: 1\nrules: [{tool: 'file:*', where: inside, action: allow}]\n"} {
		r := newRig(t)
		if file != "" {
			r.options = func(o *agenthost.Options) { o.Policy = r.policy(file) }
		}
		r.start()
		var got agenthost.Answer
		for _, turn := range []string{"t1", "t2"} {
			stream := r.startNew("s1", turn, callTool("c1", "Write", `{"path":"a.go"}`), confirmOffered(lasting, &got))
			asked := r.untilPart(stream, "tool-approval-request")
			if w := asked.part.SecurityWarning; w == nil || !strings.Contains(w.Message, `It offers: "Always", "Never"`) {
				t.Errorf("the question is %s", asked.json)
			}
			r.wantCode("the answer", r.host.Answer(t.Context(), "s1", asked.part.ApprovalID,
				&protocol.AnswerRequest{Text: "Always", Remember: "session"}), "")
			r.read(stream)
		}
	}
}
