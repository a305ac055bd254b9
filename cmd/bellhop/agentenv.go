package main

import (
	"fmt"
	"strings"

	"bellhop/internal/app"
)

// hostAgentsFlag is agentsFlag under the name that fits a host.
type hostAgentsFlag struct {
	AgentsDir string `env:"BELLHOP_AGENTS_DIR" placeholder:"DIR" help:"Where 'bellhop agents install' put agents' programs. Default: bellhop/agents in your cache folder."`
}

// agentEnvironment is the part of our environment that agents get. A key can
// come from a file, as every secret.
func agentEnvironment(lookup func(string) (string, bool), read func(string) ([]byte, error)) (map[string]string, error) {
	env := map[string]string{}
	for _, name := range app.AgentVariables() {
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
