//go:build agents

package agents

import (
	"testing"

	"bellhop/internal/testenv/agents"
	"bellhop/internal/testenv/mockllm"
)

// subject is an agent under test.
type subject struct {
	name    string // of its program
	agent   string // as `bellhop dev --agent` knows it
	model   string // "" = the agent's own choice
	address string // variable of the model's address
	path    string // behind the mock's address
	key     string // variable of the model's key
}

var subjects = []subject{
	{name: "opencode", agent: "opencode", model: "openai-compatible/mock-1", address: "OPENAI_BASE_URL", path: "/v1", key: "OPENAI_API_KEY"},
	{name: "claude", agent: "claude", address: "ANTHROPIC_BASE_URL", key: "ANTHROPIC_API_KEY"},
	// Codex offers the tool that edits files to models that it knows.
	{name: "codex", agent: "codex", model: "gpt-5.5", address: "OPENAI_BASE_URL", path: "/v1", key: "OPENAI_API_KEY"},
	{name: "gemini", agent: "gemini", address: "GOOGLE_GEMINI_BASE_URL", key: "GEMINI_API_KEY"},
	{name: "claude-agent-acp", agent: "acp:claude-agent-acp", address: "ANTHROPIC_BASE_URL", key: "ANTHROPIC_API_KEY"},
}

// eachAgent runs a test with every agent, on a dev of its own.
func eachAgent(t *testing.T, test func(t *testing.T, d *dev)) {
	t.Helper()
	for _, s := range subjects {
		t.Run(s.name, func(t *testing.T) {
			agents.FindCommand(t, s.name) // says how to get it
			test(t, startDev(t, s, mockllm.New(t)))
		})
	}
}

func (s subject) env(llm *mockllm.Server) []string {
	return []string{s.address + "=" + llm.URL + s.path, s.key + "=dummy"}
}
