package opencode_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/providertest"
	"bellhop/internal/servers"
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

// On a busy machine OpenCode needs long to begin what it is asked for, and an abort does not reach it before that.
func TestAPromptThatHasNotBegunIsWaitedFor(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	looked := make(chan struct{}, 100)
	f.onCall = func(_ http.ResponseWriter, _, path string) bool {
		if path == "/session/status" {
			select {
			case looked <- struct{}{}:
			default:
			}
		}
		return false
	}
	f.onPrompt = func() {
		for range 3 {
			select {
			case <-looked:
			case <-f.t.Context().Done(): // the turn has ended before
				return
			}
		}
		f.set(func() {
			f.messages[f.session] = encode(t, []object{kept(assistant(f.session, "msg_2", completed))})
		})
		f.opening()
		f.ending()
	}
	o := options(f)
	o.Quiet = time.Millisecond
	wantOutcome(t, run(t, open(t, o, agenthost.AgentSpec{}), &providertest.Recorder{}), protocol.FinishStop, "", "")
}

func TestAPromptThatWasGivenUpDoesNotRun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule   string
		begins bool // after the interrupt; the program is ended otherwise
	}{{"it begins late", true}, {"it does not begin", false}} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			aborts, begun := make(chan struct{}, 100), make(chan struct{})
			f.onCall = func(w http.ResponseWriter, _, path string) bool {
				if path != "/session/abort" {
					return false
				}
				select {
				case aborts <- struct{}{}:
				default:
				}
				select {
				case <-begun: // an abort reaches what runs
					f.set(func() { delete(f.busy, f.session) })
				default:
				}
				reply(w, `true`)
				return true
			}
			f.onPrompt = func() {
				if !c.begins {
					return
				}
				for range 3 {
					select {
					case <-aborts:
					case <-f.t.Context().Done(): // the turn has ended before
						return
					}
				}
				f.opening()
				close(begun)
			}
			o := options(f)
			o.Servers = servers.New(servers.Options{})
			o.Grace = time.Second
			if c.begins {
				o.Grace = time.Minute
			}
			out := &providertest.Recorder{}
			a := open(t, o, agenthost.AgentSpec{})
			done := begin(t, a, out)
			f.until(func() bool { return len(f.prompts) == 1 })
			if err := a.Interrupt(t.Context()); err != nil {
				t.Fatal(err)
			}
			wantOutcome(t, finish(t, done, out, false), protocol.FinishOther, protocol.ReasonAborted, "")
			if c.begins {
				f.mu.Lock()
				defer f.mu.Unlock()
				if _, busy := f.busy[f.session]; busy || f.running != nil || len(o.Servers.List()) == 0 {
					t.Errorf("busy %v, the prompt is open: %t, programs %v", f.busy, f.running != nil, o.Servers.List())
				}
				return
			}
			ended := time.Now().Add(time.Minute) // the list follows the end of the program
			for len(o.Servers.List()) > 0 {
				if time.Sleep(time.Millisecond); time.Now().After(ended) {
					t.Fatalf("programs %v", o.Servers.List())
				}
			}
		})
	}
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
