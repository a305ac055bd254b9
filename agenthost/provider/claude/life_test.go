package claude_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/claude"
	"bellhop/agenthost/provider/providertest"
	"bellhop/protocol"
)

const (
	task     = `{"type":"system","subtype":"background_tasks_changed","tasks":[{"task_id":"b1","task_type":"local_bash"}]}`
	noTask   = `{"type":"system","subtype":"background_tasks_changed","tasks":[]}`
	notified = `{"type":"system","subtype":"task_notification","task_id":"b1","status":"completed"}`
)

func TestATurnEndsOnlyWhenAllItsWorkHasEnded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lines    []string
		followUp time.Duration
		shown    []string
	}{
		"a result with a task in the background is not the end": {
			[]string{task, fullText("one"), ends, noTask, notified, begins, fullText("two")},
			0,
			[]string{`end "one"`, `end "two"`},
		},
		"a turn without a prompt follows before the result": {
			[]string{task, fullText("one"), noTask, notified, ends, begins, fullText("two")},
			0,
			[]string{`end "one"`, `end "two"`},
		},
		"a program that reports its state decides": {
			[]string{works, task, fullText("one"), ends, idle, notified, noTask, works, begins, fullText("two"), ends, idle},
			0,
			[]string{`end "one"`, `end "two"`},
		},
		"an idle in the middle, while a task runs, is spurious": {
			[]string{works, task, ends, idle, fullText("one"), notified, noTask, works, begins, fullText("two"), ends, idle},
			0,
			[]string{`end "one"`, `end "two"`},
		},
		"a program that says it is at work is waited for": {
			[]string{works, task, fullText("one"), ends, notified, noTask, begins, fullText("two"), ends, idle},
			time.Nanosecond,
			[]string{`end "one"`, `end "two"`},
		},
		"a turn without a prompt that never comes": {
			[]string{task, fullText("one"), ends, notified, noTask}, time.Nanosecond, []string{`end "one"`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			lines := append([]string{"<", begins, echo}, c.lines...)
			if c.lines[len(c.lines)-1] != idle && c.followUp == 0 {
				lines = append(lines, ends)
			}
			s := open(t, opening{options: claude.Options{FollowUp: c.followUp}}, script(lines...))
			out := &providertest.Recorder{}
			outcome := s.run(t, out)
			if got := shown(out)[1:]; !slices.Equal(got, c.shown) || outcome.FinishReason != protocol.FinishStop {
				t.Errorf("got %q, %+v", got, outcome)
			}
		})
	}
}

