package providertest_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/providertest"
	"bellhop/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestFakeKeepsTheContract(t *testing.T) {
	t.Parallel()
	keepsTheContract(t, false)
}

// The agents' programs play most cases in one agent.
func TestFakeKeepsTheContractInOneAgent(t *testing.T) {
	t.Parallel()
	keepsTheContract(t, true)
}

func keepsTheContract(t *testing.T, startsSlowly bool) {
	t.Helper()
	providertest.Run(t, func(*testing.T) providertest.Subject {
		fake := &providertest.Fake{}
		return providertest.Subject{
			Provider:     fake,
			StartsSlowly: startsSlowly,
			CannotStart: &providertest.Fake{
				Play: func(context.Context, agenthost.Prompt, agenthost.Output) (agenthost.Outcome, error) {
					return agenthost.Outcome{}, fmt.Errorf("no such program")
				},
			},
			Prompts: providertest.Prompts{
				Text:      "text hello \ntext world",
				Tool:      "text look\ntool list {\"path\":\".\"}\ntoolerr read\ntext done",
				Confirm:   "confirm write {\"path\":\"a\"}",
				Ask:       "ask Which colour?",
				Endless:   "stream 1000000 every 1ms",
				Crash:     "text hello\ncrash panic: oh no",
				Fail:      "text hello\nfail out of credit",
				LastLines: "panic: oh no",

				CrashAsking: "expire write\ncrash panic: oh no",
			},
			Running: func() []string { return slices.Repeat([]string{"turn"}, fake.Running()) },
		}
	})
}

// play runs one script to its end.
func play(t *testing.T, fake *providertest.Fake, out *providertest.Recorder, script string) agenthost.Outcome {
	t.Helper()
	agent, err := fake.Open(t.Context(), agenthost.AgentSpec{SessionID: "s1"})
	if err != nil {
		t.Fatal(err)
	}
	outcome, err := agent.Run(t.Context(), agenthost.Prompt{TurnID: "t1", Text: script}, out)
	if err != nil {
		t.Fatal(err)
	}
	return outcome
}

func shown(out *providertest.Recorder) []string {
	lines := []string{}
	for _, e := range out.Entries() {
		lines = append(lines, fmt.Sprintf("%s %s%s%s%s", e.Kind, e.Level, e.Text, e.Call.Input, e.Result.Output))
	}
	return lines
}

func TestFakePlaysItsScript(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script  string
		shown   []string
		outcome agenthost.Outcome
	}{
		"a final text wins": {
			"text helo\nend hello", []string{"text helo", "end-text hello", "end-text "}, agenthost.Outcome{},
		},
		"a tool": {"  tool ls {\"a\":1}", []string{`call {"a":1}`, `result {"ok":true}`, "end-text "}, agenthost.Outcome{}},
		"entries that are not stored": {
			"reason hm\nnotice warn careful\nagent-session n1\nusage {\"in\":1}",
			[]string{"reasoning hm", "notice warncareful", "agent-session n1", "end-text "},
			agenthost.Outcome{Usage: []byte(`{"in":1}`)},
		},
		"a finish reason": {
			"finish length\ntext never", []string{"end-text "}, agenthost.Outcome{FinishReason: protocol.FinishLength},
		},
		"a friendly chat": {
			"good day", []string{"text You ", "text said: ", "text good day", "text \n", "end-text "}, agenthost.Outcome{},
		},
		"a broken stream": {"stream x", []string{"text cannot stream \"x\"\n", "end-text "}, agenthost.Outcome{}},
		"nothing":         {"\n \n", []string{"end-text "}, agenthost.Outcome{}},
		"asking":          {"ask why", []string{"ask ", "text You answered: because\n", "end-text "}, agenthost.Outcome{}},
		"a failure": {
			"fail", []string{"end-text "}, agenthost.Outcome{FinishReason: protocol.FinishError, Err: "the script says fail"},
		},
		"a silent crash": {
			"crash",
			[]string{"end-text "},
			agenthost.Outcome{
				FinishReason: protocol.FinishError, Reason: protocol.ReasonAgentExited, Err: "the agent exited: exit status 1",
			},
		},
		"a lost connection": {"lost\nback", []string{"checking true", "checking false", "end-text "}, agenthost.Outcome{}},
		"a memory":          {"restored", []string{"restored as it was", "text as it was", "end-text "}, agenthost.Outcome{}},
		"a stream, evenly": {
			"stream 2 every 1us", []string{"text piece 1 ", "text piece 2 ", "end-text "}, agenthost.Outcome{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			out := &providertest.Recorder{Decide: func(context.Context, string, agenthost.Question) (agenthost.Answer, error) {
				return agenthost.Answer{Text: "because"}, nil
			}, Memory: "as it was"}
			outcome := play(t, &providertest.Fake{}, out, c.script)
			if fmt.Sprintf("%+v", outcome) != fmt.Sprintf("%+v", c.outcome) {
				t.Errorf("got outcome %+v, want %+v", outcome, c.outcome)
			}
			if got := shown(out); !slices.Equal(got, c.shown) {
				t.Errorf("got %q, want %q", got, c.shown)
			}
		})
	}
}

func TestFakeStreamsAtItsPace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		play(t, &providertest.Fake{}, &providertest.Recorder{}, "slow 20")
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("20 parts, 100 ms apart, took %v", took)
		}
	})
}

func TestFakeWaitsForItsGate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fake, out := &providertest.Fake{}, &providertest.Recorder{}
		done := make(chan struct{})
		go func() {
			defer close(done)
			play(t, fake, out, "text before\nwait gate\ntext after")
		}()
		synctest.Wait()
		if got := shown(out); !slices.Equal(got, []string{"text before"}) || fake.Running() != 1 {
			t.Errorf("got %q before the gate", got)
		}
		fake.Release("gate")
		fake.Release("gate")
		<-done
		if got := out.Texts(); !slices.Equal(got, []string{"beforeafter"}) {
			t.Errorf("got %q", got)
		}
		play(t, fake, &providertest.Recorder{}, "wait gate")
		if len(fake.Prompts()) != 2 || len(fake.Specs()) != 2 || fake.Specs()[0].SessionID != "s1" {
			t.Errorf("remembered %+v, %+v", fake.Prompts(), fake.Specs())
		}
	})
}
