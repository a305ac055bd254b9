package acp_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/acp"
	"bellhop/agenthost/provider/providertest"
	"bellhop/protocol"
)

func TestSessions(t *testing.T) {
	t.Parallel()
	history := updated(`{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"old question"}}`) +
		chunk("old answer") +
		updated(`{"sessionUpdate":"tool_call","toolCallId":"c0","kind":"edit","status":"completed"}`)
	load := `{"dir":"in","msg":{"id":2,"method":"session/load","params":{"sessionId":"s"}}}` + "\n"
	loaded := `{"dir":"out","msg":{"id":2,"result":{}}}` + "\n"
	refused := `{"dir":"out","msg":{"id":2,"error":{"code":-32602,"message":"Invalid session identifier"}}}` + "\n"
	newSession := `{"dir":"in","msg":{"id":%,"method":"session/new"}}
{"dir":"out","msg":{"id":%,"result":{"sessionId":"s2"}}}
{"dir":"in","msg":{"id":9,"method":"session/prompt","params":{"sessionId":"s2","prompt":[{"type":"text","text":"earlier conversation\n\nhello"}]}}}
` + chunk("new answer") + `{"dir":"out","msg":{"id":9,"result":{"stopReason":"end_turn"}}}` + "\n"
	forgetful := strings.Replace(initialize, `"loadSession":true`, `"loadSession":false`, 1)
	answer := prompted + chunk("new answer") + ended
	for _, c := range []struct {
		rule, script string
		want         []string
	}{
		{"a replay before the response is not of the turn", initialize + load + history + loaded + answer, nil},
		{"a replay after the response is not of the turn", initialize + load + loaded + history + answer, nil},
		{
			"a session that cannot be loaded is replaced by a new one with the restored context",
			initialize + load + refused + newSession,
			[]string{providertest.KindAgentSession, providertest.KindRestored},
		},
		{
			"an agent that cannot load gets the restored context", forgetful + newSession,
			[]string{providertest.KindAgentSession, providertest.KindRestored},
		},
	} {
		t.Run(c.rule, func(t *testing.T) {
			f := newFixture(t, strings.ReplaceAll(c.script, "%", "5"))
			f.Spec.AgentSessionID = "s"
			out := &providertest.Recorder{Memory: "earlier conversation"}
			f.Want(f.Run(out, "hello"), providertest.Finished)
			var got []string
			for _, e := range out.Entries() {
				if e.Kind != providertest.KindText && e.Kind != providertest.KindEndText {
					got = append(got, e.Kind)
				}
			}
			if !slices.Equal(got, c.want) || !slices.Equal(out.Texts(), []string{"new answer"}) {
				t.Errorf("got %q and %q", got, out.Texts())
			}
		})
	}
}

func TestATurnAfterStopLoadsTheSession(t *testing.T) {
	t.Parallel()
	f := newFixture(t, begun+ended, initialize+sessionLoad+prompted+ended)
	f.Want(f.Run(&providertest.Recorder{}, "first"), providertest.Finished)
	if err := f.Agent.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	f.Want(f.Run(&providertest.Recorder{}, "second"), providertest.Finished)
}

func TestAProgramThatExitedWhileIdleIsRestarted(t *testing.T) {
	t.Parallel()
	f := newFixture(t, begun+ended+`{"dir":"in","msg":{"method":"session/prompt"}}
{"dir":"exit","msg":0}
`, initialize+sessionLoad+prompted+chunk("here")+ended)
	f.Want(f.Run(&providertest.Recorder{}, "first"), providertest.Finished)
	f.Want(f.Run(&providertest.Recorder{}, "second"), providertest.Finished)
}

