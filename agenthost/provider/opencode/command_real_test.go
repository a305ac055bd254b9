//go:build agents

package opencode_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/providertest"
	"bellhop/internal/testenv/mockllm"
	"bellhop/protocol"
)

// The commands are an operator's, because a repository's are not read.
func TestARealCommandIsRunUnlessItRunsAShellByItself(t *testing.T) {
	t.Parallel()
	llm := mockllm.New(t)
	config := filepath.Join(t.TempDir(), "opencode.json")
	text := "{\"command\":{\"greet\":{\"description\":\"Greets\",\"template\":\"Say hello, $ARGUMENTS\"}," +
		"\"shell\":{\"template\":\"Say !`touch ran; echo hello`\"}}}"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var reported []protocol.Command
	spec := agenthost.AgentSpec{
		SessionID: "s1", Dir: t.TempDir(), StateDir: t.TempDir(), Model: realModel,
		ReportCommands: func(list []protocol.Command) { reported = list },
	}
	agent, err := realProvider(t, llm, config).Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = agent.Close(context.Background()) })
	input := providertest.ModelInput(llm)
	for prompt, want := range map[string]string{"/greet dear model": "Say hello, dear model", "/shell": "/shell"} {
		out := &providertest.Recorder{}
		outcome, err := agent.Run(t.Context(), agenthost.Prompt{TurnID: "t", Text: prompt}, out)
		if err != nil || outcome.FinishReason != protocol.FinishStop {
			t.Fatalf("%s: %+v, %v", prompt, outcome, err)
		}
		if got := input(); !strings.Contains(got, want) {
			t.Errorf("%s: the model got %s", prompt, got)
		}
	}
	if _, err := os.Stat(filepath.Join(spec.Dir, "ran")); err == nil {
		t.Error("the shell ran without a permission")
	}
	has := func(name string) bool {
		return slices.ContainsFunc(reported, func(c protocol.Command) bool { return c.Name == name })
	}
	if !has("greet") || !has("init") || has("shell") {
		t.Errorf("reported %+v", reported)
	}
}
