package acp_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/providertest"
	"bellhop/protocol"
)

func TestChoices(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule, options, outcome string
		approved, denied       bool
		picked                 int
	}{
		{"yes is once, never always", usual, `{"outcome":"selected","optionId":"y"}`, true, false, 0},
		{"no is once", usual, `{"outcome":"selected","optionId":"n"}`, false, true, 0},
		{
			"a lasting yes is what a person picked", `[{"kind":"allow_always","name":"Always","optionId":"a"}]`,
			`{"outcome":"selected","optionId":"a"}`, true, false, 1,
		},
		{
			"a lasting no is what a person picked",
			`[{"kind":"allow_once","name":"Yes","optionId":"y"},{"kind":"reject_always","name":"Never","optionId":"n"}]`,
			`{"outcome":"selected","optionId":"n"}`, false, true, 1,
		},
		{
			"an action that cannot be allowed once is not allowed", `[{"kind":"allow_always","name":"Always","optionId":"a"}]`,
			notDecided, true, false, 0,
		},
		{
			"an action that cannot be rejected once is rejected always",
			`[{"kind":"allow_once","name":"Yes","optionId":"y"},{"kind":"reject_always","name":"Never","optionId":"n"}]`,
			`{"outcome":"selected","optionId":"n"}`, false, true, 0,
		},
		{
			"an action that cannot be rejected is cancelled", `[{"kind":"allow_once","name":"Yes","optionId":"y"}]`,
			notDecided, false, true, 0,
		},
	} {
		t.Run(c.rule, func(t *testing.T) {
			f := newFixture(t, begun+asking(0, c.options)+answered(0, c.outcome)+updated(completed)+ended)
			out := providertest.Answering(agenthost.Answer{Approved: c.approved, Picked: c.picked})
			f.Want(f.Run(out, "hello"), providertest.Finished)
			if results := out.Of(providertest.KindResult); len(results) != 1 || results[0].Result.Denied != c.denied {
				t.Errorf("got %+v", out.Entries())
			}
			notices := out.Of(providertest.KindNotice)
			if want := strings.HasPrefix(c.rule, "an action"); (len(notices) == 1) != want {
				t.Errorf("got the notices %+v", notices)
			}
		})
	}
}

func TestAQuestionSaysWhatTheAgentTakes(t *testing.T) {
	t.Parallel()
	always := agenthost.Lasting{Name: "Always", Approves: true}
	for options, want := range map[string]*agenthost.Offered{
		usual: nil,
		`[{"kind":"allow_always","name":"Always","optionId":"a"},{"kind":"reject_once","name":"No","optionId":"n"}]`: {
			No: true, Lasting: []agenthost.Lasting{always},
		},
		`[{"kind":"allow_once","name":"Yes","optionId":"y"},{"kind":"reject_always","name":"","optionId":"never"}]`: {
			Yes: true, Lasting: []agenthost.Lasting{{Name: "never"}},
		},
		`[]`: {},
	} {
		f := newFixture(t, begun+asking(0, options)+`{"dir":"in","msg":{"id":0}}`+"\n"+updated(completed)+ended)
		out := providertest.Answering(agenthost.Answer{})
		f.Want(f.Run(out, "hello"), providertest.Finished)
		if asked := out.Of(providertest.KindConfirm); len(asked) != 1 || !reflect.DeepEqual(asked[0].Question.Offered, want) {
			t.Errorf("%s: got %+v", options, out.Entries())
		}
	}
}

func TestASecondPromptWhileBusyIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t, begun+chunk("busy")+cancelled)
	out := &providertest.Recorder{}
	end := f.Begin(out, agenthost.Prompt{Text: "first"})
	f.Await(out, providertest.KindText)
	if _, err := f.Agent.Run(t.Context(), agenthost.Prompt{Text: "second"}, &providertest.Recorder{}); err == nil {
		t.Error("a second turn began")
	}
	f.Interrupt(end)
}

