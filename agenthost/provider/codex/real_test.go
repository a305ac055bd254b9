//go:build agents

package codex_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/codex"
	"bellhop/agenthost/provider/providertest"
	"bellhop/internal/testenv/agents"
	"bellhop/internal/testenv/mockllm"
	"bellhop/protocol"
)

// model uses apply_patch in the model catalogue that is built into Codex.
const model = "gpt-5.5"

// options returns the options of the installed Codex with a scripted model.
func options(t *testing.T, llm *mockllm.Server) codex.Options {
	t.Helper()
	path := agents.Find(t, "codex")
	return codex.Options{
		Find:    func(context.Context) (string, error) { return path, nil },
		Env:     []string{"OPENAI_API_KEY=dummy", "OPENAI_BASE_URL=" + llm.URL + "/v1"},
		Records: t.TempDir(),
		Retries: 1,
		Grace:   10 * time.Second,
	}
}

func real(t *testing.T, o codex.Options) *providertest.Real {
	t.Helper()
	return &providertest.Real{Provider: codex.New(o), Records: o.Records, Spec: agenthost.AgentSpec{
		SessionID: "0193a5c0-0000-7000-8000-000000000001", Dir: t.TempDir(), StateDir: t.TempDir(), Model: model,
	}}
}

func TestContractWithTheRealProgram(t *testing.T) {
	t.Parallel()
	providertest.Run(t, func(t *testing.T) providertest.Subject {
		o := options(t, mockllm.New(t))
		missing := o
		missing.Find = func(context.Context) (string, error) { return filepath.Join(t.TempDir(), "codex"), nil }
		return providertest.Subject{
			Provider:     codex.New(o),
			Spec:         agenthost.AgentSpec{Model: model},
			CannotStart:  codex.New(missing),
			AsksAlways:   true,
			StartsSlowly: true,
			Prompts: providertest.Prompts{
				Text: "hello", Tool: "BASH echo hello", Confirm: "WRITE hello.txt", Endless: "SLOW 3000",
				Fail: "FAIL400", Ask: "ASK",
			},
			Kill: func(t *testing.T) { providertest.KillRecorded(t, o.Records) },
			Forget: func(t *testing.T, spec agenthost.AgentSpec) {
				if err := os.RemoveAll(filepath.Join(spec.StateDir, ".codex", "sessions")); err != nil {
					t.Fatal(err)
				}
			},
			Running: func() []string { return providertest.Recorded(t, o.Records) },
		}
	})
}

func TestTheRealProgramWritesTheFileOnlyAfterTheAnswer(t *testing.T) {
	t.Parallel()
	real(t, options(t, mockllm.New(t))).WritesAfterTheAnswer(t)
}

func TestAnInterruptEndsTheCommandsOfTheRealPrograms(t *testing.T) {
	t.Parallel()
	o := options(t, mockllm.New(t))
	o.Sandbox = codex.SandboxNone // inside the sandbox, its processes have other process ids
	real(t, o).EndsCommandsOnInterrupt(t)
}

func TestTheRealProgramGivesUpAnUnreachableModel(t *testing.T) {
	t.Parallel()
	o := options(t, mockllm.New(t))
	o.Env = append(o.Env, "OPENAI_BASE_URL=http://127.0.0.1:9/v1")
	out := &providertest.Recorder{}
	outcome, err := real(t, o).Open(t).Run(t.Context(), agenthost.Prompt{TurnID: "turn-1", Text: "hello"}, out)
	if err != nil || outcome.FinishReason != protocol.FinishError || outcome.Err == "" {
		t.Errorf("got %+v, %v; the output got %+v", outcome, err, out.Entries())
	}
}

func TestTheRealProgramResumesAfterSIGKILL(t *testing.T) {
	t.Parallel()
	r := real(t, options(t, mockllm.New(t)))
	r.ResumesAfterSIGKILL(t, "01a1f7f6-004b-7792-9e6e-5ef9438d707d", func() { providertest.KillRecorded(t, r.Records) })
}

func TestTheRealProgramCallsTheHostsTool(t *testing.T) {
	t.Parallel()
	r := real(t, options(t, mockllm.New(t)))
	local, refused := providertest.HostTool(t)
	r.Spec.Model = "mock-1" // models of the catalogue must search for tools first
	r.Spec.Local = local
	asked := r.CallsTheHostsTool(t, "CALL workspace_getStatus {}").Of(providertest.KindConfirm)
	if len(asked) != 1 || asked[0].Question.ToolName != "mcp__bellhop__workspace_getStatus" ||
		asked[0].Question.ToolCallID == "" {
		t.Errorf("asked %+v", asked)
	}
	if refused.Load() > 0 {
		t.Errorf("%d requests without the bearer", refused.Load())
	}
}