func TestACrashIsAnOutcomeWithTheLastLines(t *testing.T) {
	t.Parallel()
	f := newFixture(t, begun+chunk("I die")+
		updated(`{"sessionUpdate":"tool_call","toolCallId":"c1","kind":"execute","title":"rm x","status":"pending"}`)+
		`{"dir":"stderr","msg":"panic: oh no"}
{"dir":"exit","msg":3}
`, initialize+sessionLoad+prompted+ended)
	out := &providertest.Recorder{}
	f.Want(f.Run(out, "hello"), agenthost.Outcome{
		FinishReason: protocol.FinishError, Reason: protocol.ReasonAgentExited, Err: "panic: oh no",
	})
	if results := out.Of(providertest.KindResult); len(results) != 1 || !results[0].Result.IsError {
		t.Errorf("got %+v", results)
	}
	f.Want(f.Run(&providertest.Recorder{}, "again"), providertest.Finished)
}

func TestALineOverTenMiBFailsTheTurn(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 11<<20)
	stopped := `{"dir":"in","msg":{"method":"session/cancel","params":{"sessionId":"s"}}}` + "\n"
	for rule, script := range map[string]string{
		"the answer to the prompt": `{"dir":"out","msg":{"id":3,"result":{"stopReason":"end_turn","_meta":{"x":"` + long + `"}}}}` + "\n" +
			stopped,
		"an update, and the agent stops": chunk(long) + stopped +
			`{"dir":"out","msg":{"id":3,"result":{"stopReason":"cancelled"}}}` + "\n",
	} {
		t.Run(rule, func(t *testing.T) {
			f, out := newFixture(t, begun+chunk("so")+script), &providertest.Recorder{}
			f.options.Grace = 50 * time.Millisecond
			f.Want(f.Run(out, "hello"), agenthost.Outcome{
				FinishReason: protocol.FinishError,
				Err:          "The agent acp sent a line over 10 MiB, which the host does not read. The turn was stopped",
			})
			if got := out.Texts(); !slices.Equal(got, []string{"so"}) {
				t.Errorf("the texts are %q", got)
			}
		})
	}
}

func TestAnExitDuringAQuestionExpiresTheQuestion(t *testing.T) {
	t.Parallel()
	f := newFixture(t, begun+asking(9, usual)+`{"dir":"exit","msg":3}
`)
	out := &providertest.Recorder{}
	if got := f.Run(out,
		"hello"); got.Reason != protocol.ReasonAgentExited || len(out.Of(providertest.KindConfirm)) != 1 ||
		out.Expired() != 1 {
		t.Errorf("got %+v, %d expired", got, out.Expired())
	}
}

func TestTheHostsServerIsOfferedToAnAgentWithHTTPSupport(t *testing.T) {
	t.Parallel()
	offered := `{"dir":"in","msg":{"id":2,"method":"session/new","params":{"mcpServers":[{"type":"http","name":"bellhop","url":"http://127.0.0.1:1/mcp","headers":[{"name":"Authorization","value":"Bearer s3cret"}]}]}}}
{"dir":"out","msg":{"id":2,"result":{"sessionId":"s"}}}
`
	for rule, script := range map[string]string{
		"with HTTP support":    initialize + offered,
		"without HTTP support": strings.Replace(initialize, `"http":true`, `"http":false`, 1) + sessionNew,
	} {
		t.Run(rule, func(t *testing.T) {
			f := newFixture(t, script+prompted+ended)
			f.Spec.Local = &agenthost.Local{MCPURL: "http://127.0.0.1:1/mcp", Secret: "s3cret"}
			f.Want(f.Run(&providertest.Recorder{}, "hello"), providertest.Finished)
		})
	}
}

