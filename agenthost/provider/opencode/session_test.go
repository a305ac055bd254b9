package opencode_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/providertest"
	"bellhop/protocol"
)

func TestAKnownSessionIsResumedAndALostOneRestored(t *testing.T) {
	for _, c := range []struct {
		rule   string
		gone   bool
		prompt string
		shown  []string
		made   bool
	}{
		{"known", false, `{"parts":[{"type":"text","text":"go"}]}`, []string{}, false},
		{"lost", true, `{"parts":[{"type":"text","text":"Before: hello\n\ngo"}]}`, []string{`native  "ses_1"`, `restored  "Before: hello"`}, true},
	} {
		t.Run(c.rule, func(t *testing.T) {
			f := newFake(t)
			f.gone = c.gone
			f.onPrompt = func() { f.opening(); f.ending() }
			out := &providertest.Recorder{Memory: "Before: hello"}
			sessionID := ourSession
			if c.gone {
				sessionID = "ses_old"
			}
			run(t, open(t, options(f), agenthost.AgentSpec{Native: sessionID}), out)
			if got := shown(out); !slices.Equal(got, c.shown) {
				t.Errorf("shown %q", got)
			}
			if f.prompts[0] != c.prompt || slices.ContainsFunc(f.calls, func(s string) bool { return strings.HasPrefix(s, "POST /session {") }) != c.made {
				t.Errorf("prompts %q, calls %q", f.prompts, f.calls)
			}
		})
	}
}

func TestAPromptContainsImagesAndModel(t *testing.T) {
	f := newFake(t)
	f.onPrompt = func() { f.opening(); f.ending() }
	a := open(t, options(f), agenthost.AgentSpec{Model: "anthropic/some/model"})
	prompt := agenthost.Prompt{Text: "look", Attachments: []protocol.Attachment{{Type: "image", MediaType: "image/jpeg", Data: "AA=="}}}
	if _, err := a.Run(t.Context(), prompt, &providertest.Recorder{}); err != nil {
		t.Fatal(err)
	}
	want := `{"model":{"providerID":"anthropic","modelID":"some/model"},"parts":[{"type":"text","text":"look"},` +
		`{"type":"file","mime":"image/jpeg","filename":"attachment-1","url":"data:image/jpeg;base64,AA=="}]}`
	if f.prompts[0] != want {
		t.Errorf("got %s", f.prompts[0])
	}
}

func TestARestartedProgramKeepsPortAndPassword(t *testing.T) {
	f := newFake(t)
	f.onPrompt = func() { f.opening(); f.ending() }
	a := open(t, options(f), agenthost.AgentSpec{}).(agenthost.TerminalAgent)
	run(t, a, &providertest.Recorder{})
	before, err := a.Terminal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	after, err := a.Terminal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(before.Command, after.Command) || !slices.Equal(before.Env, after.Env) || len(f.passwords) != 1 {
		t.Errorf("before %q %q, after %q %q", before.Command, before.Env, after.Command, after.Env)
	}
	if got := before.Command[1:]; got[0] != "attach" || got[2] != "--session" || got[3] != ourSession || before.Env[1] != "BELLHOP_OPENCODE_SESSION_ID="+ourSession {
		t.Errorf("got %+v", before)
	}
}

func TestEachQuestionIsAskedAndAnswered(t *testing.T) {
	for _, c := range []struct {
		rule    string
		answer  agenthost.Answer
		choices []string
	}{
		{"one of the options", agenthost.Answer{Text: "Red"}, []string{"Red"}},
		{"several of them", agenthost.Answer{Text: "Red, Blue"}, []string{"Red", "Blue"}},
		{"something else", agenthost.Answer{Text: "Red, teal"}, []string{"Red, teal"}},
		{"nothing", agenthost.Answer{Expired: true}, []string{"No answer came in time. Continue as you think best, and state your assumptions."}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			f := newFake(t)
			one := object{"question": "Which?", "multiple": true, "options": []object{{"label": "Red"}, {"label": "Blue"}}}
			f.onPrompt = func() {
				f.opening()
				f.emit("question.asked", object{"id": "que_1", "sessionID": f.session, "questions": []object{one, one}})
				f.until(func() bool { return f.called("POST /question/que_1/reply") })
				f.ending()
			}
			out := providertest.Answering(c.answer)
			run(t, open(t, options(f), agenthost.AgentSpec{}), out)
			if asked := out.Of(providertest.KindAsk); len(asked) != 2 || !slices.Equal(asked[0].Question.Options, []string{"Red", "Blue"}) {
				t.Errorf("asked %+v", asked)
			}
			want, _ := json.Marshal(object{"answers": [][]string{c.choices, c.choices}})
			if got := f.calls[len(f.calls)-1]; got != "POST /question/que_1/reply "+string(want) {
				t.Errorf("got %s", got)
			}
		})
	}
}
