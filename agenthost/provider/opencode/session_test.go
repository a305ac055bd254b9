package opencode_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/providertest"
	"bellhop/protocol"
)

func TestAKnownSessionIsResumedAndALostOneRestored(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule   string
		gone   bool
		prompt string
		shown  []string
		made   bool
	}{
		{"known", false, `{"parts":[{"type":"text","text":"go"}]}`, []string{}, false},
		{
			"lost", true, `{"parts":[{"type":"text","text":"Before: hello\n\ngo"}]}`,
			[]string{`agent-session  "ses_1"`, `restored  "Before: hello"`},
			true,
		},
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
			run(t, open(t, options(f), agenthost.AgentSpec{AgentSessionID: sessionID}), out)
			if got := shown(out); !slices.Equal(got, c.shown) {
				t.Errorf("shown %q", got)
			}
			if f.prompts[0] != c.prompt ||
				slices.ContainsFunc(f.calls, func(s string) bool { return strings.HasPrefix(s, "POST /session {") }) != c.made {
				t.Errorf("prompts %q, calls %q", f.prompts, f.calls)
			}
		})
	}
}

func TestAPromptContainsFilesAndModel(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.onPrompt = func() { f.opening(); f.ending() }
	a := open(t, options(f), agenthost.AgentSpec{Model: "anthropic/some/model"})
	prompt := agenthost.Prompt{
		Text: "look", Attachments: []protocol.Attachment{
			{Type: "image", MediaType: "image/jpeg", Data: "AA=="},
			{Type: "document", MediaType: "application/pdf", Name: "plan.pdf", Data: "AA=="},
			{Type: "document", MediaType: "text/markdown", Name: "notes.md", Data: "aGk="},
		},
	}
	if _, err := a.Run(t.Context(), prompt, &providertest.Recorder{}); err != nil {
		t.Fatal(err)
	}
	want := `{"model":{"providerID":"anthropic","modelID":"some/model"},"parts":[{"type":"text","text":"look"},` +
		`{"type":"file","mime":"image/jpeg","filename":"attachment-1","url":"data:image/jpeg;base64,AA=="},` +
		`{"type":"file","mime":"application/pdf","filename":"plan.pdf","url":"data:application/pdf;base64,AA=="},` +
		`{"type":"text","text":"Attached document notes.md:\n\nhi"}]}`
	if f.prompts[0] != want {
		t.Errorf("got %s", f.prompts[0])
	}
}

func TestARestartedProgramKeepsPortAndPassword(t *testing.T) {
	t.Parallel()
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
	if got := before.Command[1:]; got[0] != "attach" || got[2] != "--session" || got[3] != ourSession ||
		before.Env[1] != "BELLHOP_OPENCODE_SESSION_ID="+ourSession {
		t.Errorf("got %+v", before)
	}
}

func TestAServerIsFoundAgainAfterARestartOfTheHost(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	o := options(f)
	o.Ports = filepath.Join(t.TempDir(), "ports.json")
	spec := agenthost.AgentSpec{
		Dir: t.TempDir(), StateDir: t.TempDir(), AgentSessionID: ourSession,
		Local: &agenthost.Local{MCPURL: "http://127.0.0.1:1/mcp", HookURL: "http://127.0.0.1:1/hook", Secret: "geheim"},
	}
	terminal := func(spec agenthost.AgentSpec) *agenthost.Terminal {
		t.Helper()
		a := open(t, o, spec).(agenthost.TerminalAgent)
		shown, err := a.Terminal(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		return shown
	}
	before, after := terminal(spec), terminal(spec)
	if !slices.Equal(before.Command, after.Command) || !slices.Equal(before.Env, after.Env) {
		t.Errorf("before %q %q, after %q %q", before.Command, before.Env, after.Command, after.Env)
	}
	spec.Local = &agenthost.Local{Secret: "another"}
	if other := terminal(spec); slices.Equal(other.Env, before.Env) {
		t.Errorf("two workspaces have one password: %q", other.Env)
	}
}

func TestARestartStartsARunningProgramAgain(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.onPrompt = func() { f.opening(); f.ending() }
	a := open(t, options(f), agenthost.AgentSpec{}).(agenthost.RestartingAgent)
	if err := a.Restart(t.Context()); err != nil || f.streamed() != 0 {
		t.Fatalf("a program that does not run: %v, %d starts", err, f.streamed())
	}
	run(t, a, &providertest.Recorder{})
	before, err := a.(agenthost.TerminalAgent).Terminal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Restart(t.Context()); err != nil || f.streamed() != 2 {
		t.Fatalf("%v, %d starts", err, f.streamed())
	}
	after, err := a.(agenthost.TerminalAgent).Terminal(t.Context())
	if err != nil || !slices.Equal(before.Command, after.Command) || f.streamed() != 2 {
		t.Errorf("before %q, after %q, %d starts: %v", before.Command, after.Command, f.streamed(), err)
	}
	run(t, a, &providertest.Recorder{})
}

// streamed is how often a provider has connected to the events.
func (f *fake) streamed() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.connects
}

func TestTheRecommendedOptionIsTheDefault(t *testing.T) {
	t.Parallel()
	steps := recording(t, filepath.Join("testdata", "question"))
	at := slices.IndexFunc(steps, func(s step) bool { return s.Type == "question.asked" })
	for _, c := range []struct{ label, want string }{{"Red", ""}, {"Red (Recommended)", "Red (Recommended)"}} {
		f := newFake(t)
		var asked object
		raw := strings.ReplaceAll(string(steps[at].Properties), `"label":"Red"`, `"label":"`+c.label+`"`)
		if err := json.Unmarshal([]byte(raw), &asked); err != nil {
			t.Fatal(err)
		}
		asked["sessionID"] = f.session
		f.onPrompt = func() {
			f.opening()
			f.emit("question.asked", asked)
			f.until(func() bool { return f.called(fmt.Sprintf("POST /question/%s/reply", asked["id"])) })
			f.ending()
		}
		out := providertest.Answering(agenthost.Answer{Text: "Blue"})
		run(t, open(t, options(f), agenthost.AgentSpec{}), out)
		q := out.Of(providertest.KindAsk)
		if len(q) != 1 || q[0].Question.Options[0] != c.label || q[0].Question.Default != c.want {
			t.Errorf("want the default %q: asked %+v", c.want, q)
		}
	}
}

func TestEachQuestionIsAskedAndAnswered(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule    string
		answer  agenthost.Answer
		choices []string
	}{
		{"one of the options", agenthost.Answer{Text: "Red"}, []string{"Red"}},
		{"several of them", agenthost.Answer{Text: "Red, Blue"}, []string{"Red", "Blue"}},
		{"something else", agenthost.Answer{Text: "Red, teal"}, []string{"Red, teal"}},
		{
			"nothing",
			agenthost.Answer{Expired: true},
			[]string{"No answer came in time. Continue as you think best, and state your assumptions."},
		},
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
			if asked := out.Of(providertest.KindAsk); len(asked) != 2 ||
				!slices.Equal(asked[0].Question.Options, []string{"Red", "Blue"}) {
				t.Errorf("asked %+v", asked)
			}
			want, _ := json.Marshal(object{"answers": [][]string{c.choices, c.choices}})
			if got := f.calls[len(f.calls)-1]; got != "POST /question/que_1/reply "+string(want) {
				t.Errorf("got %s", got)
			}
		})
	}
}