func TestACancelAnswersOpenAndLaterPermissions(t *testing.T) {
	t.Parallel()
	other := strings.ReplaceAll(asking(1, usual), "c1", "c2")
	late := strings.ReplaceAll(asking(2, usual), "c1", "c3")
	f := newFixture(t, begun+asking(0, usual)+other+
		`{"dir":"ins","msg":[{"id":0,"result":{"outcome":{"outcome":"cancelled"}}},{"id":1,"result":{"outcome":{"outcome":"cancelled"}}},{"method":"session/cancel"}]}`+"\n"+
		late+answered(2, notDecided)+`{"dir":"out","msg":{"id":3,"result":{"stopReason":"cancelled"}}}`+"\n")
	out := &providertest.Recorder{}
	end := f.Begin(out, agenthost.Prompt{Text: "hello"})
	if err := out.WaitFor(t.Context(), providertest.KindConfirm, 2); err != nil {
		t.Fatal(err)
	}
	f.Interrupt(end)
	if calls := out.Of(providertest.KindCall); len(calls) != 2 {
		t.Errorf("got the calls %+v", calls)
	}
}

func TestAPermissionThatTheAgentCancelsIsCancelled(t *testing.T) {
	t.Parallel()
	f := newFixture(t, begun+asking(0, usual)+strings.ReplaceAll(asking(1, usual), "c1", "c2")+
		answered(1, `{"outcome":"selected","optionId":"y"}`)+ // both questions are open by now
		`{"dir":"out","msg":{"method":"$/cancel_request","params":{"requestId":0}}}`+"\n"+
		answered(0, notDecided)+updated(completed)+ended)
	asked, gone := make(chan struct{}), make(chan struct{})
	out := &providertest.Recorder{
		Decide: func(ctx context.Context, _ string, q agenthost.Question) (agenthost.Answer, error) {
			if q.ToolCallID == "c2" {
				<-asked
				return agenthost.Answer{Approved: true}, nil
			}
			close(asked)
			<-ctx.Done()
			close(gone)
			return agenthost.Answer{Approved: true}, nil
		},
	}
	f.Want(f.Run(out, "hello"), providertest.Finished)
	<-gone
}

