package opencode_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/providertest"
	"bellhop/internal/servers"
	"bellhop/protocol"
)

func wantOutcome(t *testing.T, got agenthost.Outcome, finish protocol.FinishReason, reason, words string) {
	t.Helper()
	if got.FinishReason != finish || got.Reason != reason || !strings.Contains(got.Err, words) {
		t.Errorf("got outcome %+v, want %s %s %s", got, finish, reason, words)
	}
}

func wantShown(t *testing.T, out *providertest.Recorder, want ...string) {
	t.Helper()
	got := slices.DeleteFunc(shown(out), func(s string) bool {
		return strings.HasPrefix(s, "agent-session") || strings.HasPrefix(s, "restored")
	})
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// OpenCode keeps a permission after an abort, and an answer would still run the
// tool.
func TestALateAnswerAfterAnAbortRunsNoTool(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.onPrompt = func() {
		f.opening()
		f.ask(f.session, "per_1", "call_1", "rm -r x")
		f.until(func() bool { return f.called("POST /session/abort") })
		f.ask(f.session, "per_late", "call_2", "rm -r y") // asked during the abort
		f.assistantMessage(f.session, "msg_2", object{"error": object{"name": "MessageAbortedError"}})
		f.idle()
	}
	out := &providertest.Recorder{}
	a := open(t, options(f), agenthost.AgentSpec{})
	done := begin(t, a, out)
	if err := out.WaitFor(t.Context(), providertest.KindConfirm, 1); err != nil {
		t.Fatal(err)
	}
	if err := a.Interrupt(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantOutcome(t, finish(t, done, out, false), protocol.FinishOther, protocol.ReasonAborted, "")
	f.mu.Lock()
	defer f.mu.Unlock()
	reject := slices.Index(f.calls, `POST /permission/per_1/reply {"reply":"reject"}`)
	abort := slices.Index(f.calls, "POST /session/abort")
	if reject < 0 || abort < reject || len(f.asked) > 0 || len(f.ranTools) > 0 {
		t.Errorf("calls %q, still asked %v, ran %q", f.calls, f.asked, f.ranTools)
	}
}

// A prompt is accepted before its work begins: an abort in between stops nothing.
func TestAnAbortBeforeTheTurnOpensIsRepeatedUntilItStops(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	var aborts atomic.Int32
	f.onCall = func(_ http.ResponseWriter, method, path string) bool {
		if path == "/session/abort" {
			if aborts.Add(1) == 1 { // too early: the turn begins afterwards
				f.set(func() { f.busy[f.session] = json.RawMessage(`{"type":"busy"}`) })
			} else {
				f.set(func() { delete(f.busy, f.session) })
			}
		}
		return false
	}
	out := &providertest.Recorder{}
	a := open(t, options(f), agenthost.AgentSpec{})
	done := begin(t, a, out)
	f.until(func() bool { return len(f.prompts) == 1 })
	if err := a.Interrupt(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantOutcome(t, finish(t, done, out, false), protocol.FinishOther, protocol.ReasonAborted, "")
	if aborts.Load() < 2 {
		t.Errorf("%d aborts", aborts.Load())
	}
}

func TestASecondIdleDoesNotEndTheNextTurn(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	turns := 0
	f.onPrompt = func() {
		if turns++; turns == 1 {
			f.opening()
			f.emit("session.error", object{
				"sessionID": f.session, "error": object{"name": "APIError", "data": object{"message": "mock error 401"}},
			})
			f.idle()
			f.assistantMessage(f.session, "msg_2", object{
				"error": object{"name": "APIError", "data": object{"message": "mock error 401"}},
			})
			return
		}
		f.idle() // of the first turn
		f.emit("session.error", object{"sessionID": f.session, "error": object{"name": "UnknownError"}})
		f.idle()
		f.userMessage("msg_3")
		f.idle()
		f.assistantMessage(f.session, "msg_4", nil)
		f.part(textPart(f.session, "msg_4", "prt_1", "well", true))
		f.assistantMessage(f.session, "msg_4", completed)
		f.idle()
	}
	a := open(t, options(f), agenthost.AgentSpec{})
	wantOutcome(t, run(t, a, &providertest.Recorder{}), protocol.FinishError, "", "mock error 401")
	out := &providertest.Recorder{}
	wantOutcome(t, run(t, a, out), protocol.FinishStop, "", "")
	wantShown(t, out, `text  "well"`, `end-text  "well"`)
}

func TestASpuriousBusyIsIgnored(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.onPrompt = func() {
		f.status("busy")
		f.idle()
		f.opening()
		f.part(textPart(f.session, "msg_2", "prt_1", "well", true))
		f.ending()
	}
	out := &providertest.Recorder{}
	wantOutcome(t, run(t, open(t, options(f), agenthost.AgentSpec{}), out), protocol.FinishStop, "", "")
	wantShown(t, out, `text  "well"`, `end-text  "well"`)
}

// A rejection without a message would end the turn, and "always" would apply to
// every session of the server.
func TestADenialHasAMessageAndAnApprovalCountsOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule   string
		answer agenthost.Answer
		want   string
	}{
		{"approved", agenthost.Answer{Approved: true}, `{"reply":"once"}`},
		{"denied with a reason", agenthost.Answer{Reason: "use y"}, `{"reply":"reject","message":"use y"}`},
		{
			"denied without one",
			agenthost.Answer{},
			`{"reply":"reject","message":"The user denied this. Do not try it again. Continue without it, or explain why you cannot."}`,
		},
		{
			"expired",
			agenthost.Answer{Expired: true},
			`{"reply":"reject","message":"No answer came in time, so this was not allowed. Continue without it, or explain why you cannot."}`,
		},
	} {
		t.Run(c.rule, func(t *testing.T) {
			f := newFake(t)
			f.onPrompt = func() {
				f.opening()
				f.ask(f.session, "per_1", "call_1", "rm -r x")
				f.until(func() bool { return f.called("POST /permission") })
				f.part(toolPart(f.session, "msg_2", "prt_call_1", "call_1", "bash", object{"status": "completed", "output": ""}))
				f.ending()
			}
			out := providertest.Answering(c.answer)
			run(t, open(t, options(f), agenthost.AgentSpec{}), out)
			if q := out.Of(providertest.KindConfirm)[0].Question; q.Prompt != "Run the command: rm -r x" ||
				q.ToolCallID != "call_1" {
				t.Errorf("asked %+v", q)
			}
			if got := f.calls[len(f.calls)-1]; got != "POST /permission/per_1/reply "+c.want {
				t.Errorf("got %s", got)
			}
		})
	}
}

// OpenCode rejects all pending permissions of a session together.
func TestADenialDoesNotRejectAnApproval(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.onPrompt = func() {
		f.opening()
		f.ask(f.session, "per_1", "call_1", "rm -r x")
		f.ask(f.session, "per_2", "call_2", "ls")
		f.until(func() bool { return f.called("POST /permission/per_1") })
		for _, call := range []string{"call_1", "call_2"} {
			f.part(toolPart(f.session, "msg_2", "prt_"+call, call, "bash", object{"status": "completed", "output": "x"}))
		}
		f.ending()
	}
	asked, denied := make(chan struct{}), make(chan struct{})
	out := &providertest.Recorder{
		Decide: func(_ context.Context, _ string, q agenthost.Question) (agenthost.Answer, error) {
			if q.ToolCallID == "call_1" {
				<-asked // both are open when the first is denied
				close(denied)
				return agenthost.Answer{Reason: "no"}, nil
			}
			close(asked)
			<-denied
			return agenthost.Answer{Approved: true}, nil
		},
	}
	run(t, open(t, options(f), agenthost.AgentSpec{}), out)
	if !slices.Equal(f.ranTools, []string{"per_2"}) || !f.called(`POST /permission/per_1/reply {"reply":"reject"`) {
		t.Errorf("calls %q, ran %q", f.calls, f.ranTools)
	}
}

func TestASubAgentAsksForPermissionAndItsIdleIsIgnored(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.onPrompt = func() {
		f.opening()
		f.emit("session.created", object{
			"sessionID": "ses_c", "info": object{"id": "ses_c", "parentID": f.session, "title": "search"},
		})
		f.emit("message.updated", object{"info": assistant("ses_c", "msg_c", nil)})
		f.part(toolPart("ses_c", "msg_c", "prt_c", "call_1", "bash", object{
			"status": "running", "input": object{"command": "ls"},
		}))
		f.emit("permission.asked", object{
			"id": "per_c", "sessionID": "ses_c", "permission": "bash",
			"metadata": object{"command": "ls"}, "tool": object{"messageID": "msg_c", "callID": "call_1"},
		})
		f.until(func() bool { return f.called("POST /permission/per_c/reply") })
		f.part(toolPart("ses_c", "msg_c", "prt_c", "call_1", "bash", object{"status": "completed", "output": "x"}))
		f.part(textPart("ses_c", "msg_c", "prt_d", "found x", true))
		f.emit("session.idle", object{"sessionID": "ses_c"})
		f.part(textPart(f.session, "msg_2", "prt_1", "well", true))
		f.ending()
	}
	out := providertest.Answering(agenthost.Answer{Approved: true})
	wantOutcome(t, run(t, open(t, options(f), agenthost.AgentSpec{}), out), protocol.FinishStop, "", "")
	wantShown(t, out,
		`call call_1 bash {"command":"ls"}`, `confirm "Run the command: ls" call_1 bash {"command":"ls"} []`,
		`result call_1 bash "x" error=false denied=false`, `notice info "search: found x"`,
		`text  "well"`, `end-text  "well"`)
}

func TestAProbeWithAPageOrNoResponseIsNotHealthy(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	var probes atomic.Int32
	f.onCall = func(w http.ResponseWriter, _, path string) bool {
		if path != "/global/health" {
			return false
		}
		switch probes.Add(1) {
		case 1: // the web client is the response to every unknown path
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte("<!doctype html>"))
		case 2: // before the routes exist a request gets no response
			<-f.t.Context().Done()
		default:
			return false
		}
		return true
	}
	f.onPrompt = func() { f.opening(); f.ending() }
	o := options(f)
	o.Servers = servers.New(servers.Options{ProbeTimeout: 100 * time.Millisecond})
	wantOutcome(t, run(t, open(t, o, agenthost.AgentSpec{}), &providertest.Recorder{}), protocol.FinishStop, "", "")
	if probes.Load() < 3 {
		t.Errorf("%d probes", probes.Load())
	}
}

