package app

import (
	"maps"
	"regexp"
	"slices"
)

// What the agents of each kind get of the host's own environment: keys and
// addresses of language models, and nothing else.
var (
	anthropicVariables = []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "CLAUDE_CODE_OAUTH_TOKEN"}
	openAIVariables    = []string{"OPENAI_API_KEY", "OPENAI_BASE_URL"}
	geminiVariables    = []string{"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL"}
	otherVariables     = []string{"OPENROUTER_API_KEY"}
)

// AgentVariables are the variables of the host's own environment that its
// agents may get; HostConfig.AgentEnv has their values.
func AgentVariables() []string {
	return slices.Concat(anthropicVariables, openAIVariables, geminiVariables, otherVariables)
}

// variablesOf a kind. The demo agent and other jsonl agents get what their entry
// says: they may be anything.
func variablesOf(kind string) []string {
	switch kind {
	case kindClaude:
		return anthropicVariables
	case kindCodex:
		return openAIVariables
	case kindGemini:
		return geminiVariables
	case kindOpenCode, kindACP:
		return AgentVariables()
	default:
		return nil
	}
}

// env of an agent, KEY=value: the host's part first, so that the entry wins.
func (c HostConfig) env(kind string, entry AgentFile) []string {
	var env []string
	for _, name := range variablesOf(kind) {
		if value := c.AgentEnv[name]; value != "" {
			env = append(env, name+"="+value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(entry.Env)) {
		env = append(env, name+"="+entry.Env[name])
	}
	return env
}

var secretName = regexp.MustCompile(`(?i)key|token|secret|password|credential`)

// secrets are the values that no agent may say aloud.
func (c HostConfig) secrets() []string {
	var out []string
	add := func(env map[string]string) {
		for name, value := range env {
			if secretName.MatchString(name) {
				out = append(out, value)
			}
		}
	}
	add(c.AgentEnv)
	for _, entry := range c.File.Agents {
		add(entry.Env)
	}
	return out
}
