//go:build agents

package opencode_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/opencode"
	"bellhop/agenthost/provider/providertest"
	"bellhop/internal/testenv/mockllm"
)

func TestRealHello(t *testing.T) {
	llm := mockllm.New(t)
	dir := t.TempDir()
	p := opencode.New(opencode.Options{
		Find: func(context.Context) (string, error) { return os.Getenv("OC"), nil },
		Env:  []string{"ANTHROPIC_API_KEY=dummy", "ANTHROPIC_BASE_URL=" + llm.URL},
	})
	a, err := p.Open(t.Context(), agenthost.AgentSpec{SessionID: "s1", Dir: dir, StateDir: t.TempDir(), Model: "anthropic/mock-1", Log: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close(context.Background())
	for _, prompt := range []string{"WRITE hello.txt", "Say hello", "THINK", "TASK go", "ASK", "BASH exit 3", "FAIL400", "TWO"} {
		out := &providertest.Recorder{Decide: func(context.Context, string, agenthost.Question) (agenthost.Answer, error) {
			return agenthost.Answer{Approved: true, Text: "Blue"}, nil
		}}
		began := time.Now()
		outcome, err := a.Run(t.Context(), agenthost.Prompt{TurnID: "t1", Text: prompt}, out)
		t.Logf("%s: %+v %v usage=%s %v", prompt, outcome, err, outcome.Usage, time.Since(began))
		for _, e := range out.Entries() {
			t.Logf("   %+v", e)
		}
		t.Log(out.Broken(true))
	}
	body, err := os.ReadFile(filepath.Join(dir, "hello.txt"))
	t.Logf("%q %v", body, err)
	if term, err := a.(agenthost.TerminalAgent).Terminal(t.Context()); err == nil {
		t.Log(term.Command)
	}
}