func TestAPermissionBetweenTurnsIsCancelled(t *testing.T) {
	t.Parallel()
	f := newFixture(t, begun+ended+`{"dir":"gate"}`+"\n"+asking(0, usual)+answered(0, notDecided)+updated(completed)+
		`{"dir":"in","msg":{"id":4,"method":"session/prompt"}}
{"dir":"out","msg":{"id":4,"result":{"stopReason":"end_turn"}}}
`)
	rejected := make(providertest.DebugLog, 1)
	f.Spec.Log = slog.New(rejected)
	out := providertest.Answering(agenthost.Answer{Approved: true})
	f.Want(f.Run(out, "first"), providertest.Finished)
	if err := os.WriteFile(filepath.Join(f.Spec.StateDir, "gate"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	<-rejected
	f.Want(f.Run(silent(t), "second"), providertest.Finished)
	if len(out.Of(providertest.KindConfirm)) > 0 {
		t.Errorf("got %+v", out.Entries())
	}
}

// silent is an output that must stay empty.
func silent(t *testing.T) *providertest.Recorder {
	t.Helper()
	out := &providertest.Recorder{}
	t.Cleanup(func() {
		if len(out.Entries()) > 0 {
			t.Errorf("got %+v", out.Entries())
		}
	})
	return out
}

func TestARejectedCallWithoutAnUpdateIsDeniedBeforeTheNextUpdate(t *testing.T) {
	t.Parallel()
	f := newFixture(t, begun+asking(0, usual)+answered(0, `{"outcome":"selected","optionId":"n"}`)+chunk("I go on")+
		updated(`{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"failed"}`)+ended)
	out := providertest.Answering(agenthost.Answer{})
	f.Want(f.Run(out, "hello"), providertest.Finished)
	var kinds []string
	for _, e := range out.Entries() {
		kinds = append(kinds, e.Kind)
	}
	want := []string{
		providertest.KindAgentSession, providertest.KindCall, providertest.KindConfirm, providertest.KindResult,
		providertest.KindText, providertest.KindEndText,
	}
	if !slices.Equal(kinds, want) {
		t.Errorf("got %q", kinds)
	}
}

func TestTextEndsWithItsMessageItsKindAndATool(t *testing.T) {
	t.Parallel()
	piece := func(kind, id, text string) string {
		return updated(fmt.Sprintf(`{"sessionUpdate":%q,"messageId":%q,"content":{"type":"text","text":%q}}`, kind, id, text))
	}
	f := newFixture(t, begun+
		piece("agent_message_chunk", "m1", "one ")+piece("agent_message_chunk", "m1", "block")+
		piece("agent_message_chunk", "m2", "another")+
		piece("agent_thought_chunk", "m2", "hm")+piece("agent_message_chunk", "m2", "third")+
		updated(`{"sessionUpdate":"tool_call","toolCallId":"c1","kind":"read","status":"in_progress"}`)+updated(completed)+
		piece("agent_message_chunk", "m2", "fourth")+ended)
	out := &providertest.Recorder{}
	f.Want(f.Run(out, "hello"), providertest.Finished)
	if got := out.Texts(); !slices.Equal(got, []string{"one block", "another", "third", "fourth"}) {
		t.Errorf("got the texts %q", got)
	}
}

func TestUpdatesBeforeAPermissionRequestAreShownBeforeIt(t *testing.T) {
	t.Parallel()
	// Without the order of lines, the SDK would run the request concurrently with
	// earlier updates.
	var many strings.Builder
	for range 2000 { // more updates than the SDK's queue holds
		many.WriteString(chunk("x"))
	}
	f := newFixture(t,
		begun+many.String()+asking(0, usual)+answered(0, `{"outcome":"selected","optionId":"y"}`)+updated(completed)+ended)
	out := providertest.Answering(agenthost.Answer{Approved: true})
	f.Want(f.Run(out, "hello"), providertest.Finished)
	if got := out.Texts(); len(got) != 1 || len(got[0]) != 2000 {
		t.Errorf("%d texts", len(got))
	}
}

func TestStopReasons(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		response string
		want     agenthost.Outcome
	}{
		{`"result":{"stopReason":"end_turn"}`, providertest.Finished},
		{`"result":{"stopReason":"max_tokens"}`, agenthost.Outcome{FinishReason: protocol.FinishLength}},
		{`"result":{"stopReason":"max_turn_requests"}`, agenthost.Outcome{FinishReason: protocol.FinishLength}},
		{`"result":{"stopReason":"refusal"}`, agenthost.Outcome{FinishReason: protocol.FinishContentFilter}},
		{`"result":{"stopReason":"cancelled"}`, providertest.Aborted},
		{
			`"error":{"code":-32000,"message":"Authentication required"}`,
			agenthost.Outcome{FinishReason: protocol.FinishError, Err: "Authentication required"},
		},
		{
			`"error":{"code":-32603,"message":"Internal error","data":{"details":"no quota"}}`,
			agenthost.Outcome{FinishReason: protocol.FinishError, Err: "Internal error: no quota"},
		},
	} {
		t.Run(c.response, func(t *testing.T) {
			f := newFixture(t, begun+chunk("hi")+`{"dir":"out","msg":{"id":3,`+c.response+`}}`+"\n")
			f.Want(f.Run(&providertest.Recorder{}, "hello"), c.want)
		})
	}
}

func TestUnknownKindsOfUpdatesAreIgnored(t *testing.T) {
	t.Parallel()
	f := newFixture(t, begun+
		updated(`{"sessionUpdate":"hologram_update","depth":3}`)+
		updated(`{"sessionUpdate":"current_mode_update","currentModeId":"plan"}`)+
		updated(`{"sessionUpdate":"agent_message_chunk","content":{"type":"image","data":"AAAA"}}`)+
		updated(`{"sessionUpdate":"tool_call","title":"no id"}`)+
		updated(`{"sessionUpdate":7}`)+`{"dir":"raw","msg":"Debugger listening"}`+"\n"+
		`{"dir":"out","msg":{"method":"_vendor/thing","params":{}}}`+"\n"+
		`{"dir":"out","msg":{"id":8,"method":"fs/read_text_file","params":{"sessionId":"s","path":"/etc/passwd"}}}
{"dir":"in","msg":{"id":8,"error":"*"}}
`+chunk("still here")+ended)
	out := &providertest.Recorder{}
	f.Want(f.Run(out, "hello"), providertest.Finished)
	if notices := out.Of(providertest.KindNotice); len(notices) != 5 ||
		!slices.Equal(out.Texts(), []string{"still here"}) {
		t.Errorf("got %+v", out.Entries())
	}
}

func TestAnInterruptStopsAStartingProgram(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `{"dir":"in","msg":{"method":"initialize"}}
{"dir":"in","msg":{"method":"never"}}
`)
	asked := make(chan struct{})
	command := f.options.Command
	f.options.Command = func(ctx context.Context) ([]string, error) {
		close(asked)
		return command(ctx)
	}
	end := f.Begin(&providertest.Recorder{}, agenthost.Prompt{Text: "hello"})
	<-asked
	f.Interrupt(end)
}

