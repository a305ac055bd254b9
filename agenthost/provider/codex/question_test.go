package codex_test

import (
	"testing"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/providertest"
)

func TestQuestions(t *testing.T) {
	t.Parallel()
	const (
		input     = "item/tool/requestUserInput"
		questions = `{"threadId":"th","turnId":"t1","itemId":"q1","questions":[{"id":"colour","header":"Colour","question":"Which?","options":[{"label":"Blue"},{"label":"Red"}]}]}`
		elicit    = "mcpServer/elicitation/request"
		tool      = `{"threadId":"th","turnId":"t1","serverName":"bellhop","mode":"form","message":"Allow?","requestedSchema":{"type":"object","properties":{}},"_meta":{"tool_name":"run","tool_params":{"n":2}}}`
	)
	call := func(n string) string {
		return started(`{"type":"mcpToolCall","id":"c` + n +
			`","server":"bellhop","tool":"run","status":"inProgress","arguments":{"n":` + n + `}}`)
	}
	change := `{"type":"fileChange","id":"f1","changes":[{"path":"a","diff":"x"}],"status":"inProgress"}`
	for _, c := range []struct {
		rule, script string
		answer       agenthost.Answer
		call, prompt string // the call and the prompt of the question
		args         string
	}{
		{
			"the agent's own question has its options, the answer its text",
			asking(0, input, questions) + answered(0, `{"answers":{"colour":{"answers":["Blue"]}}}`),
			agenthost.Answer{Text: "Blue"},
			"", "Which?", "",
		},
		{
			"a question that expires stays unanswered",
			asking(0, input, questions) + answered(0, `{"answers":{"colour":{"answers":[]}}}`),
			agenthost.Answer{Expired: true},
			"", "Which?", "",
		},
		{
			"an MCP server's question is tied to the call with its arguments",
			call("1") + call("2") + call("3") + asking(0, elicit, tool) + answered(0, `{"action":"accept"}`),
			agenthost.Answer{Approved: true},
			"c2", "Allow?", `{"n":2}`,
		},
		{
			"a denied MCP call is declined",
			call("2") + asking(0, elicit, tool) + answered(0, `{"action":"decline"}`),
			agenthost.Answer{},
			"c2", "Allow?", `{"n":2}`,
		},
		{
			"permissions are given for the turn only",
			asking(0, "item/permissions/requestApproval",
				`{"threadId":"th","turnId":"t1","itemId":"p1","cwd":"/repo","permissions":{"network":{"enabled":true}}}`) +
				answered(0, `{"permissions":{"network":{"enabled":true}},"scope":"turn"}`),
			agenthost.Answer{Approved: true},
			"p1", "Give the agent these permissions for the turn?", `{"cwd":"/repo","permissions":{"network":{"enabled":true}}}`,
		},
		{
			"denied permissions are none",
			asking(0, "item/permissions/requestApproval",
				`{"threadId":"th","turnId":"t1","itemId":"p1","cwd":"/repo","permissions":{"network":{"enabled":true}}}`) +
				answered(0, `{"permissions":{}}`),
			agenthost.Answer{},
			"p1", "Give the agent these permissions for the turn?", `{"cwd":"/repo","permissions":{"network":{"enabled":true}}}`,
		},
		{
			"a command's connection is asked for with its host",
			started(command) + asking(0, approve,
				`{"threadId":"th","turnId":"t1","itemId":"c1","networkApprovalContext":{"host":"example.org","protocol":"https"}}`) +
				answered(0, `{"decision":"decline"}`),
			agenthost.Answer{},
			"c1", "Connect to example.org?", `{"command":"touch x","cwd":"/repo","url":"https://example.org"}`,
		},
		{
			"a wider root is shown with the change",
			started(change) + asking(0, "item/fileChange/requestApproval",
				`{"threadId":"th","turnId":"t1","itemId":"f1","grantRoot":"/","reason":"outside"}`) +
				answered(0, `{"decision":"accept"}`),
			agenthost.Answer{Approved: true},
			"f1", "Change these files, and any others in /?\noutside", `{"changes":[{"diff":"x","path":"a"}],"grantRoot":"/"}`,
		},
	} {
		t.Run(c.rule, func(t *testing.T) {
			f := newFixture(t, begun+c.script+turnCompleted)
			out := providertest.Answering(c.answer)
			f.Want(f.Run(out, "hello"), providertest.Finished)
			asked := append(out.Of(providertest.KindConfirm), out.Of(providertest.KindAsk)...)
			if len(asked) != 1 {
				t.Fatalf("asked %+v", asked)
			}
			q := asked[0].Question
			if q.Prompt != c.prompt || q.ToolCallID != c.call || string(q.Args) != c.args {
				t.Errorf("asked %+v with %s", q, q.Args)
			}
		})
	}
}

func TestTheRecommendedOptionIsTheDefault(t *testing.T) {
	t.Parallel()
	const questions = `{"threadId":"th","turnId":"t1","itemId":"q1","questions":[` +
		`{"id":"a","question":"Which?","options":[{"label":"Blue (Recommended)"},{"label":"Red"}]},` +
		`{"id":"b","question":"And?","options":[{"label":"Blue"},{"label":"Red"}]}]}`
	f := newFixture(t, begun+asking(0, "item/tool/requestUserInput", questions)+
		answered(0, `{"answers":{"a":{"answers":["Red"]},"b":{"answers":["Red"]}}}`)+turnCompleted)
	out := providertest.Answering(agenthost.Answer{Text: "Red"})
	f.Want(f.Run(out, "hello"), providertest.Finished)
	asked := out.Of(providertest.KindAsk)
	if len(asked) != 2 || asked[0].Question.Default != "Blue (Recommended)" || asked[1].Question.Default != "" {
		t.Errorf("asked %+v", asked)
	}
}

func TestQuestionsThatCannotBeAskedAreRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t, begun+
		asking(0, "mcpServer/elicitation/request",
			`{"threadId":"th","serverName":"s","mode":"form","message":"Your name?","requestedSchema":{"properties":{"name":{}}}}`)+
		answered(0, `{"action":"decline"}`)+
		asking(1, "attestation/generate", `{}`)+`{"dir":"in","msg":{"id":1,"error":{"code":-32601}}}`+"\n"+
		asking(2, approve, `[]`)+answered(2, `{"decision":"cancel"}`)+turnCompleted)
	f.Want(f.Run(&providertest.Recorder{}, "hello"), providertest.Finished)
}
