package agents_test

import (
	"testing"

	"bellhop/agenthost/setup"
	"bellhop/internal/app/agents"
)

func TestThePlatformDecidesBetweenTheBuilds(t *testing.T) {
	t.Parallel()
	packages := func(name string, p setup.Platform) string {
		for _, agent := range agents.Programs() {
			if agent.Name == name {
				artifact, _ := agent.Artifact(p)
				return artifact.Package + " " + artifact.Version
			}
		}
		return "unknown agent"
	}
	for _, c := range []struct {
		rule, agent string
		platform    setup.Platform
		want        string
	}{
		{"x64", "opencode", setup.Platform{OS: "linux", Arch: "amd64", AVX2: true}, "opencode-linux-x64 1.18.33"},
		{"x64 without AVX2", "opencode", setup.Platform{OS: "linux", Arch: "amd64"}, "opencode-linux-x64-baseline 1.18.33"},
		{
			"AVX2 does not matter to others", "claude",
			setup.Platform{OS: "linux", Arch: "amd64"},
			"@anthropic-ai/claude-code-linux-x64 2.1.328",
		},
		{
			"musl", "claude",
			setup.Platform{OS: "linux", Arch: "arm64", Musl: true},
			"@anthropic-ai/claude-code-linux-arm64-musl 2.1.328",
		},
		{
			"a static build runs on musl", "codex",
			setup.Platform{OS: "linux", Arch: "amd64", Musl: true},
			"@openai/codex 0.169.0-linux-x64",
		},
		{"a Mac", "codex", setup.Platform{OS: "darwin", Arch: "arm64"}, "@openai/codex 0.169.0-darwin-arm64"},
		{"JavaScript runs anywhere", "gemini", setup.Platform{OS: "plan9", Arch: "mips"}, "@google/gemini-cli 0.61.0"},
		{"nothing is guessed", "opencode", setup.Platform{OS: "linux", Arch: "amd64", AVX2: true, Musl: true}, " "},
	} {
		t.Run(c.rule, func(t *testing.T) {
			if got := packages(c.agent, c.platform); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