// If only the subtype counted, each of them would be a success.
func TestResultsBecomeOutcomes(t *testing.T) {
	t.Parallel()
	failed := func(words string) agenthost.Outcome {
		return agenthost.Outcome{FinishReason: protocol.FinishError, Err: words}
	}
	for name, c := range map[string]struct {
		result string
		want   agenthost.Outcome
	}{
		"is_error behind success": {`"is_error":true,"result":"API Error: 500"`, failed("API Error: 500")},
		"an API status behind success": {
			`"is_error":false,"api_error_status":529,"result":"Overloaded"`, failed("Overloaded"),
		},
		"a terminal reason behind success": {
			`"is_error":false,"terminal_reason":"prompt_too_long"`, failed("The agent reports an error (prompt_too_long)"),
		},
		"errors without a result": {
			`"is_error":true,"errors":["a","b"],"terminal_reason":"max_turns"`, failed("a\nb (max_turns)"),
		},
		"an abort that is marked an error": {
			`"is_error":true,"terminal_reason":"aborted_tools"`,
			agenthost.Outcome{FinishReason: protocol.FinishOther, Reason: protocol.ReasonAborted},
		},
		"a hook stopped it": {
			`"terminal_reason":"hook_stopped","stop_reason":"end_turn"`, agenthost.Outcome{FinishReason: protocol.FinishStop},
		},
		"the model has no more room": {
			`"terminal_reason":"completed","stop_reason":"max_tokens"`, agenthost.Outcome{FinishReason: protocol.FinishLength},
		},
		"the model refuses": {
			`"stop_reason":"refusal"`, agenthost.Outcome{FinishReason: protocol.FinishContentFilter},
		},
		"an old version without the reasons": {`"is_error":false`, agenthost.Outcome{}},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, opening{}, script("<", begins, echo, `{"type":"result","subtype":"success",`+c.result+`}`))
			got := s.run(t, &providertest.Recorder{})
			if got.FinishReason != c.want.FinishReason || got.Reason != c.want.Reason || got.Err != c.want.Err {
				t.Errorf("got %+v", got)
			}
		})
	}
	t.Run("an error is not taken back by the turn that follows", func(t *testing.T) {
		s := open(t, opening{},
			script("<", begins, task, `{"type":"result","is_error":true,"result":"no"}`, notified, noTask, begins, ends))
		if got := s.run(t, &providertest.Recorder{}); got.FinishReason != protocol.FinishError || got.Err != "no" {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("usage includes turns without a prompt, and cached tokens", func(t *testing.T) {
		s := open(t, opening{},
			script("<", begins, task,
				`{"type":"result","usage":{"input_tokens":1,"cache_read_input_tokens":2,"output_tokens":3}}`, notified,
				noTask, begins,
				`{"type":"result","usage":{"input_tokens":99},"model_usage_since_last_result":{"a":{"inputTokens":10,"outputTokens":20,"costUSD":0.1},"b":{"inputTokens":100,"cacheCreationInputTokens":1000,"costUSD":0.2}}}`))
		want := `{"inputTokens":1113,"outputTokens":23,"totalTokens":1136,"cachedInputTokens":2,"reasoningTokens":0,"costUSD":0.3}`
		if got := s.run(t, &providertest.Recorder{}); string(got.Usage) != want {
			t.Errorf("got %s", got.Usage)
		}
	})
	t.Run("a prompt that is accepted but not answered is an error", func(t *testing.T) {
		s := open(t, opening{}, script("<", echo, idle))
		if got := s.run(t, &providertest.Recorder{}); got.FinishReason != protocol.FinishError {
			t.Errorf("got %+v", got)
		}
	})
}

func TestAnInterrupt(t *testing.T) {
	t.Parallel()
	t.Run("waits until the prompt's turn has begun: one before it would be of nothing", func(t *testing.T) {
		s := open(t, opening{}, script("<", fullText("early"), begins, "<", cut))
		if got := s.interrupt(t, &providertest.Recorder{}, providertest.KindEndText,
			1); got.Reason != protocol.ReasonAborted {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("of a pending permission: an answer that comes later is not sent, so that the tool does not run", func(
		t *testing.T,
	) {
		out := &providertest.Recorder{
			Decide: func(ctx context.Context, _ string, _ agenthost.Question) (agenthost.Answer, error) {
				<-ctx.Done()
				return agenthost.Answer{Approved: true}, nil
			},
		}
		requests, cancels := many("")
		s := open(t, opening{},
			script(slices.Concat([]string{"<", begins}, requests, []string{"<"}, cancels,
				[]string{taken, cut})...)+turn(fullText("two")))
		if got := s.interrupt(t, out, providertest.KindConfirm, len(requests)); got.Reason != protocol.ReasonAborted {
			t.Errorf("got %+v", got)
		}
		s.run(t, &providertest.Recorder{})
		if got := received(t, s.spec.StateDir); len(got) != 3 || !strings.Contains(got[1], "interrupt") {
			t.Errorf("the program got %q", got)
		}
	})
	t.Run("ends a command in the background with the program, which is resumed", func(t *testing.T) {
		s := open(t, opening{options: claude.Options{Grace: 50 * time.Millisecond}},
			script("no-signals", "<", works, begins, task, fullText("started"), ends, idle, "<?", idle, noTask, "hang"),
			turn(fullText("again")))
		out := &providertest.Recorder{}
		if got := s.interrupt(t, out, providertest.KindEndText, 1); got.Reason != protocol.ReasonAborted ||
			len(providertest.Running(t)()) > 0 {
			t.Errorf("got %+v, left %q", got, providertest.Running(t)())
		}
		s.run(t, &providertest.Recorder{})
		if got := lives(t, s.spec.StateDir); len(got) != 2 || !slices.Contains(got[1].Args, "--resume") {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("that is ignored takes the program, with SIGKILL at last", func(t *testing.T) {
		s := open(t, opening{options: claude.Options{Grace: 50 * time.Millisecond}}, script("<", begins, delta("so"), "hang"))
		if got := s.interrupt(t, &providertest.Recorder{}, providertest.KindText, 1); got.Reason != protocol.ReasonAborted ||
			len(providertest.Running(t)()) > 0 {
			t.Errorf("got %+v, left %q", got, providertest.Running(t)())
		}
	})
	t.Run("before the program accepts messages", func(t *testing.T) {
		s := open(t, opening{options: claude.Options{Grace: 50 * time.Millisecond}}, script("no-handshake", "hang"))
		outcome := make(chan agenthost.Outcome)
		go func() {
			o, err := s.Run(context.Background(), agenthost.Prompt{Text: "go"}, &providertest.Recorder{})
			if err != nil {
				t.Error(err)
			}
			outcome <- o
		}()
		for !started(s.spec.StateDir) {
			runtime.Gosched()
		}
		if err := s.Interrupt(t.Context()); err != nil {
			t.Error(err)
		}
		if o := <-outcome; o.Reason != protocol.ReasonAborted || len(providertest.Running(t)()) > 0 {
			t.Errorf("got %+v, left %q", o, providertest.Running(t)())
		}
	})
}

func started(home string) bool { return exists(filepath.Join(home, "started")) }

func TestAnExitDuringATurnReportsTheLastLines(t *testing.T) {
	t.Parallel()
	var all, last []string
	for i := 1; i <= 60; i++ {
		all = append(all, fmt.Sprintf("err: line %d", i))
		if i > 10 {
			last = append(last, fmt.Sprintf("line %d", i))
		}
	}
	s := open(t, opening{}, script("<", begins, delta("so"))+script(all...)+script("exit: 3"), turn(fullText("again")))
	out := &providertest.Recorder{}
	got := s.run(t, out)
	want := "The agent claude exited during the turn: exit status 3\n" + strings.Join(last, "\n")
	if got.FinishReason != protocol.FinishError || got.Reason != protocol.ReasonAgentExited || got.Err != want {
		t.Errorf("got %+v", got)
	}
	s.run(t, &providertest.Recorder{})
	if got := lives(t, s.spec.StateDir); !slices.Contains(got[1].Args, "--resume") {
		t.Errorf("not resumed: %q", got[1].Args)
	}
}

func TestAKillWhileAPermissionIsPending(t *testing.T) {
	t.Parallel()
	recording, err := os.ReadFile(filepath.Join("testdata", "killed-while-asked", "program.txt"))
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, opening{}, string(recording)+script("exit: 137"), turn(fullText("again")))
	out := &providertest.Recorder{}
	if got := s.run(t, out); got.Reason != protocol.ReasonAgentExited || len(out.Of(providertest.KindConfirm)) != 1 {
		t.Errorf("got %+v, %q", got, shown(out))
	}
	out = &providertest.Recorder{}
	s.run(t, out)
	if got := shown(out); len(got) != 1 { // the user is not asked again
		t.Errorf("got %q", got)
	}
}

func TestAProgramThatExitedWhileIdleIsStartedAgain(t *testing.T) {
	t.Parallel()
	s := open(t, opening{}, turn(fullText("one"))+script("exit: 0"), turn(fullText("two")))
	s.run(t, &providertest.Recorder{})
	out := &providertest.Recorder{}
	s.run(t, out)
	if got := shown(out); !slices.Contains(got, `end "two"`) {
		t.Errorf("got %q", got)
	}
}

const lost = "No conversation found with session ID: 0f0f"

func TestResume(t *testing.T) {
	t.Parallel()
	t.Run("a new session has an id of ours, which is reported when it exists", func(t *testing.T) {
		s := open(t, opening{}, turn())
		out := &providertest.Recorder{}
		s.run(t, out)
		args := lives(t, s.spec.StateDir)[0].Args
		at := slices.Index(args, "--session-id")
		if sessionID := out.Of(providertest.KindAgentSession); at < 0 || len(sessionID) != 1 ||
			sessionID[0].Text != args[at+1] || slices.Contains(args, "--resume") {
			t.Errorf("reported %+v, started with %q", sessionID, args)
		}
	})
	t.Run("a known one is resumed and not reported again", func(t *testing.T) {
		s := open(t, opening{spec: agenthost.AgentSpec{AgentSessionID: "0f0f"}}, turn())
		out := &providertest.Recorder{Memory: "memory "}
		s.run(t, out)
		if args := lives(t, s.spec.StateDir)[0].Args; args[slices.Index(args, "--resume")+1] != "0f0f" ||
			len(out.Entries()) != 1 {
			t.Errorf("started with %q, shown %q", args, shown(out))
		}
	})
	t.Run("an unknown id: one retry without it, with the record", func(t *testing.T) {
		s := open(t, opening{spec: agenthost.AgentSpec{AgentSessionID: "0f0f"}},
			script("no-handshake", `{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["`+lost+`"]}`,
				"err: "+lost, "exit: 1"), turn(fullText("hi")))
		out := &providertest.Recorder{Memory: "memory "}
		s.run(t, out)
		got, sessionID := lives(t, s.spec.StateDir), out.Of(providertest.KindAgentSession)
		if len(got) != 2 || slices.Contains(got[1].Args, "--resume") || len(sessionID) != 1 || sessionID[0].Text == "0f0f" {
			t.Errorf("started %+v, reported %+v", got, sessionID)
		}
		if prompt := received(t, s.spec.StateDir)[0]; !strings.Contains(prompt, `"memory go"`) {
			t.Errorf("asked %s", prompt)
		}
	})
	t.Run("any other failure is an error: a retry would lose the session", func(t *testing.T) {
		s := open(
			t,
			opening{spec: agenthost.AgentSpec{AgentSessionID: "0f0f"}},
			script("no-handshake", "err: error: unknown option '--nosuch'", "exit: 1"),
		)
		_, err := s.Run(t.Context(), agenthost.Prompt{Text: "go"}, &providertest.Recorder{})
		if want := "The agent claude ended before it could take a prompt: exit status 1\nerror: " +
			"unknown option '--nosuch'"; err == nil || err.Error() != want {
			t.Errorf("got %v", err)
		}
		if got := lives(t, s.spec.StateDir); len(got) != 1 {
			t.Errorf("started %d times", len(got))
		}
	})
	t.Run("a session that the user has changed is remembered", func(t *testing.T) {
		s := open(
			t,
			opening{spec: agenthost.AgentSpec{AgentSessionID: "0f0f"}},
			turn(`{"type":"system","subtype":"init","session_id":"1e1e"}`)+script("exit: 0"),
			turn(),
		)
		out := &providertest.Recorder{}
		s.run(t, out)
		s.run(t, &providertest.Recorder{})
		args := lives(t, s.spec.StateDir)[1].Args
		if sessionID := out.Of(providertest.KindAgentSession); len(sessionID) != 1 || sessionID[0].Text != "1e1e" ||
			args[slices.Index(args, "--resume")+1] != "1e1e" {
			t.Errorf("reported %+v, started with %q", sessionID, args)
		}
	})
	t.Run("an output without a record ends the turn", func(t *testing.T) {
		s := open(t, opening{options: claude.Options{Grace: 50 * time.Millisecond}}, turn())
		out := &silent{Recorder: &providertest.Recorder{}}
		if got, err := s.Run(t.Context(), agenthost.Prompt{Text: "go"}, out); err != nil ||
			got.Reason != protocol.ReasonAborted {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

// silent is an output without a record of the conversation.
type silent struct{ *providertest.Recorder }

func (*silent) Restored(context.Context) (string, error) { return "", providertest.ErrOutput }

func TestATurnThatCannotBeginReturnsAnError(t *testing.T) {
	t.Parallel()
	missing := errors.New("run: bellhop agents install claude")
	never := func(t *testing.T, s *subject, prompt agenthost.Prompt, want func(error) bool) {
		t.Helper()
		out := &providertest.Recorder{}
		if _, err := s.Run(t.Context(), prompt, out); !want(err) || len(out.Entries()) > 0 {
			t.Errorf("got %v, shown %q", err, shown(out))
		}
	}
	t.Run("the program is missing: the error names the command that installs it", func(t *testing.T) {
		find := func(context.Context) (string, error) { return "", missing }
		s := open(t, opening{options: claude.Options{Find: find}}, "")
		never(t, s, agenthost.Prompt{Text: "go"}, func(err error) bool { return errors.Is(err, missing) })
	})
	t.Run("the program does not answer", func(t *testing.T) {
		s := open(t, opening{options: claude.Options{Start: time.Millisecond, Grace: 50 * time.Millisecond}},
			script("no-handshake", "hang"))
		never(t, s,
			agenthost.Prompt{Text: "go"}, func(err error) bool { return protocol.CodeOf(err) == protocol.CodeUnavailable })
	})
	t.Run("a prompt over the line limit is refused", func(t *testing.T) {
		s := open(t, opening{}, "")
		never(t, s,
			agenthost.Prompt{Text: strings.Repeat("x", protocol.MaxLine)}, func(err error) bool {
				return protocol.CodeOf(err) == protocol.CodeTooLarge
			})
	})
	t.Run("a closed agent stays closed", func(t *testing.T) {
		s := open(t, opening{}, "")
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		never(t, s, agenthost.Prompt{Text: "go"}, func(err error) bool { return err != nil })
	})
	t.Run("without Find there is no agent", func(t *testing.T) {
		if _, err := claude.New(claude.Options{}).Open(t.Context(), agenthost.AgentSpec{}); err == nil {
			t.Error("an agent without a program was opened")
		}
	})
}
