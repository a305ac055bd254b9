package opencode_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/providertest"
	"bellhop/protocol"
)

func TestAnInterruptWhileTheProgramStartsEndsTheTurn(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	o := options(f)
	starting := make(chan struct{})
	o.Find = func(ctx context.Context) (string, error) {
		close(starting)
		<-ctx.Done()
		return "", ctx.Err()
	}
	out := &providertest.Recorder{}
	a := open(t, o, agenthost.AgentSpec{})
	done := begin(t, a, out)
	<-starting
	if err := a.Interrupt(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantOutcome(t, finish(t, done, out, true), protocol.FinishOther, protocol.ReasonAborted, "")
}

func TestAProgramThatIgnoresTheAbortIsEnded(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.onPrompt = f.opening
	f.onCall = func(_ http.ResponseWriter, _, path string) bool {
		if path == "/session/abort" {
			<-f.t.Context().Done()
			return true
		}
		return false
	}
	o := options(f)
	o.Grace = 100 * time.Millisecond
	out := &providertest.Recorder{}
	a := open(t, o, agenthost.AgentSpec{}).(agenthost.TerminalAgent)
	done := begin(t, a, out)
	f.until(func() bool { return len(f.prompts) == 1 })
	if err := a.Interrupt(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantOutcome(t, finish(t, done, out, false), protocol.FinishOther, protocol.ReasonAborted, "")
	f.set(func() { f.onPrompt = func() { f.opening(); f.ending() } })
	wantOutcome(t, run(t, a, &providertest.Recorder{}), protocol.FinishStop, "", "")
}

// The metadata of a tool have no fixed shape, and neither have the properties of
// unknown events.
func TestUnknownShapesLoseNoResult(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.onPrompt = func() {
		f.opening()
		f.emit("pty.created", object{"sessionID": 1, "status": "running", "info": []string{}})
		f.part(toolPart(f.session, "msg_2", "prt_1", "call_1", "other", object{
			"status": "running", "input": object{}, "metadata": []int{1},
		}))
		f.part(toolPart(f.session, "msg_2", "prt_1", "call_1", "other", object{
			"status": "completed", "output": "x", "metadata": object{"exit": "no"},
		}))
		f.ending()
	}
	out := &providertest.Recorder{}
	wantOutcome(t, run(t, open(t, options(f), agenthost.AgentSpec{}), out), protocol.FinishStop, "", "")
	wantShown(t, out, `call call_1 other {}`, `result call_1 other "x" error=false denied=false`)
}

// A model may restart the numbering of its calls in every step.
func TestCallsWithTheSameIDAreDistinguished(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.onPrompt = func() {
		f.opening()
		f.part(toolPart(f.session, "msg_2", "prt_1", "call", "read", object{"status": "completed", "output": "x"}))
		f.assistantMessage(f.session, "msg_3", nil)
		f.part(toolPart(f.session, "msg_3", "prt_2", "call", "read", object{"status": "completed", "output": "y"}))
		f.assistantMessage(f.session, "msg_3", completed)
		f.idle()
	}
	out := &providertest.Recorder{}
	run(t, open(t, options(f), agenthost.AgentSpec{}), out)
	wantShown(t, out,
		`call call read {}`, `result call read "x" error=false denied=false`,
		`call call~2 read {}`, `result call~2 read "y" error=false denied=false`)
}
