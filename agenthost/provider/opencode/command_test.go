package opencode_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/providertest"
	"bellhop/protocol"
)

// someCommands are a command, one that runs a shell, and one that cannot be checked.
const someCommands = `[{"name":"review","description":"Reviews a change","template":"Review $ARGUMENTS","hints":[]},` +
	`{"name":"shell","description":"Runs a shell","template":"See !` + "`git log`" + `"},{"name":"unreadable","template":{}}]`

// runText runs a turn of this message.
func runText(t *testing.T, a agenthost.Agent, text string, out *providertest.Recorder) agenthost.Outcome {
	t.Helper()
	outcome, err := a.Run(t.Context(), agenthost.Prompt{TurnID: "t1", Text: text}, out)
	if err != nil {
		t.Fatal(err)
	}
	return outcome
}

func TestCommandsAreReportedExceptThoseThatRunAShellByThemselves(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.commands = someCommands
	f.onPrompt = func() { f.opening(); f.ending() }
	var reported []protocol.Command
	a := open(t, options(f), agenthost.AgentSpec{ReportCommands: func(list []protocol.Command) { reported = list }})
	runText(t, a, "hello", &providertest.Recorder{})
	if !slices.Equal(reported, []protocol.Command{{Name: "review", Description: "Reviews a change"}}) {
		t.Errorf("reported %+v", reported)
	}
	runText(t, a, "/shell now", &providertest.Recorder{})
	runText(t, a, "/unknown now", &providertest.Recorder{})
	for _, text := range []string{"hello", "/shell now", "/unknown now"} {
		if !slices.ContainsFunc(f.prompts, func(prompt string) bool { return strings.Contains(prompt, text) }) {
			t.Errorf("%s is no prompt: %q", text, f.prompts)
		}
	}
}

func TestACommandIsRunAsOne(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.commands = someCommands
	f.onPrompt = func() {
		f.opening()
		f.part(textPart(f.session, "msg_2", "prt_1", "reviewed", true))
		f.ending()
	}
	out := &providertest.Recorder{}
	a := open(t, options(f), agenthost.AgentSpec{Model: "anthropic/some/model"})
	wantOutcome(t, runText(t, a, "/review the last commit", out), protocol.FinishStop, "", "")
	wantShown(t, out, `text  "reviewed"`, `end-text  "reviewed"`)
	const call = `POST /session/command {"command":"review","arguments":"the last commit","model":"anthropic/some/model"}`
	if len(f.prompts) != 0 || !slices.Contains(f.calls, call) {
		t.Errorf("prompts %q, calls %q", f.prompts, f.calls)
	}
}

func TestACommandThatIsRefusedFailsItsTurn(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.commands = someCommands
	f.onCall = func(w http.ResponseWriter, _, path string) bool {
		if path != "/session/command" {
			return false
		}
		w.WriteHeader(http.StatusBadRequest)
		reply(w, `{"data":{"message":"no such agent"}}`)
		return true
	}
	a := open(t, options(f), agenthost.AgentSpec{})
	wantOutcome(t, runText(t, a, "/review", &providertest.Recorder{}), protocol.FinishError, "",
		"The prompt was not run: OpenCode answers 400 no such agent")
}

func TestACommandBehindARestoredContextIsAText(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.commands, f.gone = someCommands, true
	f.onPrompt = func() { f.opening(); f.ending() }
	a := open(t, options(f), agenthost.AgentSpec{AgentSessionID: "ses_old"})
	runText(t, a, "/review", &providertest.Recorder{Memory: "Before: hello"})
	if len(f.prompts) != 1 || !strings.Contains(f.prompts[0], `Before: hello\n\n/review`) {
		t.Errorf("prompts %q", f.prompts)
	}
}
