//go:build agents

package opencode_test

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/opencode"
	"bellhop/agenthost/provider/providertest"
	"bellhop/internal/testenv/agents"
	"bellhop/internal/testenv/mockllm"
	"bellhop/protocol"
)

// realProvider returns a provider of the real program with a scripted model.
func realProvider(t *testing.T, llm *mockllm.Server, config string) *opencode.Provider {
	t.Helper()
	path := agents.Find(t, "opencode")
	return opencode.New(opencode.Options{
		Find:   func(context.Context) (string, error) { return path, nil },
		Env:    []string{"OPENAI_API_KEY=dummy", "OPENAI_BASE_URL=" + llm.URL + "/v1", providertest.Mark(t)},
		Config: config,
	})
}

const realModel = "openai-compatible/mock-1"

func TestRealOpenCodeKeepsTheContract(t *testing.T) {
	t.Parallel()
	llm := mockllm.New(t)
	providertest.Run(t, func(t *testing.T) providertest.Subject {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "hello.txt"), []byte("hello\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		loose := filepath.Join(t.TempDir(), "opencode.json")
		if err := os.WriteFile(loose, []byte(`{"permission":{"bash":"allow","edit":"ask"}}`), 0o600); err != nil {
			t.Fatal(err)
		}
		return providertest.Subject{
			Provider: realProvider(t, llm, loose),
			CannotStart: opencode.New(opencode.Options{
				Find: func(context.Context) (string, error) {
					return "", protocol.Errorf(protocol.CodeNotFound, "not installed")
				},
			}),
			Spec:         agenthost.AgentSpec{Dir: dir, Model: realModel},
			AsksAlways:   true,
			StartsSlowly: true,
			Prompts: providertest.Prompts{
				Text:      "Say hello",
				Tool:      "READ hello.txt",
				Confirm:   "WRITE note.txt",
				Ask:       "ASK",
				Endless:   "SLOW 6000",
				Crash:     `BASH echo "panic: oh no" >/proc/$PPID/fd/2; kill -9 $PPID`,
				Fail:      "FAIL400",
				LastLines: "panic: oh no",
			},
			Kill: func(t *testing.T) { providertest.Signal(t, syscall.SIGKILL) },
			Forget: func(t *testing.T, spec agenthost.AgentSpec) {
				if err := os.RemoveAll(filepath.Join(spec.StateDir, ".local", "share", "opencode")); err != nil {
					t.Fatal(err)
				}
			},
			Input:   providertest.ModelInput(llm),
			Running: providertest.Running(t),
		}
	})
}