func TestTheModelIsSetIfTheAgentSupportsIt(t *testing.T) {
	t.Parallel()
	models := strings.Replace(sessionNew, `"sessionId":"s"`,
		`"sessionId":"s","models":{"availableModels":[],"currentModelId":"m1"}`, 1)
	set := `{"dir":"in","msg":{"id":3,"method":"session/set_model","params":{"modelId":"m2","sessionId":"s"}}}
{"dir":"out","msg":{"id":3,"result":{}}}
`
	for _, c := range []struct {
		rule, model, script string
		notices             int
	}{
		{"another model than the current one is set", "m2", models + set, 0},
		{"the current model is not set again", "m1", models, 0},
		{"an agent without models causes a notice", "m2", sessionNew, 1},
	} {
		t.Run(c.rule, func(t *testing.T) {
			prompt := strings.ReplaceAll(prompted+ended, `"id":3`, `"id":7`)
			f := newFixture(t, initialize+c.script+prompt)
			f.Spec.Model = c.model
			out := &providertest.Recorder{}
			f.Want(f.Run(out, "hello"), providertest.Finished)
			if notices := out.Of(providertest.KindNotice); len(notices) != c.notices {
				t.Errorf("got %+v", notices)
			}
		})
	}
}

func TestModelsAndModesOfTheLastSessionAreKnown(t *testing.T) {
	t.Parallel()
	f := newFixture(t,
		strings.Replace(initialize, `"image":true`, `"image":false`, 1)+strings.Replace(sessionNew, `"sessionId":"s"`, `"sessionId":"s","models":{"availableModels":[`+
			`{"modelId":"m1","name":"Model One"},{"modelId":"m2","name":"Model Two"}],"currentModelId":"m1"},`+
			`"modes":{"availableModes":[{"id":"plan","name":"Plan"}],"currentModeId":"plan"}`, 1)+prompted+ended)
	provider := acp.New(f.options)
	f.Open = func(spec agenthost.AgentSpec) (agenthost.Agent, error) { return provider.Open(t.Context(), spec) }
	var chooser agenthost.Chooser = provider
	if models, modes := chooser.Choices(); len(models)+len(modes) != 0 {
		t.Errorf("before the first session: %v, %v", models, modes)
	}
	var taker agenthost.Taker = provider
	if got := fmt.Sprint(taker.Attachments()); got != "[image text]" {
		t.Errorf("takes before the first session: %s", got)
	}
	f.Want(f.Run(&providertest.Recorder{}, "hello"), providertest.Finished)
	models, modes := chooser.Choices()
	if got := fmt.Sprint(taker.Attachments()); got != "[text]" {
		t.Errorf("takes: %s", got)
	}
	if got := fmt.Sprint(models, modes); got != "[{m1 Model One} {m2 Model Two}] [{plan Plan}]" {
		t.Errorf("reported: %s", got)
	}
}

func TestAttachments(t *testing.T) {
	t.Parallel()
	image := `,{"type":"image","data":"AAAA","mimeType":"image/png"}`
	for _, c := range []struct {
		rule, initialize, image string
		notices                 int
	}{
		{"images and texts are sent to an agent that supports them", initialize, image, 1},
		{"other attachments cause a notice", strings.Replace(initialize, `"image":true`, `"image":false`, 1), "", 2},
	} {
		t.Run(c.rule, func(t *testing.T) {
			f := newFixture(t, c.initialize+sessionNew+
				`{"dir":"in","msg":{"id":3,"method":"session/prompt","params":{"prompt":[{"type":"text","text":"look"}`+c.image+
				`,{"type":"text","text":"Attached document notes.md:\n\nhi"}]}}}`+"\n"+ended)
			out := &providertest.Recorder{}
			outcome, err := f.Begin(out, agenthost.Prompt{Text: "look", Attachments: []protocol.Attachment{
				{Type: "image", MediaType: "image/png", Data: "AAAA"},
				{Type: "video", Data: "BBBB"},
				{Type: "document", MediaType: "text/plain", Name: "notes.md", Data: "aGk="},
			}})()
			if err != nil {
				t.Fatal(err)
			}
			f.Want(outcome, providertest.Finished)
			if notices := out.Of(providertest.KindNotice); len(notices) != c.notices {
				t.Errorf("got %+v", notices)
			}
		})
	}
}