// A program ignores a cancel that comes before its prompt, and the prompt runs then.
func TestThePromptIsSentBeforeItsCancel(t *testing.T) {
	t.Parallel()
	f := newFixture(t, initialize+`{"dir":"in","msg":{"id":2,"method":"session/load"}}
{"dir":"out","msg":{"id":2,"error":{"code":-32602,"message":"no such session"}}}
{"dir":"in","msg":{"id":3,"method":"session/new"}}
{"dir":"out","msg":{"id":3,"result":{"sessionId":"s"}}}
{"dir":"in","msg":{"id":4,"method":"session/prompt"}}
{"dir":"in","msg":{"method":"session/cancel"}}
{"dir":"out","msg":{"id":4,"result":{"stopReason":"cancelled"}}}
{"dir":"in","msg":{"id":5,"method":"session/prompt"}}
{"dir":"out","msg":{"id":5,"result":{"stopReason":"end_turn"}}}
`)
	f.Spec.AgentSessionID = "s"
	out := &providertest.Recorder{OnRestored: func(ctx context.Context) {
		go func() { _ = f.Agent.Interrupt(t.Context()) }() // the turn's end is awaited below
		<-ctx.Done()
	}}
	f.Want(f.Run(out, "hello"), providertest.Aborted)
	f.Want(f.Run(&providertest.Recorder{}, "again"), providertest.Finished) // the program serves on
}

func TestAProgramThatIgnoresTheCancelIsEndedBySignals(t *testing.T) {
	t.Parallel()
	f := newFixture(t, begun+chunk("on and on")+`{"dir":"in","msg":{"method":"session/cancel"}}
{"dir":"in","msg":{"method":"never"}}
`)
	f.options.Grace = time.Millisecond
	out := &providertest.Recorder{}
	f.InterruptAt(out, providertest.KindText)
}

func TestTheErrorOfCommandIsTheErrorOfRun(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	missing := errors.New("install it: bellhop agents install gemini")
	f.options.Command = func(context.Context) ([]string, error) { return nil, missing }
	if _, err := f.Begin(&providertest.Recorder{}, agenthost.Prompt{Text: "hello"})(); !errors.Is(err, missing) {
		t.Errorf("got %v", err)
	}
}

func TestAProgramThatDoesNotStartIsReportedWithItsLastLines(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `{"dir":"stderr","msg":"needs Node.js 22"}
{"dir":"exit","msg":1}
`)
	_, err := f.Begin(&providertest.Recorder{}, agenthost.Prompt{Text: "hello"})()
	if err == nil || !strings.Contains(err.Error(), "needs Node.js 22") ||
		!strings.Contains(err.Error(), "exit status 1") {
		t.Errorf("got %v", err)
	}
}
