//go:build agents

package claude_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/claude"
	"bellhop/agenthost/provider/providertest"
	"bellhop/internal/testenv/agents"
	"bellhop/internal/testenv/mockllm"
)

// real is a provider of the real program against a scripted model.
func real(t *testing.T) (*claude.Provider, *mockllm.Server) {
	t.Helper()
	llm := mockllm.New(t)
	return claude.New(claude.Options{
		Find:  found(agents.Find(t, "claude")),
		Grace: 10 * time.Second,
		Env:   []string{"ANTHROPIC_BASE_URL=" + llm.URL, "ANTHROPIC_API_KEY=mock-key-0123456789-0123456789", mark + "=" + t.Name()},
	}), llm
}

func TestTheRealProgramKeepsTheContract(t *testing.T) {
	providertest.Run(t, func(t *testing.T) providertest.Subject {
		provider, _ := real(t)
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "README.md"), []byte("read me\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return providertest.Subject{
			Provider:    provider,
			CannotStart: claude.New(claude.Options{Find: found(filepath.Join(dir, "no-such-program"))}),
			Spec:        agenthost.AgentSpec{Dir: dir},
			Prompts: providertest.Prompts{
				Text:    "Say hello",
				Tool:    "READ README.md",
				Confirm: "WRITE hello.txt",
				Ask:     "ASK me",
				Endless: "SLOW 6000",
				Fail:    "FAIL400",
			},
			Running: running(t),
		}
	})
}

func TestTheRealProgramWritesAFileWhenAllowed(t *testing.T) {
	provider, _ := real(t)
	spec := agenthost.AgentSpec{SessionID: "s1", Dir: t.TempDir(), StateDir: t.TempDir()}
	a, err := provider.Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Close(context.Background()) }()
	out := &providertest.Recorder{Decide: func(context.Context, string, agenthost.Question) (agenthost.Answer, error) {
		return agenthost.Answer{Approved: true}, nil
	}}
	outcome, err := a.Run(t.Context(), agenthost.Prompt{Text: "WRITE hello.txt"}, out)
	t.Logf("%+v %v usage %s", outcome, err, outcome.Usage)
	for _, e := range out.Entries() {
		t.Logf("%+v", e)
	}
	if body, err := os.ReadFile(filepath.Join(spec.Dir, "hello.txt")); err != nil {
		t.Errorf("%s %v", body, err)
	}
}
