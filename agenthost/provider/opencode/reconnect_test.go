package opencode_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/providertest"
	"bellhop/protocol"
)

func encode(t *testing.T, v any) json.RawMessage {
	t.Helper()
	encoded, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}

// kept returns a message as the server stores it.
func kept(info object, parts ...object) object { return object{"info": info, "parts": parts} }

// The stream of a directory ends when OpenCode disposes of its instance. No part of
// it may be shown twice.
func TestMissedEventsAreReadAfterAReconnect(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	out := &providertest.Recorder{}
	f.onPrompt = func() {
		f.opening()
		f.part(textPart(f.session, "msg_2", "prt_1", "", false))
		f.delta("prt_1", "one ")
		f.set(func() {
			f.messages[f.session] = encode(t, []object{
				kept(object{"id": "msg_0", "sessionID": f.session, "role": "assistant", "time": object{
					"created": 10, "completed": 20,
				}},
					textPart(f.session, "msg_0", "prt_0", "of an earlier turn", true)),
				kept(object{"id": "msg_1", "sessionID": f.session, "role": "user", "time": object{"created": 2000}}),
				kept(assistant(f.session, "msg_2", nil), textPart(f.session, "msg_2", "prt_1", "", false)),
			})
		})
		f.cut()
		_ = out.WaitFor(t.Context(), providertest.KindChecking, 2)
		f.delta("prt_1", "three") // "two" was missed
		f.part(textPart(f.session, "msg_2", "prt_1", "one two three", true))
		f.ending()
	}
	wantOutcome(t, run(t, open(t, options(f), agenthost.AgentSpec{}), out), protocol.FinishStop, "", "")
	wantShown(t, out, `text  "one "`, `checking  "true"`, `checking  "false"`, `text  "two three"`,
		`end-text  "one two three"`)
}

func TestAMissedEndOfATurnIsReadAfterAReconnect(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.onPrompt = func() {
		f.opening()
		f.part(textPart(f.session, "msg_2", "prt_1", "", false))
		f.delta("prt_1", "one ")
		f.set(func() {
			delete(f.busy, f.session)
			f.messages[f.session] = encode(t, []object{
				kept(assistant(f.session, "msg_2", completed),
					textPart(f.session, "msg_2", "prt_1", "one two", true),
					toolPart(f.session, "msg_2", "prt_2", "call_1", "read", object{
						"status": "completed", "input": object{"filePath": "x"}, "output": "y",
					})),
			})
		})
		f.cut()
	}
	out := &providertest.Recorder{}
	wantOutcome(t, run(t, open(t, options(f), agenthost.AgentSpec{}), out), protocol.FinishStop, "", "")
	wantShown(t, out, `text  "one "`, `checking  "true"`, `text  "two"`, `end-text  "one two"`,
		`call call_1 read {"filePath":"x"}`, `result call_1 read "y" error=false denied=false`, `checking  "false"`)
}

func TestAfterAReconnectUnlistedPermissionsExpireAndNewOnesAreAsked(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.onPrompt = func() {
		f.opening()
		f.ask(f.session, "per_1", "call_1", "ls")
		f.ask(f.session, "per_2", "call_2", "pwd")
		f.set(func() {
			delete(f.asked, "per_1")
			f.asked["per_3"] = encode(t, object{
				"id": "per_3", "sessionID": f.session, "permission": "webfetch", "metadata": object{"url": "http://x"},
			})
		})
		f.cut()
		f.until(func() bool { return f.called("POST /permission/per_2") && f.called("POST /permission/per_3") })
		for _, call := range []string{"call_1", "call_2"} {
			f.part(toolPart(f.session, "msg_2", "prt_"+call, call, "bash", object{
				"status": "error", "error": "The user rejected permission",
			}))
		}
		f.ending()
	}
	causes := make(chan error, 1)
	var out *providertest.Recorder
	out = &providertest.Recorder{
		Decide: func(ctx context.Context, _ string, q agenthost.Question) (agenthost.Answer, error) {
			if q.ToolCallID == "call_1" {
				<-ctx.Done()
				causes <- context.Cause(ctx)
				return agenthost.Answer{Expired: true}, nil
			}
			// The answer comes only after the reconnect.
			return agenthost.Answer{Approved: true}, out.WaitFor(ctx, providertest.KindChecking, 1)
		},
	}
	wantOutcome(t, run(t, open(t, options(f), agenthost.AgentSpec{}), out), protocol.FinishStop, "", "")
	if cause := <-causes; !errors.Is(cause, agenthost.ErrExpired) {
		t.Errorf("got %v", cause)
	}
	if f.called("POST /permission/per_1") {
		t.Error("an expired permission was answered")
	}
}

func TestAPermissionAnsweredInATerminalExpires(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	out := &providertest.Recorder{}
	f.onPrompt = func() {
		f.opening()
		f.ask(f.session, "per_1", "call_1", "ls")
		_ = out.WaitFor(t.Context(), providertest.KindConfirm, 1)
		f.emit("permission.replied", object{"sessionID": f.session, "requestID": "per_1", "reply": "once"})
		f.part(toolPart(f.session, "msg_2", "prt_call_1", "call_1", "bash", object{"status": "completed", "output": "x"}))
		f.ending()
	}
	wantOutcome(t, run(t, open(t, options(f), agenthost.AgentSpec{}), out), protocol.FinishStop, "", "")
	if f.called("POST /permission") {
		t.Errorf("calls %q", f.calls)
	}
}

func TestABusyTurnContinuesAfterASilence(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	asked := make(chan struct{}, 100)
	f.onCall = func(_ http.ResponseWriter, _, path string) bool {
		if path == "/session/status" {
			asked <- struct{}{}
		}
		return false
	}
	f.onPrompt = func() {
		f.opening()
		f.part(textPart(f.session, "msg_2", "prt_1", "", false))
		f.delta("prt_1", "one ")
		<-asked
		<-asked // the first request is decided
		f.delta("prt_1", "two ")
		f.delta("prt_1", "three")
		f.part(textPart(f.session, "msg_2", "prt_1", "one two three", true))
		f.ending()
	}
	o := options(f)
	o.Quiet = 20 * time.Millisecond
	out := &providertest.Recorder{}
	wantOutcome(t, run(t, open(t, o, agenthost.AgentSpec{}), out), protocol.FinishStop, "", "")
	// What arrives while the provider reads the message after a silence may come in one piece.
	text := ""
	for _, e := range out.Of(providertest.KindText) {
		text += e.Text
	}
	if ended := out.Texts(); text != "one two three" || !slices.Equal(ended, []string{text}) {
		t.Errorf("text %q, ended %q", text, ended)
	}
}

func TestAMissedEndOfATurnIsFoundAfterASilence(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule   string
		kept   func(f *fake) []object
		finish protocol.FinishReason
		words  string
	}{
		{
			"it is over", func(f *fake) []object { return []object{kept(assistant(f.session, "msg_2", completed))} },
			protocol.FinishStop, "",
		},
		{
			"the turn stopped", func(f *fake) []object { return []object{kept(assistant(f.session, "msg_2", nil))} },
			protocol.FinishError, "without a reason",
		},
		{"it never began", func(*fake) []object { return nil }, protocol.FinishError, "did nothing"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			f := newFake(t)
			f.messages[f.session] = encode(t, c.kept(f))
			o := options(f)
			o.Quiet = 20 * time.Millisecond
			wantOutcome(t, run(t, open(t, o, agenthost.AgentSpec{}), &providertest.Recorder{}), c.finish, "", c.words)
		})
	}
}
