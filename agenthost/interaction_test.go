package agenthost_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"bellhop/agenthost"
	"bellhop/protocol"
)

func yes() *bool { v := true; return &v }
func no() *bool  { v := false; return &v }

// untilPart reads frames up to the first of a type.
func (r *rig) untilPart(stream *agenthost.Stream, kind string) frame {
	r.Helper()
	for {
		f, ok := r.next(stream)
		if !ok {
			r.Fatalf("no %s came", kind)
		}
		if f.part.Type == kind {
			return f
		}
	}
}

func withoutTimes(lines []string, drop string) []string {
	var out []string
	for _, l := range lines {
		if !strings.Contains(l, drop) {
			out = append(out, l[strings.Index(l, " ")+1:])
		}
	}
	return out
}

func TestAPermissionIsAskedAnsweredAndReported(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		answer protocol.AnswerRequest
		parts  []string
		events []string
	}{
		{
			"approved",
			protocol.AnswerRequest{Approved: yes()},
			[]string{"tool-approval-response", "tool-result", "finish"},
			[]string{
				"t1 status busy ", "t1 tool-call c1", "t1 interaction confirm open", "t1 status idle waiting",
				"t1 interaction confirm resolved ", "t1 status busy ", "t1 tool-result c1", "t1 finish stop ", "t1 status idle ",
			},
		},
		{
			"denied",
			protocol.AnswerRequest{Approved: no(), Reason: "not now"},
			[]string{"tool-approval-response", "tool-output-denied", "finish"},
			[]string{
				"t1 status busy ", "t1 tool-call c1", "t1 interaction confirm open", "t1 status idle waiting",
				"t1 interaction confirm resolved not now", "t1 status busy ", "t1 tool-result c1 denied",
				"t1 finish stop ", "t1 status idle ",
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t).start()
			stream := r.startNew("s1", "t1", callTool("c1", "rm", `{"path":"x"}`), confirm("c1", "rm"))
			asked := r.untilPart(stream, "tool-approval-request")
			if asked.part.ToolCall == nil || asked.part.ToolCall.ToolCallID != "c1" ||
				string(asked.part.ToolCall.Input) != `{"path":"x"}` {
				t.Errorf("the request is about %s", asked.json)
			}
			id := asked.part.ApprovalID
			r.wantCode("neither yes nor no", r.host.Answer(t.Context(), "s1", id, &protocol.AnswerRequest{Text: "hm"}),
				protocol.CodeInvalid)
			r.wantCode("another id", r.host.Answer(t.Context(), "s1", "nope", &c.answer), protocol.CodeNotFound)
			r.wantCode("the first answer", r.host.Answer(t.Context(), "s1", id, &c.answer), "")
			r.wantCode("the same again", r.host.Answer(t.Context(), "s1", id, &c.answer), "")
			opposite := protocol.AnswerRequest{Approved: no()}
			if !*c.answer.Approved {
				opposite.Approved = yes()
			}
			r.wantCode("another answer", r.host.Answer(t.Context(), "s1", id, &opposite), protocol.CodeAnswered)
			rest := r.read(stream)
			wantLines(t, "parts", types(rest), c.parts)
			if rest[0].part.ApprovalID != id || rest[0].part.Approved == nil || *rest[0].part.Approved != *c.answer.Approved {
				t.Errorf("the response: %s", rest[0].json)
			}
			r.delivered()
			wantLines(t, "events", withoutTimes(summary(r.broker.of("s1")), "\x00"), c.events)
		})
	}
}

