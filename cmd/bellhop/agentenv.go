package main

import (
	"fmt"
	"strings"

	"bellhop/internal/app/agents"
)

// hostAgentsFlag is agentsFlag with the flag name --agents-dir.
type hostAgentsFlag struct {
	AgentsDir string `env:"BELLHOP_AGENTS_DIR" placeholder:"DIR" help:"Directory in which 'bellhop agents install' put agents' programs. Default: bellhop/agents in your cache directory."`
	NoSandbox bool   `env:"BELLHOP_HOST_NO_SANDBOX" help:"Run agents without a sandbox: they can read the host's data, its password and other sessions."`
}

// agentEnvironment returns the variables of our environment that agents may get.
// NAME_FILE names a file with the value.
func agentEnvironment(
	lookup func(string) (string, bool), read func(string) ([]byte, error),
) (map[string]string, error) {
	env := map[string]string{}
	for _, name := range agents.Variables() {
		if value, _ := lookup(name); value != "" {
			env[name] = value
		}
		path, _ := lookup(name + "_FILE")
		if path == "" {
			continue
		}
		if env[name] != "" {
			return nil, fmt.Errorf("set %s or %s_FILE, not both", name, name)
		}
		content, err := read(path)
		if err != nil {
			return nil, fmt.Errorf("%s_FILE: %w", name, err)
		}
		env[name] = strings.TrimRight(string(content), "\r\n")
	}
	return env, nil
}
