package app

import (
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bellhop/agenthost"
	"bellhop/agenthost/setup"
	"bellhop/internal/app/agents"
	"bellhop/internal/testenv"
	"bellhop/protocol"
)

// reporting is a provider that knows its agent's models.
type reporting struct{ agenthost.Provider }

func (reporting) Choices() (models, modes []protocol.Choice) {
	return []protocol.Choice{{ID: "m1", Name: "Model One"}}, []protocol.Choice{{ID: "plan", Name: "Plan"}}
}

type twoProjects struct{ asked int }

func (p *twoProjects) Projects(context.Context) []protocol.OfferedProject {
	p.asked++
	return []protocol.OfferedProject{{Name: "shop", Branches: []string{"main"}}}
}

func TestAHostDescribesItsAgents(t *testing.T) {
	dir := t.TempDir()
	testenv.Must(t, testenv.WriteProgram(filepath.Join(dir, "claude"), []byte("#!/bin/sh\necho 9.9.9\n"), 0o700)) //nolint:gosec // a program
	testenv.Must(t, testenv.WriteProgram(filepath.Join(dir, "mine"), []byte("#!/bin/sh\n"), 0o700))               //nolint:gosec // a program
	t.Setenv("PATH", dir+":/bin:/usr/bin")
	config := HostConfig{
		AgentsDir: t.TempDir(), DemoAgent: []string{"demo"}, Version: "1.2.3", Agent: "acp:" + filepath.Join(dir, "mine"),
		Model: "chosen", AgentEnv: map[string]string{"ANTHROPIC_API_KEY": "canary"},
		Log: slog.New(slog.DiscardHandler), Providers: map[string]agenthost.Provider{"own": reporting{}},
	}
	config.File.Agents = map[string]agents.Entry{
		"claude": {Version: setup.AnyVersion, Model: "opus"}, "lost": {Command: []string{"/nowhere/lost"}},
		"codex": {Command: []string{"/nowhere/codex"}},
	}
	set, err := config.newProviders("")
	testenv.Must(t, err)
	projects, clock := &twoProjects{}, testenv.NewClock(time.Now())
	o := newOffers(set, projects)
	o.now = clock.Now
	offer, err := o.Current(t.Context())
	testenv.Must(t, err)
	raw, err := json.Marshal(offer)
	testenv.Must(t, err)
	got := strings.ReplaceAll(string(raw), dir, "DIR")
	const none = `"models":[],"modes":[]`
	const anthropicKeys = `"keys":["ANTHROPIC_API_KEY","ANTHROPIC_AUTH_TOKEN","CLAUDE_CODE_OAUTH_TOKEN"],`
	const everyKey = `"keys":["ANTHROPIC_API_KEY","ANTHROPIC_AUTH_TOKEN","CLAUDE_CODE_OAUTH_TOKEN","OPENAI_API_KEY",` +
		`"GEMINI_API_KEY","GOOGLE_API_KEY","OPENROUTER_API_KEY"],`
	const all, noPDF = none + `,"attachments":["image","text","pdf"]`, none + `,"attachments":["image","text"]`
	want := `{"defaultAgent":"acp:DIR/mine","agents":[` + strings.Join([]string{
		`{"id":"acp:DIR/mine","title":"acp:DIR/mine","kind":"acp","installed":true,"hasKey":true,` + everyKey + `"defaultModel":"chosen",` +
			noPDF + `}`,
		`{"id":"claude","title":"Claude Code","kind":"claude","installed":true,"version":"9.9.9","hasKey":true,` + anthropicKeys + `"defaultModel":"opus",` + all + `}`,
		`{"id":"codex","title":"Codex","kind":"codex","installed":false,"hasKey":false,"keys":["OPENAI_API_KEY"],` + noPDF +
			`,"problem":"Its program cannot be used","hint":"The operator of the host sees why: bellhop agents list"}`,
		`{"id":"demo","title":"Scripted demo agent","kind":"jsonl","installed":true,"version":"1.2.3","scripted":true,` + all + `}`,
		`{"id":"gemini","title":"Gemini CLI","kind":"gemini","installed":false,"hasKey":false,"keys":["GEMINI_API_KEY","GOOGLE_API_KEY"],` + noPDF +
			`,"problem":"Its program is not installed on the host","hint":"The operator installs it: bellhop agents install gemini"}`,
		`{"id":"lost","title":"lost","kind":"jsonl","installed":false,` + all +
			`,"problem":"Its program cannot be used","hint":"The operator of the host sees why: bellhop agents list"}`,
		`{"id":"opencode","title":"OpenCode","kind":"opencode","installed":false,"hasKey":true,` + everyKey + all +
			`,"problem":"Its program is not installed on the host","hint":"The operator installs it: bellhop agents install opencode"}`,
		`{"id":"own","title":"own","kind":"jsonl","installed":true,"models":[{"id":"m1","name":"Model One"}],"modes":[{"id":"plan","name":"Plan"}]}`,
	}, ",") + `],"projects":[{"name":"shop","isRepository":false,"branches":["main"]}],` +
		`"permissionModes":["plan","ask","accept-edits","auto"],"version":"1.2.3"}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if _, err := o.Current(t.Context()); err != nil || projects.asked != 1 {
		t.Errorf("a young offer: %v, described %d times", err, projects.asked)
	}
	clock.Advance(offerAge)
	if _, err := o.Current(t.Context()); err != nil || projects.asked != 2 {
		t.Errorf("an old offer: %v, described %d times", err, projects.asked)
	}
}