func TestAnAllowedToolIsNotAskedAgainInTheSession(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	script := []step{callTool("c1", "rm", `{}`), confirm("c1", "rm")}
	stream := r.startNew("s1", "t1", script...)
	id := r.untilPart(stream, "tool-approval-request").part.ApprovalID
	if err := r.host.Answer(t.Context(), "s1", id,
		&protocol.AnswerRequest{Approved: yes(), Remember: "session"}); err != nil {
		t.Fatal(err)
	}
	r.read(stream)
	wantLines(t, "the next turn", types(r.turn("s1", "t2", script...)), []string{"tool-call", "tool-result", "finish"})
	r.stop()
	r.start()
	wantLines(t, "after a restart", types(r.turn("s1", "t3", script...)), []string{"tool-call", "tool-result", "finish"})
	stream = r.startNew("s1", "t4", callTool("c1", "curl", `{}`), confirm("c1", "curl"))
	r.untilPart(stream, "tool-approval-request")
	if err := r.host.Interrupt(t.Context(), "s1", ""); err != nil {
		t.Fatal(err)
	}
}

func TestAQuestionExpires(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.options = func(o *agenthost.Options) { o.InteractionTimeout = 20 * time.Millisecond }
	r.start()
	frames := r.turn("s1", "t1", callTool("c1", "rm", `{}`), confirm("c1", "rm"), ask("why?"))
	wantLines(t, "parts", types(frames), []string{
		"tool-call", "tool-approval-request", "tool-approval-response", "tool-output-denied",
		"data-ask", "data-answer", "text-start", "text-delta", "text-end", "finish",
	})
	r.wantCode("an answer after that",
		r.host.Answer(t.Context(), "s1", frames[1].part.ApprovalID, &protocol.AnswerRequest{Approved: yes()}),
		protocol.CodeExpired)
	r.delivered()
	events := summary(r.broker.of("s1"))
	if !slices.ContainsFunc(events, func(l string) bool { return strings.Contains(l, "interaction confirm expired") }) {
		t.Errorf("events: %q", events)
	}
}

func TestAFreeQuestionIsAnswered(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	stream := r.startNew("s1", "t1", ask("Which one?"))
	asked := r.untilPart(stream, "data-ask")
	if string(asked.part.Data) != `{"prompt":"Which one?"}` {
		t.Errorf("asked: %s", asked.json)
	}
	if err := r.host.Answer(t.Context(), "s1", asked.part.ID, &protocol.AnswerRequest{Text: "the second"}); err != nil {
		t.Fatal(err)
	}
	rest := r.read(stream)
	wantLines(t, "parts", types(rest), []string{"data-answer", "text-start", "text-delta", "text-end", "finish"})
	if *rest[2].part.Text != "You said the second" {
		t.Errorf("the agent got %s", rest[2].json)
	}
}

func TestAnInterruptSettlesQuestionsDeniesCallsAndFinishes(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	stream := r.startNew("s1", "t1", writeText("thinking"), callTool("c1", "rm", `{}`), confirm("c1", "rm"))
	id := r.untilPart(stream, "tool-approval-request").part.ApprovalID
	if err := r.host.Interrupt(t.Context(), "s1", ""); err != nil {
		t.Fatal(err)
	}
	wantLines(t, "parts", types(r.read(stream)), []string{"tool-approval-response", "tool-output-denied", "abort"})
	r.delivered()
	wantLines(t, "events", withoutTimes(summary(r.broker.of("s1")), " status "), []string{
		"t1 text thinking", "t1 tool-call c1", "t1 interaction confirm open",
		"t1 interaction confirm resolved interrupted", "t1 tool-result c1 denied", "t1 finish other aborted",
	})
	r.wantCode("an answer after that", r.host.Answer(t.Context(), "s1", id, &protocol.AnswerRequest{Approved: yes()}),
		protocol.CodeAnswered)
	if err := r.host.Interrupt(t.Context(), "s1", ""); err != nil {
		t.Errorf("an idle session: %v", err)
	}
}

func TestAnInterruptStopsAWorkingAgent(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	stream := r.startNew("s1", "t1", writeText("half a sen"), forever)
	r.readN(stream, 2)
	if err := r.host.Interrupt(t.Context(), "s1", ""); err != nil {
		t.Fatal(err)
	}
	wantLines(t, "parts", types(r.read(stream)), []string{"text-end", "abort"})
	r.delivered()
	wantLines(t, "events", withoutTimes(summary(r.broker.of("s1")), " status "), []string{
		"t1 text half a sen", "t1 finish other aborted",
	})
}
