package opencode_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/providertest"
)

// workedTurn returns a turn in one line.
func workedTurn(t agenthost.TerminalTurn) string {
	words := []string{t.ID, t.Prompt + ":"}
	for _, i := range t.Items {
		switch {
		case i.Call != nil:
			words = append(words, fmt.Sprintf("call %s %s %s,", i.Call.ID, i.Call.Name, i.Call.Input))
		case i.Result != nil:
			words = append(words,
				fmt.Sprintf("result %s %s error=%t denied=%t,", i.Result.ID, i.Result.Output, i.Result.IsError, i.Result.Denied))
		default:
			words = append(words, i.Text+",")
		}
	}
	return strings.Join(append(words, string(t.Outcome.FinishReason), t.Outcome.Reason, string(t.Outcome.Usage)), " ")
}

func storedTurn(n int, prompt string, end object, parts ...object) []object {
	user, answer := fmt.Sprintf("msg_%d1", n), fmt.Sprintf("msg_%d2", n)
	info := object{"id": answer, "sessionID": ourSession, "role": "assistant", "time": object{"created": 2000}}
	for k, v := range end {
		info[k] = v
	}
	return []object{
		{
			"info":  object{"id": user, "sessionID": ourSession, "role": "user", "time": object{"created": 2000}},
			"parts": []object{{"type": "text", "text": prompt}, {"type": "text", "text": "a file", "synthetic": true}},
		},
		{"info": info, "parts": parts},
	}
}

func TestTurnsOfATerminalClientAreReported(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	worked := make(chan string, 10)
	r := newReports()
	spec := agenthost.AgentSpec{
		Report: r.add, ReportTerminalTurn: func(turn agenthost.TerminalTurn) { worked <- workedTurn(turn) },
	}
	reads := make(chan bool, 100)
	f.onCall = func(_ http.ResponseWriter, method, path string) bool {
		if method+path == "GET/session/message" {
			reads <- true
		}
		return false
	}
	f.onPrompt = func() {
		f.opening()
		f.set(func() { f.messages[ourSession] = encode(t, storedTurn(0, "by the host", completed)) })
		f.ending()
	}
	a := open(t, options(f), spec)
	run(t, a, &providertest.Recorder{})
	if _, err := a.(agenthost.TerminalAgent).Terminal(t.Context()); err != nil {
		t.Fatal(err)
	}
	messages := storedTurn(0, "by the host", completed)
	made := func(turn []object) {
		messages = append(messages, turn...)
		f.set(func() { f.messages[ourSession] = encode(t, messages) })
		f.status("busy")
		f.idle()
	}
	next := func(want string) {
		t.Helper()
		select {
		case got := <-worked:
			if got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		case <-time.After(patience):
			t.Fatal("no turn is reported")
		}
	}
	made(storedTurn(3, "list", completed,
		object{"type": "reasoning", "text": "hm"},
		object{"type": "tool", "tool": "bash", "callID": "c1", "state": object{
			"status": "completed", "input": object{"command": "ls"}, "output": "a",
		}},
		object{"type": "tool", "tool": "write", "callID": "c2", "state": object{
			"status": "error", "error": "The user rejected permission to use it",
		}},
		object{"type": "text", "text": "One file"},
		object{"type": "step-finish", "reason": "stop", "tokens": object{"input": 3, "output": 2}, "cost": 0.01},
	))
	next(`terminal-msg_31 list: call msg_32/c1 bash {"command":"ls"}, result msg_32/c1 "a" error=false denied=false, ` +
		`call msg_32/c2 write {}, result msg_32/c2 "The user rejected permission to use it" error=false denied=true, One file, ` +
		`stop  {"inputTokens":3,"outputTokens":2,"totalTokens":5,"reasoningTokens":0,"cachedInputTokens":0,"costUSD":0.01,"contextTokens":5}`)
	for len(reads) > 0 {
		<-reads
	}
	made(storedTurn(4, "more", object{}, object{"type": "text", "text": "wor"})) // it is idle before its message has ended
	f.idle()
	<-reads
	<-reads // the first read is over
	messages = messages[:4]
	made(storedTurn(4, "more", object{"error": object{"name": "MessageAbortedError"}},
		object{"type": "text", "text": "words"}))
	next("terminal-msg_41 more: words, other aborted ")
	f.set(func() {
		messages = append(messages, storedTurn(5, "unseen", completed)...)
		f.messages[ourSession] = encode(t, messages)
	})
	f.cut() // the events of this turn were missed
	next("terminal-msg_51 unseen: stop  ")
}

// A prompt of the host may come before the end of the terminal's turn was read.
func TestATurnOfATerminalBeforeATurnOfTheHostIsReported(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	worked := make(chan string, 10)
	a := open(t, options(f), agenthost.AgentSpec{
		ReportTerminalTurn: func(turn agenthost.TerminalTurn) { worked <- workedTurn(turn) },
	})
	if _, err := a.(agenthost.TerminalAgent).Terminal(t.Context()); err != nil {
		t.Fatal(err)
	}
	var reading sync.Once
	f.onCall = func(_ http.ResponseWriter, method, path string) bool {
		if method+path == "GET/session/message" {
			reading.Do(func() { // the host's turn begins while the messages are read
				run(t, a, &providertest.Recorder{})
			})
		}
		return false
	}
	own := []object{
		{"info": object{"id": "msg_1", "sessionID": ourSession, "role": "user", "time": object{"created": 2000}}},
		{"info": assistant(ourSession, "msg_2", completed)},
	}
	made := storedTurn(0, "by hand", completed)
	f.onPrompt = func() {
		f.set(func() { f.messages[ourSession] = encode(t, append(slices.Clone(made), own...)) })
		f.opening()
		f.ending()
	}
	f.set(func() { f.messages[ourSession] = encode(t, made) })
	f.status("busy")
	f.idle()
	select {
	case got := <-worked:
		if got != "terminal-msg_01 by hand: stop  " {
			t.Errorf("got %q", got)
		}
	case <-time.After(patience):
		t.Fatal("no turn is reported")
	}
	later := append(slices.Concat(made, own), storedTurn(3, "again", completed)...)
	f.set(func() { f.messages[ourSession] = encode(t, later) })
	f.status("busy")
	f.idle()
	if got := <-worked; got != "terminal-msg_31 again: stop  " {
		t.Errorf("then %q, and not the host's own turn", got)
	}
}
