package opencode_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/opencode"
	"bellhop/agenthost/provider/providertest"
)

// patience is after how long a test is taken to hang.
const patience = 10 * time.Minute

// options returns the options of a provider whose program is the fake.
func options(f *fake) opencode.Options {
	return opencode.Options{
		Find:  func(context.Context) (string, error) { return os.Args[0], nil },
		Env:   []string{target + "=" + f.address(), "ANTHROPIC_API_KEY=dummy"},
		Grace: patience,
		Quiet: time.Hour,
		Now:   func() time.Time { return time.UnixMilli(1000) },
	}
}

func open(t *testing.T, o opencode.Options, spec agenthost.AgentSpec) agenthost.Agent {
	t.Helper()
	spec.SessionID = "s1"
	if spec.Dir == "" {
		spec.Dir, spec.StateDir = t.TempDir(), t.TempDir()
	}
	a, err := opencode.New(o).Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return a
}

// running turn.
type result struct {
	outcome agenthost.Outcome
	err     error
}

// begin runs a prompt in the background.
func begin(t *testing.T, a agenthost.Agent, out *providertest.Recorder) <-chan result {
	t.Helper()
	done := make(chan result, 1)
	go func() {
		outcome, err := a.Run(t.Context(), agenthost.Prompt{TurnID: "t1", Text: "go"}, out)
		out.Finish()
		done <- result{outcome, err}
	}()
	return done
}

// finish waits for the end of a turn and checks the contract of agenthost.Agent.
func finish(t *testing.T, done <-chan result, out *providertest.Recorder, complete bool) agenthost.Outcome {
	t.Helper()
	select {
	case r := <-done:
		if r.err != nil {
			t.Fatal(r.err)
		}
		if broken := out.Broken(complete); len(broken) > 0 {
			t.Errorf("the contract is broken: %q", broken)
		}
		return r.outcome
	case <-time.After(patience):
		t.Fatalf("Run does not return; it shown %q", shown(out))
		return agenthost.Outcome{}
	}
}

func run(t *testing.T, a agenthost.Agent, out *providertest.Recorder) agenthost.Outcome {
	t.Helper()
	return finish(t, begin(t, a, out), out, true)
}

// shown returns the entries of the output, one line each.
func shown(out *providertest.Recorder) []string {
	lines := []string{}
	for _, e := range out.Entries() {
		switch e.Kind {
		case providertest.KindCall:
			lines = append(lines, fmt.Sprintf("call %s %s %s", e.Call.ID, e.Call.Name, e.Call.Input))
		case providertest.KindResult:
			lines = append(lines,
				fmt.Sprintf("result %s %s %s error=%v denied=%v", e.Result.ID, e.Result.Name, e.Result.Output,
					e.Result.IsError, e.Result.Denied))
		case providertest.KindConfirm, providertest.KindAsk:
			lines = append(lines,
				fmt.Sprintf("%s %q %s %s %s %q", e.Kind, e.Question.Prompt, e.Question.ToolCallID, e.Question.ToolName,
					e.Question.Args, e.Question.Options))
		default:
			lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %q", e.Kind, e.Level, e.Text)))
		}
	}
	return lines
}

// object is a JSON object.
type object = map[string]any

// Events with only their necessary members. Times are in ms; 2000 is within the
// turn.

func (f *fake) userMessage(id string) {
	f.emit("message.updated", object{
		"sessionID": f.session,
		"info":      object{"id": id, "sessionID": f.session, "role": "user", "time": object{"created": 2000}},
	})
}

func assistant(session, id string, more object) object {
	info := object{"id": id, "sessionID": session, "role": "assistant", "time": object{"created": 2000}}
	for name, value := range more {
		info[name] = value
	}
	return info
}

func (f *fake) assistantMessage(session, id string, more object) {
	f.emit("message.updated", object{"sessionID": session, "info": assistant(session, id, more)})
}

func textPart(session, message, id, text string, ended bool) object {
	times := object{"start": 2001}
	if ended {
		times["end"] = 2002
	}
	return object{"id": id, "sessionID": session, "messageID": message, "type": "text", "text": text, "time": times}
}

func toolPart(session, message, id, call, tool string, state object) object {
	return object{
		"id": id, "sessionID": session, "messageID": message, "type": "tool", "callID": call, "tool": tool, "state": state,
	}
}

func (f *fake) part(part object) {
	f.emit("message.part.updated", object{"sessionID": part["sessionID"], "part": part})
}

func (f *fake) delta(part, words string) {
	f.emit("message.part.delta", object{"sessionID": f.session, "partID": part, "field": "text", "delta": words})
}

func (f *fake) status(kind string) {
	f.emit("session.status", object{"sessionID": f.session, "status": object{"type": kind}})
}

func (f *fake) idle() {
	f.status("idle")
	f.emit("session.idle", object{"sessionID": f.session})
}

// opening emits the beginning of a turn.
func (f *fake) opening() {
	f.userMessage("msg_1")
	f.status("busy")
	f.assistantMessage(f.session, "msg_2", nil)
}

// completed is an assistant's message that has ended.
var completed = object{"finish": "stop", "time": object{"created": 2000, "completed": 3000}}

// ending emits the end of a successful turn.
func (f *fake) ending() {
	f.assistantMessage(f.session, "msg_2", completed)
	f.status("busy") // arrives before idle and must be ignored
	f.idle()
}

// ask asks for a permission of a running call.
func (f *fake) ask(session, id, call, command string) {
	f.part(toolPart(session, "msg_2", "prt_"+call, call, "bash", object{
		"status": "running", "input": object{"command": command},
	}))
	f.emit("permission.asked", object{
		"id": id, "sessionID": session, "permission": "bash", "patterns": []string{command},
		"metadata": object{"command": command}, "tool": object{"messageID": "msg_2", "callID": call},
	})
}
