package opencode

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/stdio"
	"bellhop/protocol"
)

func configured(t *testing.T, operators string, spec agenthost.AgentSpec, env ...string) (*configuration, error) {
	t.Helper()
	options := Options{Env: env}
	if operators != "" {
		options.Config = filepath.Join(t.TempDir(), "opencode.json")
		if err := os.WriteFile(options.Config, []byte(operators), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return configure(options, spec, variables(options, spec))
}

func TestConfiguration(t *testing.T) {
	t.Parallel()
	const base = `"autoupdate":false,"lsp":false,"share":"disabled"`
	const asks = `"permission":{"*":"ask"}`
	for _, c := range []struct {
		rule      string
		operators string
		spec      agenthost.AgentSpec
		env       []string
		want      string
	}{
		{
			"a key gives access, and stays out of the file", "",
			agenthost.AgentSpec{},
			[]string{"ANTHROPIC_API_KEY=secret"},
			`{` + base + `,"enabled_providers":["anthropic"],` + asks +
				`,"provider":{"anthropic":{"options":{"apiKey":"{env:ANTHROPIC_API_KEY}"}}}}`,
		},
		{
			"Anthropic's address is given without /v1", "",
			agenthost.AgentSpec{Model: "anthropic/m"},
			[]string{"ANTHROPIC_API_KEY=k", "ANTHROPIC_BASE_URL=http://x/"},
			`{` + base + `,"enabled_providers":["anthropic"],"model":"anthropic/m",` + asks +
				`,"provider":{"anthropic":{"models":{"m":{}},"name":"anthropic","npm":"@ai-sdk/anthropic","options":{"apiKey":"{env:ANTHROPIC_API_KEY}","baseURL":"http://x/v1"}}},"small_model":"anthropic/m"}`,
		},
		{
			"OpenAI's address is given with /v1, for both of its interfaces", "",
			agenthost.AgentSpec{},
			[]string{"OPENAI_API_KEY=k", "OPENAI_BASE_URL=http://x/v1"},
			`{` + base + `,"enabled_providers":["openai","openai-compatible"],` + asks +
				`,"provider":{"openai":{"name":"openai","npm":"@ai-sdk/openai","options":{"apiKey":"{env:OPENAI_API_KEY}","baseURL":"http://x/v1"}},"openai-compatible":{"name":"openai-compatible","npm":"@ai-sdk/openai-compatible","options":{"apiKey":"{env:OPENAI_API_KEY}","baseURL":"http://x/v1"}}}}`,
		},
		{
			"the host's tools are an MCP server", "",
			agenthost.AgentSpec{Local: &agenthost.Local{MCPURL: "http://127.0.0.1:1/mcp", Secret: `a"b`}},
			[]string{"OPENAI_API_KEY=k"},
			`{` + base +
				`,"enabled_providers":["openai"],"mcp":{"bellhop":{"enabled":true,"headers":{"Authorization":"Bearer a\"b"},"oauth":false,"timeout":660000,"type":"remote","url":"http://127.0.0.1:1/mcp"}},` + asks + `,"provider":{"openai":{"options":{"apiKey":"{env:OPENAI_API_KEY}"}}}}`,
		},
		{
			"an operator's permissions, sharing and updates are ignored",
			`{"permission":{"bash":"allow"},"share":"auto","autoupdate":true,"model":"own/m","provider":{"own":{"options":{}}}}`,
			agenthost.AgentSpec{},
			nil,
			`{` + base +
				`,"enabled_providers":["own"],"model":"own/m","permission":{"*":"ask","bash":"ask"},"provider":{"own":{"options":{}}}}`,
		},
		{
			"a session's model wins over the operator's", `{"model":"own/m","enabled_providers":["own","x"]}`,
			agenthost.AgentSpec{Model: "x/y"},
			nil,
			`{` + base + `,"enabled_providers":["own","x"],"model":"x/y",` + asks + `,"provider":{"x":{"models":{"y":{}}}}}`,
		},
	} {
		t.Run(c.rule, func(t *testing.T) {
			got, err := configured(t, c.operators, c.spec, c.env...)
			if err != nil {
				t.Fatal(err)
			}
			var want object
			if err := json.Unmarshal([]byte(c.want), &want); err != nil {
				t.Fatal(err)
			}
			sorted, _ := json.Marshal(want)
			if encoded, _ := json.Marshal(got.file); string(encoded) != string(sorted) {
				t.Errorf("got\n%s\nwant\n%s", encoded, sorted)
			}
		})
	}
}

func TestAnInvalidConfigurationIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule, operators, model string
		env                    []string
		hint                   string
	}{
		{"no access to any model", "", "", nil, "ANTHROPIC_API_KEY"},
		{"a model without its provider", "", "gpt", []string{"OPENAI_API_KEY=k"}, "provider/model"},
		{"an operator's file that is no JSON", "{// x\n}", "", nil, "without comments"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			_, err := configured(t, c.operators, agenthost.AgentSpec{Model: c.model}, c.env...)
			var e *protocol.Error
			if !errors.As(err, &e) || e.Code != protocol.CodeInvalid || !strings.Contains(e.Hint, c.hint) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestTheEnvironmentIsPerSessionAndAllowsNoRegistry(t *testing.T) {
	t.Setenv("BELLHOP_SECRET_OF_THE_HOST", "x")
	t.Setenv("npm_config_registry", "http://elsewhere")
	spec := agenthost.AgentSpec{Env: []string{"HOME=/elsewhere", "ANTHROPIC_API_KEY=k"}}
	c, err := configured(t, "", spec)
	if err != nil {
		t.Fatal(err)
	}
	env, err := c.environment(variables(Options{}, spec), "/state", "/file", "password")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"HOME": "/state", "XDG_DATA_HOME": "/state/.local/share", "npm_config_registry": "http://127.0.0.1:9",
		"OPENCODE_SERVER_PASSWORD": "password", "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1",
		"OPENCODE_DISABLE_LSP_DOWNLOAD": "1", "OPENCODE_PERMISSION": `{"*":"ask"}`,
		"BELLHOP_SECRET_OF_THE_HOST": "",
	} {
		if got := stdio.Lookup(env, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestOnlyTheOwnerMayReadTheFile(t *testing.T) {
	t.Parallel()
	c, err := configured(t, "", agenthost.AgentSpec{}, "ANTHROPIC_API_KEY=k")
	if err != nil {
		t.Fatal(err)
	}
	path, err := c.write(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v", info.Mode(), err)
	}
}

func TestRulesOfASessionAskForEveryTool(t *testing.T) {
	t.Parallel()
	ask := rule{"*", "*", "ask"}
	for name, c := range map[string]struct {
		operators string
		want      []rule
	}{
		"without permissions": {`{"provider":{}}`, []rule{ask}},
		"everything allowed":  {`{"permission":"allow"}`, []rule{ask}},
		"everything denied":   {`{"permission":"deny"}`, []rule{ask, {"*", "*", "deny"}}},
		"a tool allowed, one denied": {
			`{"permission":{"bash":"allow","webfetch":"deny"}}`, []rule{ask, {"webfetch", "*", "deny"}},
		},
		"patterns": {
			`{"permission":{"bash":{"*":"allow","rm *":"deny"}}}`, []rule{ask, {"bash", "rm *", "deny"}},
		},
		"an unknown action counts as ask": {`{"permission":{"bash":7}}`, []rule{ask}},
		"an agent's own permissions":      {`{"agent":{"build":{"permission":{"bash":"allow"}}}}`, []rule{ask}},
	} {
		t.Run(name, func(t *testing.T) {
			c, want := c.operators, c.want
			got, err := configured(t, c, agenthost.AgentSpec{})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got.rules(), want) {
				t.Errorf("got %v, not %v", got.rules(), want)
			}
			if text, _ := json.Marshal(got.file["permission"]); bytes.Contains(text, []byte("allow")) {
				t.Errorf("the file allows something: %s", text)
			}
		})
	}
}

func TestToolsOfServersHaveTheSameNamesForAllAgents(t *testing.T) {
	t.Parallel()
	c := &configuration{
		file: object{"mcp": object{"bellhop": object{}, "my docs": object{}, "my": object{}, "apply": object{}}},
	}
	for name, want := range map[string]string{
		"bellhop_workspace_getStatus": "mcp__bellhop__workspace_getStatus",
		"my_docs_find":                "mcp__my_docs__find",
		"my_find":                     "mcp__my__find",
		"apply_patch":                 "apply_patch",
		"apply_it":                    "mcp__apply__it",
		"bash":                        "bash",
		"bellhop":                     "bellhop",
		"":                            "",
	} {
		if got := c.toolName(name); got != want {
			t.Errorf("%q is %q, not %q", name, got, want)
		}
	}
	if got := (&configuration{file: object{}}).toolName("a_b"); got != "a_b" {
		t.Errorf("without servers: %q", got)
	}
}
