package codex

import (
	"cmp"
	_ "embed"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/stdio"
	"bellhop/internal/configfile"
)

// The parts of config.toml. Parts that do not apply are left out.
var (
	//go:embed config.toml
	baseTemplate string
	//go:embed provider.toml
	providerTemplate string
	//go:embed mcp.toml
	mcpTemplate string
	//go:embed project.toml
	projectTemplate string
	//go:embed always_ask.rules
	alwaysAsk string
)

const (
	ownProvider   = "openai"  // built into Codex, with its own login
	givenProvider = "bellhop" // the provider in providerTemplate
	defaultURL    = "https://api.openai.com/v1"
)

// configure writes the configuration that Codex reads when it starts. It marks the
// workspace as not trusted: otherwise Codex would trust it at the first thread, and
// use its servers, its hooks and its rules for commands that need no approval.
func configure(options Options, spec agenthost.AgentSpec, env []string) error {
	template := baseTemplate
	variables := map[string]string{
		"MODEL_PROVIDER": ownProvider,
		"RETRIES":        strconv.Itoa(options.Retries),
	}
	key := stdio.Lookup(env, "OPENAI_API_KEY") != ""
	if key {
		template += providerTemplate
		variables["MODEL_PROVIDER"] = givenProvider
		variables["BASE_URL"] = cmp.Or(stdio.Lookup(env, "OPENAI_BASE_URL"), defaultURL)
	}
	if spec.Local != nil {
		template += mcpTemplate
		variables["MCP_URL"] = spec.Local.MCPURL
	}
	template += projectTemplate
	variables["WORKSPACE"] = spec.Dir
	if real, err := filepath.EvalSymlinks(spec.Dir); err == nil && real != spec.Dir {
		template += strings.ReplaceAll(projectTemplate, "WORKSPACE", "REAL_WORKSPACE")
		variables["REAL_WORKSPACE"] = real
	}
	if err := copyMemory(spec.Dir, spec.StateDir); err != nil {
		return fmt.Errorf("memory of the workspace: %w", err)
	}
	if err := configfile.Write(spec.StateDir, folder+"/config.toml", template, variables, configfile.JSON); err != nil {
		return err
	}
	if err := configfile.Write(spec.StateDir, folder+"/rules/always_ask.rules", alwaysAsk, nil, nil); err != nil {
		return err
	}
	if key || options.Login == "" {
		return nil
	}
	// A login in the session's own home stays.
	if err := configfile.Link(spec.StateDir, folder+"/auth.json", options.Login); err != nil {
		return fmt.Errorf("use the login of codex: %w", err)
	}
	return nil
}

// maxMemory is the limit that Codex itself has for a memory.
const maxMemory = 32 << 10

// copyMemory copies the memory of the workspace into the session's home, because
// Codex does not read the memory of an untrusted workspace. Of two files the first
// counts.
func copyMemory(dir, stateDir string) error {
	text := cmp.Or(
		stdio.ReadMemory(dir, "AGENTS.override.md", maxMemory),
		stdio.ReadMemory(dir, "AGENTS.md", maxMemory),
	)
	return configfile.Write(stateDir, folder+"/AGENTS.md", "${MEMORY}", map[string]string{"MEMORY": text}, nil)
}
