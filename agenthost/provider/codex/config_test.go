package codex_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/codex"
	"bellhop/agenthost/provider/providertest"
)

func TestConfiguration(t *testing.T) {
	t.Parallel()
	local := &agenthost.Local{MCPURL: "http://127.0.0.1:1/mcp", Secret: "s3cret"}
	for _, c := range []struct {
		rule       string
		env        []string
		local      *agenthost.Local
		have, lack []string
	}{
		{
			"a key configures the model provider at the configured address",
			[]string{"OPENAI_API_KEY=k3y", "OPENAI_BASE_URL=http://127.0.0.1:2/v1"},
			nil,
			[]string{
				`model_provider = "bellhop"`, `base_url = "http://127.0.0.1:2/v1"`,
				`env_key = "OPENAI_API_KEY"`, "request_max_retries = 4",
			},
			[]string{"k3y", "mcp_servers"},
		},
		{
			"a key without an address uses the vendor's address",
			[]string{"OPENAI_API_KEY=k3y"},
			nil,
			[]string{`base_url = "https://api.openai.com/v1"`},
			nil,
		},
		{
			"without a key the agent's own login is used",
			nil, nil,
			[]string{`model_provider = "openai"`},
			[]string{"model_providers"},
		},
		{
			"telemetry and update checks are off",
			nil, nil,
			[]string{
				"check_for_update_on_startup = false", "[analytics]\nenabled = false", `exporter = "none"`,
				`persistence = "none"`, "plugins = false",
			},
			nil,
		},
		{
			"the host's MCP server is reached with a bearer that is not in the file",
			nil, local,
			[]string{
				"[mcp_servers.bellhop]", `url = "http://127.0.0.1:1/mcp"`,
				`bearer_token_env_var = "BELLHOP_WORKSPACE_SECRET"`, `default_tools_approval_mode = "prompt"`,
			},
			[]string{"s3cret"},
		},
		{
			"a value cannot become configuration",
			[]string{"OPENAI_API_KEY=k", "OPENAI_BASE_URL=x\"\n[features]\nplugins = true"},
			nil,
			[]string{`base_url = "x\"\n[features]\nplugins = true"`},
			nil,
		},
	} {
		t.Run(c.rule, func(t *testing.T) {
			f := newFixture(t, begun+turnCompleted)
			f.options.Env = append(f.options.Env, c.env...)
			f.Spec.Local = c.local
			f.Want(f.Run(&providertest.Recorder{}, "hello"), providertest.Finished)
			got, err := os.ReadFile(filepath.Join(f.Spec.StateDir, ".codex", "config.toml"))
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range c.have {
				if !strings.Contains(string(got), want) {
					t.Errorf("%q is not in\n%s", want, got)
				}
			}
			for _, not := range c.lack {
				if strings.Contains(string(got), not) {
					t.Errorf("%q is in\n%s", not, got)
				}
			}
		})
	}
}

// Codex runs these without asking unless a rule of its own says otherwise.
func TestCodexAsksAboutCommandsThatItTakesForHarmless(t *testing.T) {
	t.Parallel()
	f := newFixture(t, begun+turnCompleted)
	f.Want(f.Run(&providertest.Recorder{}, "hello"), providertest.Finished)
	rules, err := os.ReadFile(filepath.Join(f.Spec.StateDir, ".codex", "rules", "always_ask.rules"))
	if err != nil || !strings.Contains(string(rules), `decision = "prompt"`) {
		t.Fatalf("got %q, %v", rules, err)
	}
	harmless := "cat cd cut echo expr false grep head id ls nl paste pwd rev seq stat tail tr true uname uniq wc " +
		"which whoami numfmt tac base64 find rg git sed"
	for program := range strings.FieldsSeq(harmless) {
		if !strings.Contains(string(rules), `"`+program+`"`) {
			t.Errorf("no rule is about %s", program)
		}
	}
}

func TestTheLoginIsSharedAndASessionsOwnLoginIsKept(t *testing.T) {
	t.Parallel()
	login := filepath.Join(t.TempDir(), "auth.json")
	for _, own := range []bool{false, true} {
		f := newFixture(t, begun+turnCompleted)
		f.options.Login = login
		path := filepath.Join(f.Spec.StateDir, ".codex", "auth.json")
		if own {
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte("own"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		f.Want(f.Run(&providertest.Recorder{}, "hello"), providertest.Finished)
		if target, err := os.Readlink(path); (err == nil) == own || !own && target != login {
			t.Errorf("own %t: got the link %q, %v", own, target, err)
		}
	}
}

func TestTheEnvironmentHasNoVariablesOfTheHost(t *testing.T) {
	t.Setenv("BELLHOP_HOST_SECRET", "canary")
	f := newFixture(t, `{"dir":"env"}`+"\n"+begun+turnCompleted)
	f.Spec.Env = []string{"OWN=1"}
	f.Spec.Local = &agenthost.Local{MCPURL: "http://127.0.0.1:1", Secret: "s3cret"}
	f.Want(f.Run(&providertest.Recorder{}, "hello"), providertest.Finished)
	got, err := os.ReadFile(filepath.Join(f.Spec.StateDir, "environment"))
	if err != nil {
		t.Fatal(err)
	}
	env := "\n" + string(got) + "\n"
	for _, want := range []string{
		"OWN=1", "BELLHOP_WORKSPACE_SECRET=s3cret",
		"HOME=" + f.Spec.StateDir, "CODEX_HOME=" + filepath.Join(f.Spec.StateDir, ".codex"),
	} {
		if !strings.Contains(env, "\n"+want+"\n") {
			t.Errorf("%s is not in %s", want, env)
		}
	}
	if strings.Contains(env, "canary") {
		t.Error("the agent sees the host's secrets")
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	find := func(context.Context) (string, error) { return "codex", nil }
	for rule, options := range map[string]codex.Options{
		"a provider without a program": {},
		"an unknown sandbox":           {Find: find, Sandbox: "yolo"},
	} {
		t.Run(rule, func(t *testing.T) {
			if _, err := codex.New(options).Open(t.Context(), agenthost.AgentSpec{}); err == nil {
				t.Error("it opened")
			}
		})
	}
}
