package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bellhop/agenthost/setup"
	"bellhop/internal/app/agents"
	"bellhop/internal/testenv"
)

func TestAgentsListNeedsNoNetwork(t *testing.T) {
	bin := t.TempDir()
	registry := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the registry was asked")
	}))
	defer registry.Close()
	t.Setenv("npm_config_registry", registry.URL)
	t.Setenv("PATH", bin+":/usr/bin:/bin")
	for name, version := range map[string]string{"codex": "0.169.4", "opencode": "0.1.0"} {
		if err := testenv.WriteProgram(filepath.Join(bin, name), []byte("#!/bin/sh\necho "+version+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	dir := filepath.Join(t.TempDir(), "agents")
	code, stdout, stderr := runCommand(t, "agents", "list", "--json", "--dir", dir)
	var got []agentState
	if err := json.Unmarshal([]byte(stdout), &got); code != 0 || err != nil {
		t.Fatalf("exit %d, %v\n%s%s", code, err, stdout, stderr)
	}
	states := map[string]agentState{}
	for _, state := range got {
		states[state.Name] = state
	}
	if s := states["codex"]; s.State != "path" || s.Found != "0.169.4" || s.Command[0] != filepath.Join(bin, "codex") {
		t.Errorf("codex: %+v", s)
	}
	if s := states["opencode"]; s.State != "missing" ||
		!strings.Contains(s.Problem, "is version 0.1.0, wanted is 1.18.33") ||
		!strings.Contains(s.Hint, "bellhop agents install opencode") {
		t.Errorf("opencode: %+v", s)
	}
	if s := states["claude"]; s.State != "missing" || s.Problem != "Claude Code is not installed" {
		t.Errorf("claude: %+v", s)
	}
	code, stdout, _ = runCommand(t, "agents", "list", "--dir", dir)
	if code != 0 || !strings.HasPrefix(stdout, "AGENT ") || strings.Count(stdout, "\n") != 6 {
		t.Errorf("exit %d\n%s", code, stdout)
	}
	code, stdout, stderr = runCommand(t, "agents", "check", "--dir", dir, "codex", "claude")
	if code != 1 || !strings.HasPrefix(stdout, "codex 0.169.4 runs: ") ||
		!strings.Contains(stderr, "1 of 2 agents cannot be used") {
		t.Errorf("check: exit %d\n%s%s", code, stdout, stderr)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the folder was touched: %v", err)
	}
}

func TestAgentsInstallFails(t *testing.T) {
	registry := httptest.NewServer(http.NotFoundHandler())
	defer registry.Close()
	t.Setenv("npm_config_registry", registry.URL+"/some/path")
	for name, c := range map[string]struct {
		agents []string
		want   []string
	}{
		"an unknown agent": {
			[]string{"codex", "nope"},
			[]string{`unknown agent "nope"`, "Known are: claude, claude-agent-acp, codex, gemini, opencode"},
		},
		"missing in the registry": {
			[]string{"codex", "claude"},
			[]string{"install codex: ", "install claude: ", "answered 404", "npm_config_registry"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := runCommand(t, append([]string{"agents", "install", "--dir", t.TempDir()}, c.agents...)...)
			if code != 1 || stdout != "" {
				t.Errorf("exit %d, %s", code, stdout)
			}
			for _, want := range c.want {
				if !strings.Contains(stderr, want) {
					t.Errorf("stderr lacks %q:\n%s", want, stderr)
				}
			}
		})
	}
}

func TestProgressBarOnATerminalAndElsewhere(t *testing.T) {
	steps := []setup.Progress{
		{Agent: "a", Step: setup.StepDownload, Total: 2_000_000},
		{Agent: "a", Step: setup.StepDownload, Done: 1_000_000, Total: 2_000_000},
		{Agent: "a", Step: setup.StepDownload, Done: 1_000_001, Total: 2_000_000},
		{Agent: "a", Step: setup.StepUnpack},
		{Agent: "b", Step: setup.StepDownload, Done: 5_000_000},
	}
	var out bytes.Buffer
	lines := progressBar{out: &out}
	for _, p := range steps {
		lines.update(p)
	}
	lines.clear()
	if want := "a: downloading 2 MB\na: unpacking\nb: downloading 5 MB so far\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
	out.Reset()
	bar := progressBar{out: &out, terminal: true}
	for _, p := range steps {
		bar.update(p)
	}
	bar.clear()
	const begin = "\r\x1b[K"
	want := begin + "a: [..............................]   0 % of 2 MB" + begin +
		"a: [###############...............]  50 % of 2 MB" +
		begin + "a: unpacking" + begin + "b: downloading 5 MB so far" + begin
	if out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

func TestAgentEnvironmentReadsVariablesAndFiles(t *testing.T) {
	set := map[string]string{
		"ANTHROPIC_API_KEY": "one", "OPENAI_API_KEY_FILE": "key", "BELLHOP_HOST_PASSWORD": "never", "GEMINI_API_KEY": "",
	}
	lookup := func(name string) (string, bool) { value, ok := set[name]; return value, ok }
	read := func(name string) ([]byte, error) { return []byte("two\n"), nil }
	got, err := agentEnvironment(lookup, read)
	if err != nil || len(got) != 2 || got["ANTHROPIC_API_KEY"] != "one" || got["OPENAI_API_KEY"] != "two" {
		t.Errorf("%v, %v", got, err)
	}
	set["OPENAI_API_KEY"] = "three"
	if _, err := agentEnvironment(lookup, read); err == nil ||
		!strings.Contains(err.Error(), "set OPENAI_API_KEY or OPENAI_API_KEY_FILE, not both") {
		t.Errorf("%v", err)
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "configuration.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range agents.Variables() {
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("the page of variables does not name %s", name)
		}
	}
}

func TestDevRefusesAgentsThatCannotStart(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	dev := []string{
		"dev", "--listen", "127.0.0.1:0", "--host-listen", "127.0.0.1:0", "--agents-dir", t.TempDir(), "--data",
	}
	for name, c := range map[string]struct{ agent, want string }{
		"an unknown agent":               {"nope", "Known agents: "},
		"an agent that is not installed": {"codex", "Install it: bellhop agents install codex"},
		"an ACP program that is not installed": {
			"acp:my-agent --acp", "the program my-agent of the agent acp:my-agent --acp was not found",
		},
		"acp: without a command":      {"acp:", "'acp:my-agent --acp'"},
		"acp: with an unclosed quote": {"acp:my-agent '", "'acp:my-agent --acp'"},
	} {
		t.Run(name, func(t *testing.T) {
			code, _, stderr := runCommand(t, append(dev, t.TempDir(), "--agent", c.agent)...)
			if code != 1 || !strings.Contains(stderr, c.want) {
				t.Errorf("exit %d\n%s", code, stderr)
			}
		})
	}
}

// A program that is asked for its version can change nothing but the home that it gets.
func TestAVersionIsAskedForInTheSandbox(t *testing.T) {
	bin, mark := t.TempDir(), filepath.Join(t.TempDir(), "escaped")
	t.Setenv("PATH", bin+":/usr/bin:/bin")
	script := "#!/bin/sh\necho x >\"$HOME/own\" || exit 1\necho x 2>/dev/null >" + mark + "\necho 0.169.4\n"
	if err := testenv.WriteProgram(filepath.Join(bin, "codex"), []byte(script), 0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	_, stdout, stderr := runCommand(t, "agents", "check", "--dir", filepath.Join(t.TempDir(), "agents"), "codex")
	if !strings.HasPrefix(stdout, "codex 0.169.4 runs: ") || !strings.Contains(stdout, "network proxy") {
		t.Errorf("%s%s", stdout, stderr)
	}
	if _, err := os.Stat(mark); !os.IsNotExist(err) {
		t.Errorf("it wrote elsewhere: %v", err)
	}
}
