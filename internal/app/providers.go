package app

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/shell"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/claude"
	"bellhop/agenthost/provider/codex"
	"bellhop/agenthost/provider/jsonl"
	"bellhop/agenthost/provider/opencode"
	"bellhop/agenthost/setup"
	"bellhop/protocol"
)

// DemoAgent is the id of the agent that the binary brings along.
const DemoAgent = "demo"

// The kinds of agents.
const (
	kindACP      = "acp"
	kindClaude   = "claude"
	kindCodex    = "codex"
	kindGemini   = "gemini"
	kindJSONL    = "jsonl"
	kindOpenCode = "opencode"
)

// acpPrefix begins the id of an agent that only a command line can name.
const acpPrefix = "acp:"

var (
	kinds     = []string{kindJSONL, kindOpenCode, kindClaude, kindCodex}
	builtIn   = []string{kindOpenCode, kindClaude, kindCodex} // agents without configuration
	sandboxes = []string{codex.SandboxReadOnly, codex.SandboxWorkspace, codex.SandboxNone}
)

// agents makes the providers of a host.
type agents struct {
	config  HostConfig
	cache   *setup.Cache
	records string // directory of process records
}

func (c HostConfig) providers(records string) (map[string]agenthost.Provider, error) {
	cache, err := setup.Open(setup.CacheOptions{Dir: c.AgentsDir})
	if err != nil {
		return nil, err
	}
	a := agents{config: c, cache: cache, records: records}
	providers := map[string]agenthost.Provider{}
	if len(c.DemoAgent) > 0 {
		providers[DemoAgent] = jsonl.New(jsonl.Options{Name: DemoAgent, Command: c.DemoAgent, ModelFlag: "--model", Records: records})
	}
	for _, name := range c.File.agentNames() {
		providers[name] = a.provider(name, c.File.Agents[name])
	}
	if command, ok := strings.CutPrefix(c.Agent, acpPrefix); ok {
		words, err := shell.Fields(command, func(string) string { return "" })
		if err != nil || len(words) == 0 {
			return nil, &protocol.Error{
				Code: protocol.CodeInvalid, Message: fmt.Sprintf("%q names no command", c.Agent), Err: err,
				Hint: "Write acp: and a command line, such as 'acp:my-agent --acp'.",
			}
		}
		providers[c.Agent] = a.provider(words[0], AgentFile{Kind: kindACP, Command: words})
	}
	maps.Copy(providers, c.Providers)
	if _, known := providers[c.Agent]; c.Agent != "" && !known {
		return nil, &protocol.Error{
			Code: protocol.CodeInvalid, Message: fmt.Sprintf("unknown agent %q", c.Agent),
			Hint: "There are: " + strings.Join(slices.Sorted(maps.Keys(providers)), ", ") + ", and acp:COMMAND.",
		}
	}
	if c.Model != "" {
		chosen := c.defaultAgent()
		providers[chosen] = withModel(c.Model, providers[chosen])
	}
	return providers, a.checkChosen()
}

// checkChosen looks for the program of the agent that the command line names: its
// absence is told to the one who can mend it, not to whoever sends a prompt.
func (a agents) checkChosen() error {
	if !slices.Contains(builtIn, a.config.Agent) {
		return nil
	}
	entry := a.config.File.Agents[a.config.Agent]
	kind := entry.kind(a.config.Agent)
	if !slices.Contains(builtIn, kind) {
		return nil
	}
	_, err := a.command(kind, entry)(context.Background())
	return err
}

func (a agents) provider(name string, entry AgentFile) agenthost.Provider {
	kind := entry.kind(name)
	return withModel(entry.Model, a.ofKind(kind, name, entry, a.config.env(kind, entry)))
}

func (a agents) ofKind(kind, name string, entry AgentFile, env []string) agenthost.Provider {
	switch kind {
	case kindOpenCode:
		return opencode.New(opencode.Options{
			Name: name, Find: a.find(kind, entry), Env: env, Config: entry.Config, Records: a.records,
		})
	case kindClaude:
		return claude.New(claude.Options{Name: name, Find: a.find(kind, entry), Env: env, Records: a.records})
	case kindCodex:
		return codex.New(codex.Options{
			Name: name, Find: a.find(kind, entry), Env: env, Login: entry.Login, Sandbox: entry.Sandbox, Records: a.records,
		})
	default:
		return jsonl.New(jsonl.Options{Name: name, Command: entry.Command, Env: env, ModelFlag: entry.ModelFlag, Restore: entry.Restore, Records: a.records})
	}
}

// find is the search for a native program, done at each start of it: an install
// helps without a restart of the host.
func (a agents) find(kind string, entry AgentFile) func(context.Context) (string, error) {
	command := a.command(kind, entry)
	return func(ctx context.Context) (string, error) {
		words, err := command(ctx)
		if err != nil {
			return "", err
		}
		return words[len(words)-1], nil
	}
}

func (a agents) command(kind string, entry AgentFile) func(context.Context) ([]string, error) {
	want := setup.Want{Version: entry.Version}
	if len(entry.Command) > 0 {
		want.Path = entry.Command[0]
	}
	return func(ctx context.Context) ([]string, error) {
		program, err := a.cache.Find(ctx, kind, want)
		if err != nil {
			return nil, err
		}
		if pinned, err := a.cache.Agent(kind); err == nil && pinned.Version != program.Version {
			a.config.Log.Warn("an agent's program is not of the tested version",
				"agent", kind, "path", program.Path(), "version", program.Version, "tested", pinned.Version)
		}
		return program.Command, nil
	}
}

func (c HostConfig) defaultAgent() string {
	switch {
	case c.Agent != "":
		return c.Agent
	case c.File.Default != "":
		return c.File.Default
	default:
		return DemoAgent
	}
}

// withModel gives sessions that name no model the configured one.
func withModel(model string, provider agenthost.Provider) agenthost.Provider {
	if model == "" {
		return provider
	}
	return modelProvider{model: model, Provider: provider}
}

type modelProvider struct {
	agenthost.Provider

	model string
}

// Open is the provider's with a model.
func (p modelProvider) Open(ctx context.Context, spec agenthost.AgentSpec) (agenthost.Agent, error) {
	if spec.Model == "" {
		spec.Model = p.model
	}
	return p.Provider.Open(ctx, spec)
}