func TestGeminiIsPreparedAndStartedWithItsFlag(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `{"dir":"env"}`+"\n"+begun+ended)
	prepared := false
	f.options.Prepare = func(agenthost.AgentSpec) error {
		prepared = true
		return nil
	}
	f.Spec.Model = `g"emini`
	agent, err := acp.Gemini(f.options).Open(t.Context(), f.Spec)
	if err != nil {
		t.Fatal(err)
	}
	f.Agent = agent
	t.Cleanup(func() { _ = agent.Close(t.Context()) })
	outcome, err := f.Begin(&providertest.Recorder{}, agenthost.Prompt{Text: "hello"})()
	if err != nil {
		t.Fatal(err)
	}
	f.Want(outcome, providertest.Finished)
	var settings struct {
		Model     struct{ Name string }
		Telemetry struct{ Enabled *bool }
	}
	content, err := os.ReadFile(filepath.Join(f.Spec.StateDir, ".gemini", "settings.json"))
	if err != nil || json.Unmarshal(content, &settings) != nil || settings.Model.Name != f.Spec.Model ||
		*settings.Telemetry.Enabled {
		t.Errorf("got %s, %v", content, err)
	}
	rules, err := os.ReadFile(filepath.Join(f.Spec.StateDir, ".gemini", "policies", "bellhop.toml"))
	if err != nil || strings.Count(string(rules), `decision = "ask_user"`) != strings.Count(string(rules), "[[rule]]") {
		t.Errorf("Gemini CLI may decide by itself: %s, %v", rules, err)
	}
	env, err := os.ReadFile(filepath.Join(f.Spec.StateDir, "environment"))
	for _, want := range []string{
		"GEMINI_CLI_NO_RELAUNCH=true", "DISABLE_AUTOUPDATER=1", "HOME=" + f.Spec.StateDir, "ARGS=--acp",
	} {
		if err != nil || !strings.Contains("\n"+string(env)+"\n", "\n"+want+"\n") {
			t.Errorf("%s is not in %s, %v", want, env, err)
		}
	}
	if !prepared {
		t.Error("the caller's own preparation was left out")
	}
}

func TestTheEnvironmentHasNoVariablesOfTheHost(t *testing.T) {
	t.Setenv("BELLHOP_HOST_SECRET", "canary")
	f := newFixture(t, `{"dir":"env"}`+"\n"+begun+ended)
	f.Spec.Env = []string{"OWN=1"}
	f.Want(f.Run(&providertest.Recorder{}, "hello"), providertest.Finished)
	env, err := os.ReadFile(filepath.Join(f.Spec.StateDir, "environment"))
	if err != nil || strings.Contains(string(env), "canary") || !strings.Contains(string(env), "OWN=1") {
		t.Errorf("got %s, %v", env, err)
	}
	if !strings.Contains(string(env), "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1") {
		t.Errorf("an agent built on Claude Code would contact its vendor: %s", env)
	}
}

func TestCommandsAreReportedWheneverTheyChange(t *testing.T) {
	t.Parallel()
	commands := func(list string) string {
		return updated(`{"sessionUpdate":"available_commands_update","availableCommands":` + list + `}`)
	}
	f := newFixture(t, initialize+sessionNew+
		commands(`[{"name":"web","description":"Searches","input":{"hint":"query"}},{"name":"init","input":null}]`)+
		prompted+commands(`[]`)+ended)
	var reported [][]protocol.Command
	f.Spec.ReportCommands = func(list []protocol.Command) { reported = append(reported, list) }
	out := &providertest.Recorder{}
	f.Want(f.Run(out, "hello"), providertest.Finished)
	want := [][]protocol.Command{{{Name: "web", Description: "Searches", Arguments: "query"}, {Name: "init"}}, {}}
	if !reflect.DeepEqual(reported, want) {
		t.Errorf("reported %+v", reported)
	}
}