func TestAToolInterruptedByAKillGetsAResult(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.onPrompt = func() {
		f.opening()
		f.part(toolPart(f.session, "msg_2", "prt_1", "call_1", "bash", object{
			"status": "running", "input": object{"command": "sleep"},
		}))
	}
	o := options(f)
	o.Servers = servers.New(servers.Options{})
	out := &providertest.Recorder{}
	a := open(t, o, agenthost.AgentSpec{})
	done := begin(t, a, out)
	if err := out.WaitFor(t.Context(), providertest.KindCall, 1); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(o.Servers.List()[0].Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	wantOutcome(t, finish(t, done, out, true), protocol.FinishError, protocol.ReasonAgentExited, "killed")
	f.set(func() { f.onPrompt = func() { f.opening(); f.ending() } })
	wantOutcome(t, run(t, a, &providertest.Recorder{}), protocol.FinishStop, "", "")
}

func TestAProgramThatExitsAtOnceBeginsNoTurn(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	o := options(f)
	o.Env = append(o.Env, behaviour+"=dies")
	_, err := open(t, o, agenthost.AgentSpec{}).Run(t.Context(), agenthost.Prompt{Text: "go"}, &providertest.Recorder{})
	if err == nil || !strings.Contains(err.Error(), "panic: oh no") {
		t.Errorf("got %v", err)
	}
}

func TestAMissingProgramIsTheErrorOfRun(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	o := options(f)
	missing := errors.New("bellhop agents install opencode")
	o.Find = func(context.Context) (string, error) { return "", missing }
	if _, err := open(t, o, agenthost.AgentSpec{}).Run(t.Context(), agenthost.Prompt{Text: "go"},
		&providertest.Recorder{}); !errors.Is(err, missing) {
		t.Errorf("got %v", err)
	}
}

func TestTooManyFailuresOfTheModelEndTheTurn(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.onPrompt = func() {
		f.opening()
		f.emit("session.status", object{
			"sessionID": f.session, "status": object{"type": "retry", "attempt": 1, "message": "quota", "next": 3_600_000},
		})
		f.until(func() bool { return f.called("POST /session/abort") })
		f.ending()
	}
	wantOutcome(t, run(t, open(t, options(f), agenthost.AgentSpec{}), &providertest.Recorder{}), protocol.FinishError,
		"", "quota")
}
