package app

import (
	"bytes"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"bellhop/agenthost"
	"bellhop/internal/app/agents"
	"bellhop/protocol"
)

func readHostFile(t *testing.T, content string) (HostFile, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "host.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return ReadHostFile(path)
}

func TestHostFileAgents(t *testing.T) {
	t.Parallel()
	file, err := readHostFile(t, `
agents:
  mine: {command: [my-agent, --stdio], modelFlag: --model}
  opencode: {model: openrouter/some-model}
  careful: {kind: codex, sandbox: read-only, env: {A: b}}
  other: {kind: acp, command: [other-agent, --acp]}
default: careful
`)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, name := range file.agentNames() {
		got[name] = file.Agents[name].KindOf(name)
	}
	want := map[string]string{
		"mine": "jsonl", "opencode": "opencode", "careful": "codex", "other": "acp", "claude": "claude",
		"codex": "codex", "gemini": "gemini",
	}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestInvalidHostFilesAreRefused(t *testing.T) {
	t.Parallel()
	for rule, c := range map[string]struct{ content, want string }{
		"a mistyped key":      {"agents: {x: {comand: [x]}}", "field comand not found"},
		"a member of no file": {"agents: {}\nagent: x", "host.yaml: line 2: field agent not found"},
		"a repeated member":   {"default: demo\ndefault: demo", `line 2: "default" is repeated`},
		"a repeated agent": {
			"agents:\n  x: {command: [x]}\n  x: {command: [y]}", `line 3: "x" is repeated`,
		},
		"a second document":  {"agents: {}\n---\nagents: {}", "line 2: a second document begins here"},
		"no YAML":            {"agents: {x: {command: [x}}", "line 1: "},
		"a file too long":    {strings.Repeat("#\n", 1<<19) + "#", "is longer than 1048576 bytes"},
		"a comma is missing": {"agents: {x: {command: [x], model: a mode: b}}", "line 1: did not find expected"},
		"an unknown kind": {
			"agents: {x: {kind: cursor}}", `there is no kind "cursor"; use one of jsonl, opencode, claude, codex, gemini, acp`,
		},
		"an invalid name":             {"agents: {X: {command: [x]}}", `agent name "X"`},
		"ACP has no name on the wire": {"agents: {'acp:x': {command: [x]}}", `agent name "acp:x"`},
		"jsonl without a command":     {"agents: {x: {}}", "agent x: it has no command"},
		"ACP without a command":       {"agents: {x: {kind: acp, command: ['']}}", "agent x: it has no command"},
		"arguments of a built-in program": {
			"agents: {claude: {command: [claude, --dangerous]}}", "the path of the program alone",
		},
		"an unknown sandbox": {
			"agents: {codex: {sandbox: none}}",
			`there is no sandbox "none"; use one of read-only, workspace-write, danger-full-access`,
		},
		"a sandbox for another kind":            {"agents: {claude: {sandbox: read-only}}", "sandbox is for the kind codex"},
		"a mode for another kind":               {"agents: {codex: {mode: x}}", "mode is for the kind acp"},
		"a login for another kind":              {"agents: {claude: {login: x}}", "login is for the kind codex"},
		"a configuration file for another kind": {"agents: {claude: {config: x}}", "config is for the kind opencode"},
		"a missing configuration file":          {"agents: {opencode: {config: /none}}", "/none is not a file"},
		"a model flag for another kind": {
			"agents: {claude: {modelFlag: --model}}", "modelFlag is for the kind jsonl",
		},
		"a version for a kind without versions": {
			"agents: {x: {command: [x], version: '1'}}", "version is for the kind opencode, claude, codex, gemini",
		},
		"a variable without a name": {"agents: {claude: {env: {'A=B': c}}}", `"A=B" is not the name of a variable`},
		"an unknown default":        {"default: cursor", "default agent cursor is not among the agents"},
	} {
		t.Run(rule, func(t *testing.T) {
			_, err := readHostFile(t, c.content)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestValuesOfAHostFileStayAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	file, err := readHostFile(t, `
agents:
  claude: &claude {version: 1.10, env: {PORT: 010, MASK: 0x1F, EMPTY: }}
  codex: {<<: *claude, model: 2.0}
sandbox: {namespaces: no}
policy: {version: 1}
`)
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"PORT": "010", "MASK": "0x1F", "EMPTY": ""}
	want := map[string]agents.Entry{
		"claude": {Version: "1.10", Env: env}, "codex": {Version: "1.10", Env: env, Model: "2.0"},
	}
	if !reflect.DeepEqual(file.Agents, want) {
		t.Errorf("%+v", file.Agents)
	}
	if file.Sandbox.Namespaces == nil || *file.Sandbox.Namespaces {
		t.Errorf("namespaces: %v", file.Sandbox.Namespaces)
	}
}

func TestAnAgentGetsOnlyItsOwnVariables(t *testing.T) {
	t.Parallel()
	all := map[string]string{}
	for _, name := range agents.Variables() {
		all[name] = "host-" + name
	}
	c := HostConfig{
		AgentEnv: all,
		File: HostFile{
			Agents: map[string]agents.Entry{"mine": {Env: map[string]string{"MY_TOKEN": "my-token", "MODE": "careful"}}},
		},
	}
	names := func(kind string, entry agents.Entry) []string {
		var names []string
		agent, _ := agents.Find(kind)
		for _, variable := range c.agentEnv(agent, entry) {
			name, _, _ := strings.Cut(variable, "=")
			names = append(names, name)
		}
		return names
	}
	for rule, got := range map[string]struct{ got, want []string }{
		"Claude Code": {
			names("claude", agents.Entry{}),
			[]string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "CLAUDE_CODE_OAUTH_TOKEN"},
		},
		"Codex":    {names("codex", agents.Entry{}), []string{"OPENAI_API_KEY", "OPENAI_BASE_URL"}},
		"Gemini":   {names("gemini", agents.Entry{}), []string{"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL"}},
		"OpenCode": {names("opencode", agents.Entry{}), agents.Variables()},
		"jsonl":    {names("jsonl", c.File.Agents["mine"]), []string{"MODE", "MY_TOKEN"}},
	} {
		if !slices.Equal(got.got, got.want) {
			t.Errorf("%s: %q, want %q", rule, got.got, got.want)
		}
	}
	codex, _ := agents.Find("codex")
	env := c.agentEnv(codex, agents.Entry{Env: map[string]string{"OPENAI_API_KEY": "its-own"}})
	if env[len(env)-1] != "OPENAI_API_KEY=its-own" {
		t.Errorf("the entry's own goes last: %q", env)
	}
	secrets := c.secretValues()
	for _, secret := range []string{
		"host-ANTHROPIC_API_KEY", "host-ANTHROPIC_AUTH_TOKEN", "host-GEMINI_API_KEY", "my-token",
	} {
		if !slices.Contains(secrets, secret) {
			t.Errorf("%s is not masked", secret)
		}
	}
	if slices.Contains(secrets, "careful") || slices.Contains(secrets, "host-OPENAI_BASE_URL") {
		t.Errorf("masked without need: %q", secrets)
	}
}

func TestProvidersOfAHost(t *testing.T) {
	t.Parallel()
	records := t.TempDir()
	config := HostConfig{AgentsDir: t.TempDir(), DemoAgent: []string{"demo"}, Log: slog.New(slog.DiscardHandler)}
	set, err := config.newProviders(records)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := slices.Sorted(maps.Keys(set.providers)), []string{
		"claude", "codex", "demo", "gemini", "opencode",
	}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	config.Agent = "acp:sh -c 'exec cat'"
	if set, err = config.newProviders(records); err != nil || set.providers[config.Agent] == nil ||
		config.defaultAgent() != config.Agent {
		t.Errorf("%v, %v", set, err)
	}
	config.Agent = "nope"
	var e *protocol.Error
	if _, err = config.newProviders(records); !errors.As(err, &e) ||
		!strings.Contains(e.Hint, "claude, codex, demo, gemini, opencode, and acp:COMMAND") {
		t.Errorf("%v", err)
	}
}

// The program is searched at each start of an agent, so an installation takes
// effect at once. The turn shows the error.
func TestAMissingProgramNamesTheInstallCommand(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	config := HostConfig{AgentsDir: t.TempDir(), Log: slog.New(slog.DiscardHandler)}
	config.File.Agents = map[string]agents.Entry{
		"claude-acp": {Kind: agents.KindACP, Command: []string{"claude-agent-acp"}},
	}
	set, err := config.newProviders("")
	if err != nil {
		t.Fatal(err)
	}
	for name, hint := range map[string]string{
		"opencode": "bellhop agents install opencode", "claude": "bellhop agents install claude",
		"codex": "bellhop agents install codex", "gemini": "bellhop agents install gemini",
		"claude-acp": "bellhop agents install claude-agent-acp",
	} {
		t.Run(name, func(t *testing.T) {
			agent, err := set.providers[name].Open(t.Context(), agenthost.AgentSpec{
				SessionID: "s1", Dir: t.TempDir(), StateDir: t.TempDir(),
			})
			if err != nil {
				t.Fatal(err)
			}
			_, err = agent.Run(t.Context(), agenthost.Prompt{TurnID: "t1", Text: "hello"}, nil)
			var e *protocol.Error
			// The hint is in the message, because turns show no hint.
			if !errors.As(err, &e) || !strings.Contains(e.Message, "is not installed") || !strings.Contains(e.Message, hint) {
				t.Errorf("%v", err)
			}
			if err := agent.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAMissingDefaultAgentIsReportedAtTheStart(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for rule, c := range map[string]struct {
		config HostConfig
		fails  bool
		logs   string
	}{
		"from the command line: the host does not start": {HostConfig{Agent: "claude"}, true, ""},
		"from the file: the host starts with a warning": {
			HostConfig{File: HostFile{Default: "claude"}}, false, "bellhop agents install claude",
		},
		"the demo agent needs no program": {HostConfig{DemoAgent: []string{"demo"}}, false, ""},
	} {
		t.Run(rule, func(t *testing.T) {
			var log bytes.Buffer
			c.config.AgentsDir, c.config.Log = t.TempDir(), slog.New(slog.NewTextHandler(&log, nil))
			_, err := c.config.newProviders("")
			if (err != nil) != c.fails || (c.logs == "") != (log.Len() == 0) || !strings.Contains(log.String(), c.logs) {
				t.Errorf("%v, logged %q", err, log.String())
			}
		})
	}
}
