package codex_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/providertest"
	"bellhop/protocol"
)

func TestThreads(t *testing.T) {
	t.Parallel()
	resumed := initialize + threadResume + turnStart + delta("m1", "again") + turnCompleted
	replaced := initialize + `{"dir":"in","msg":{"id":2,"method":"thread/resume"}}
{"dir":"out","msg":{"id":2,"error":{"code":-32600,"message":"no rollout found"}}}
{"dir":"in","msg":{"id":3,"method":"thread/start"}}
{"dir":"out","msg":{"id":3,"result":{"thread":{"id":"th"}}}}
{"dir":"in","msg":{"id":4,"method":"turn/start","params":{"threadId":"th","input":[{"type":"text","text":"earlier conversation\n\nhello"}]}}}
{"dir":"out","msg":{"id":4,"result":{"turn":{"id":"t1"}}}}
` + turnCompleted
	for _, c := range []struct {
		rule, sessionID, script string
		want                    []string
	}{
		{
			"the first turn starts a thread and remembers it", "",
			begun + turnCompleted,
			[]string{providertest.KindAgentSession},
		},
		{"an earlier thread is resumed without the record", "th", resumed, nil},
		{
			"an unknown thread is replaced by a new one with the record", "old",
			replaced,
			[]string{providertest.KindAgentSession, providertest.KindRestored},
		},
	} {
		t.Run(c.rule, func(t *testing.T) {
			f := newFixture(t, c.script)
			f.Spec.AgentSessionID = c.sessionID
			out := &providertest.Recorder{Memory: "earlier conversation"}
			f.Want(f.Run(out, "hello"), providertest.Finished)
			var got []string
			for _, e := range out.Entries() {
				if e.Kind == providertest.KindAgentSession || e.Kind == providertest.KindRestored {
					got = append(got, e.Kind)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestATurnAfterStopResumesTheThread(t *testing.T) {
	t.Parallel()
	f := newFixture(t, begun+turnCompleted, initialize+threadResume+turnStart+turnCompleted)
	f.Want(f.Run(&providertest.Recorder{}, "first"), providertest.Finished)
	if err := f.Agent.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	f.Want(f.Run(&providertest.Recorder{}, "second"), providertest.Finished)
}

func TestAProgramThatExitedWhileIdleIsRestarted(t *testing.T) {
	t.Parallel()
	f := newFixture(t, begun+turnCompleted+`{"dir":"in","msg":{"method":"turn/start"}}
{"dir":"exit","msg":0}
`, initialize+threadResume+turnStart+delta("m1", "here")+turnCompleted)
	f.Want(f.Run(&providertest.Recorder{}, "first"), providertest.Finished)
	f.Want(f.Run(&providertest.Recorder{}, "second"), providertest.Finished)
}

func TestACrashIsAnOutcomeWithTheLastLines(t *testing.T) {
	t.Parallel()
	f := newFixture(t, begun+delta("m1", "I die")+started(command)+`{"dir":"stderr","msg":"panic: oh no"}
{"dir":"exit","msg":3}
`, initialize+threadResume+turnStart+turnCompleted)
	out := &providertest.Recorder{}
	f.Want(f.Run(out, "hello"), agenthost.Outcome{
		FinishReason: protocol.FinishError, Reason: protocol.ReasonAgentExited, Err: "panic: oh no",
	})
	if results := out.Of(providertest.KindResult); len(results) != 1 || !results[0].Result.IsError {
		t.Errorf("got %+v", results)
	}
	f.Want(f.Run(&providertest.Recorder{}, "again"), providertest.Finished)
}

func TestAnExitDuringAQuestionExpiresTheQuestion(t *testing.T) {
	t.Parallel()
	f := newFixture(t, begun+started(command)+asking(9, approve, approval)+`{"dir":"exit","msg":3}
`)
	out := &providertest.Recorder{}
	if got := f.Run(out,
		"hello"); got.Reason != protocol.ReasonAgentExited || len(out.Of(providertest.KindConfirm)) != 1 ||
		out.Expired() != 1 {
		t.Errorf("got %+v, %d expired", got, out.Expired())
	}
}

func TestARefusedPromptIsAFailure(t *testing.T) {
	t.Parallel()
	f := newFixture(t, initialize+threadStart+`{"dir":"in","msg":{"id":3,"method":"turn/start"}}
{"dir":"out","msg":{"id":3,"error":{"code":-32600,"message":"too long"}}}
`)
	f.Want(f.Run(&providertest.Recorder{}, "hello"), agenthost.Outcome{
		FinishReason: protocol.FinishError, Err: "too long",
	})
}

func TestInvalidLinesAreReportedAndSkipped(t *testing.T) {
	t.Parallel()
	noise := strings.Repeat(`{"dir":"raw","msg":"{\"no\":\"message\"}"}`+"\n", 4)
	f := newFixture(t, begun+noise+`{"dir":"raw","msg":"  "}`+"\n"+delta("m1", "still here")+turnCompleted)
	out := &providertest.Recorder{}
	f.Want(f.Run(out, "hello"), providertest.Finished)
	if notices := out.Of(providertest.KindNotice); len(notices) != 4 ||
		!slices.Equal(out.Texts(), []string{"still here"}) {
		t.Errorf("got %+v", out.Entries())
	}
}

func TestUsageCountsOnlyTheTurn(t *testing.T) {
	t.Parallel()
	usage := func(turn string, total, last int) string {
		return fmt.Sprintf(`{"dir":"out","msg":{"method":"thread/tokenUsage/updated","params":{"threadId":"th","turnId":%q,`+
			`"tokenUsage":{"total":{"totalTokens":%d},"last":{"totalTokens":%d}}}}}`+"\n", turn, total, last)
	}
	second := `{"dir":"in","msg":{"id":4,"method":"turn/start"}}
{"dir":"out","msg":{"id":4,"result":{"turn":{"id":"t2"}}}}
` + usage("t2", 160, 10) + `{"dir":"out","msg":{"method":"turn/completed","params":{"threadId":"th","turn":{"id":"t2","status":"completed"}}}}
`
	// A resumed thread does not report its earlier cost.
	f := newFixture(t, initialize+threadResume+turnStart+usage("t1", 130, 30)+usage("t1", 150, 20)+turnCompleted+second)
	f.Spec.AgentSessionID = "th"
	for _, want := range []float64{50, 10} {
		var got map[string]any
		outcome := f.Run(&providertest.Recorder{}, "hello")
		if err := json.Unmarshal(outcome.Usage, &got); err != nil || got["totalTokens"] != want {
			t.Errorf("got %s, want %v", outcome.Usage, want)
		}
	}
}

func TestAttachments(t *testing.T) {
	t.Parallel()
	f := newFixture(t, initialize+threadStart+
		`{"dir":"in","msg":{"id":3,"method":"turn/start","params":{"input":[{"type":"text","text":"look"},{"type":"image","url":"data:image/png;base64,AAAA"},{"type":"text","text":"Attached document notes.md:\n\nhi"}]}}}
{"dir":"out","msg":{"id":3,"result":{"turn":{"id":"t1"}}}}
`+turnCompleted)
	out := &providertest.Recorder{}
	outcome, err := f.Begin(out, agenthost.Prompt{Text: "look", Attachments: []protocol.Attachment{
		{Type: "image", MediaType: "image/png", Data: "AAAA"},
		{Type: "video", Data: "BBBB"},
		{Type: "document", MediaType: "text/plain", Name: "notes.md", Data: "aGk="},
		{Type: "document", MediaType: "application/pdf", Name: "plan.pdf", Data: "AAAA"},
	}})()
	if err != nil {
		t.Fatal(err)
	}
	f.Want(outcome, providertest.Finished)
	notices := out.Of(providertest.KindNotice)
	if len(notices) != 2 || !strings.HasSuffix(notices[1].Text, "it was left out: plan.pdf") {
		t.Errorf("got %+v", out.Entries())
	}
}
