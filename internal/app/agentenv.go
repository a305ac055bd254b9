package app

import (
	"maps"
	"slices"

	"bellhop/internal/app/agents"
	"bellhop/internal/lazyregexp"
)

// agentEnv returns the environment of an agent as KEY=value. The entry's variables
// come last, so they override the host's.
func (c HostConfig) agentEnv(agent agents.Agent, entry agents.Entry) []string {
	var env []string
	for _, name := range agent.Variables {
		if value := c.AgentEnv[name]; value != "" {
			env = append(env, name+"="+value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(entry.Env)) {
		env = append(env, name+"="+entry.Env[name])
	}
	return env
}

var secretName = lazyregexp.New(`(?i)key|token|secret|password|credential`)

// secretValues returns the values that must be removed from agents' output.
func (c HostConfig) secretValues() []string {
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
	return append(out, c.File.forgeTokens()...)
}
