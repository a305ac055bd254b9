//go:build agents

package acp_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/acp"
	"bellhop/agenthost/provider/providertest"
	"bellhop/internal/testenv/agents"
	"bellhop/internal/testenv/mockllm"
	"bellhop/protocol"
)

// kind is a real agent with a scripted model.
type kind struct {
	name string
	make func(acp.Options) *acp.Provider
	env  func(url string) []string
	mcp  string // how the model calls the host's tool
	kept string // where the agent keeps its sessions, below its home
}

var kinds = []kind{
	{"gemini", acp.Gemini, func(url string) []string {
		return []string{"GEMINI_API_KEY=dummy", "GOOGLE_GEMINI_BASE_URL=" + url}
	}, "CALL mcp_bellhop_workspace_getStatus {}", ".gemini/tmp/*/chats/session-*"},
	{"claude-agent-acp", acp.New, func(url string) []string {
		return []string{
			"ANTHROPIC_API_KEY=dummy", "ANTHROPIC_BASE_URL=" + url, "CLAUDE_CODE_MAX_RETRIES=0", "IS_SANDBOX=1",
			"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
		}
	}, "CALL mcp__bellhop__workspace_getStatus {}", ".claude/projects/*/*.jsonl"},
}

func (k kind) options(t *testing.T, llm *mockllm.Server) acp.Options {
	t.Helper()
	command := agents.FindCommand(t, k.name)
	return acp.Options{
		Name:    k.name,
		Command: func(context.Context) ([]string, error) { return command, nil },
		Env:     k.env(llm.URL),
		Records: t.TempDir(),
		Grace:   20 * time.Second,
	}
}

func (k kind) real(t *testing.T, llm *mockllm.Server) *providertest.Real {
	t.Helper()
	options := k.options(t, llm)
	return &providertest.Real{
		Provider: k.make(options), Records: options.Records,
		Spec: agenthost.AgentSpec{SessionID: "0193a5c0-0000-7000-8000-000000000001", Dir: t.TempDir(), StateDir: t.TempDir()},
	}
}

// each runs a test with every kind of agent.
func each(t *testing.T, test func(t *testing.T, k kind, r *providertest.Real)) {
	t.Helper()
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) { test(t, k, k.real(t, mockllm.New(t))) })
	}
}

func TestContractWithTheRealPrograms(t *testing.T) {
	t.Parallel()
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			providertest.Run(t, func(t *testing.T) providertest.Subject {
				options, dir := k.options(t, mockllm.New(t)), t.TempDir()
				providertest.PutFiles(t, dir, map[string]string{"README.md": "hello\n"})
				missing := options
				missing.Command = func(context.Context) ([]string, error) {
					return []string{filepath.Join(dir, "missing")}, nil
				}
				return providertest.Subject{
					Provider:    k.make(options),
					Spec:        agenthost.AgentSpec{Dir: dir},
					CannotStart: k.make(missing), AsksAlways: k.name == "gemini", StartsSlowly: true,
					Prompts: providertest.Prompts{
						Text: "hello", Tool: "READ README.md", Confirm: "WRITE hello.txt", Endless: "SLOW 3000", Fail: "FAIL400",
					},
					Forget: func(t *testing.T, spec agenthost.AgentSpec) {
						folder, _, _ := strings.Cut(k.kept, "/*")
						if err := os.RemoveAll(filepath.Join(spec.StateDir, folder)); err != nil {
							t.Fatal(err)
						}
					},
					AwaitMemory: func(t *testing.T, spec agenthost.AgentSpec) {
						providertest.AwaitWritten(t, filepath.Join(spec.StateDir, k.kept), "hello")
					},
					AgeMemory: func(t *testing.T, spec agenthost.AgentSpec) { agents.AgeGemini(t, spec.StateDir) },
					Kill:      func(t *testing.T) { providertest.KillRecorded(t, options.Records) },
					Running:   func() []string { return providertest.Recorded(t, options.Records) },
				}
			})
		})
	}
}

func TestFailuresOfTheRealProgramsAreOutcomes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, _ kind, r *providertest.Real) {
		outcome, err := r.Open(t).Run(t.Context(), agenthost.Prompt{TurnID: "turn-1", Text: "FAIL400"},
			&providertest.Recorder{})
		if err != nil || outcome.FinishReason != protocol.FinishError || !strings.Contains(outcome.Err, "mock error 400") {
			t.Errorf("got %+v, %v", outcome, err)
		}
	})
}

func TestTheRealProgramsWriteTheFileOnlyAfterTheAnswer(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, _ kind, r *providertest.Real) { r.WritesAfterTheAnswer(t) })
}

func TestTheRealProgramsResumeAfterSIGKILL(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k kind, r *providertest.Real) {
		r.ResumesAfterSIGKILL(t, "0193a5c0-0000-7000-8000-00000000dead", func() {
			providertest.AwaitWritten(t, filepath.Join(r.Spec.StateDir, k.kept), "from the mock LLM")
			providertest.KillRecorded(t, r.Records)
			agents.AgeGemini(t, r.Spec.StateDir)
		})
	})
}

func TestAnInterruptEndsTheCommandsOfTheRealPrograms(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, _ kind, r *providertest.Real) { r.EndsCommandsOnInterrupt(t) })
}

func TestTheRealProgramsCallTheHostsTool(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k kind, r *providertest.Real) {
		r.Spec.Local, _ = providertest.HostTool(t)
		r.CallsTheHostsTool(t, k.mcp)
	})
}
