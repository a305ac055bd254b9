package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/shell"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/acp"
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
	kinds     = []string{kindJSONL, kindOpenCode, kindClaude, kindCodex, kindGemini, kindACP}
	builtIn   = []string{kindOpenCode, kindClaude, kindCodex, kindGemini} // agents without configuration
	sandboxes = []string{codex.SandboxReadOnly, codex.SandboxWorkspace, codex.SandboxNone}
)

// agents makes the providers of a host.
type agents struct {
	config  HostConfig
	entries map[string]AgentFile // of the file, and of the command line
	cache   *setup.Cache
	records string // directory of process records
}

func (c HostConfig) providers(records string) (map[string]agenthost.Provider, error) {
	cache, err := setup.Open(setup.CacheOptions{Dir: c.AgentsDir})
	if err != nil {
		return nil, err
	}
	a := agents{config: c, entries: map[string]AgentFile{}, cache: cache, records: records}
	for _, name := range c.File.agentNames() {
		a.entries[name] = c.File.Agents[name]
	}
	if command, ok := strings.CutPrefix(c.Agent, acpPrefix); ok {
		if a.entries[c.Agent], err = commandLine(command); err != nil {
			return nil, err
		}
	}
	providers := map[string]agenthost.Provider{}
	if len(c.DemoAgent) > 0 {
		providers[DemoAgent] = jsonl.New(jsonl.Options{Name: DemoAgent, Command: c.DemoAgent, ModelFlag: "--model", Records: records})
	}
	for name, entry := range a.entries {
		providers[name] = a.provider(name, entry)
	}
	maps.Copy(providers, c.Providers)
	if chosen := c.defaultAgent(); c.Model != "" && providers[chosen] != nil {
		providers[chosen] = withModel(c.Model, providers[chosen])
	}
	return providers, a.checkChosen(providers)
}

// commandLine is the entry of an agent that only the command line names.
func commandLine(command string) (AgentFile, error) {
	words, err := shell.Fields(command, func(string) string { return "" })
	if err != nil || len(words) == 0 {
		return AgentFile{}, &protocol.Error{
			Code: protocol.CodeInvalid, Message: fmt.Sprintf("the agent %q names no command", acpPrefix+command), Err: err,
			Hint: "Write acp: and a command line, such as 'acp:my-agent --acp'.",
		}
	}
	return AgentFile{Kind: kindACP, Command: words}, nil
}

// checkChosen looks for the agent that the command line names, and its program:
// what is missing is told to the one who can mend it, not to whoever sends a
// prompt.
func (a agents) checkChosen(providers map[string]agenthost.Provider) error {
	chosen := a.config.Agent
	if _, known := providers[chosen]; chosen != "" && !known {
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: fmt.Sprintf("unknown agent %q", chosen),
			Hint: "There are: " + strings.Join(slices.Sorted(maps.Keys(providers)), ", ") + ", and acp:COMMAND.",
		}
	}
	err := a.look(a.config.defaultAgent())
	if chosen == "" && err != nil { // of the file: the host may have others to run
		a.config.Log.Warn("the default agent cannot run", "agent", a.config.defaultAgent(), "err", inOne(err))
		return nil
	}
	return err
}

// look for the program of an agent.
func (a agents) look(name string) error {
	entry, ours := a.entries[name]
	if !ours || a.config.Providers[name] != nil {
		return nil
	}
	var err error
	switch kind := entry.kind(name); kind {
	case kindJSONL:
	case kindACP:
		_, err = a.line(name, entry.Command)(context.Background())
	default:
		_, err = a.command(kind, entry)(context.Background())
	}
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
	case kindGemini:
		return acp.Gemini(acp.Options{Name: name, Command: started(a.command(kind, entry)), Env: env, Records: a.records})
	case kindACP:
		return acp.New(acp.Options{Name: name, Command: started(a.line(name, entry.Command)), Env: env, Mode: entry.Mode, Records: a.records})
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
			return "", inOne(err)
		}
		return words[len(words)-1], nil
	}
}

// started is a command whose error a turn shows.
func started(command func(context.Context) ([]string, error)) func(context.Context) ([]string, error) {
	return func(ctx context.Context) ([]string, error) {
		words, err := command(ctx)
		return words, inOne(err)
	}
}

// inOne puts an error's hint behind its message: a turn shows the message alone,
// and what mends a missing program is in the hint.
func inOne(err error) error {
	var e *protocol.Error
	if !errors.As(err, &e) || e.Hint == "" {
		return err
	}
	return &protocol.Error{Code: e.Code, Message: e.Message + ". " + e.Hint, Err: e.Err}
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

// line is the command line of an ACP agent. A program that we install need not
// be on the PATH.
func (a agents) line(name string, words []string) func(context.Context) ([]string, error) {
	return func(ctx context.Context) ([]string, error) {
		if _, err := a.cache.Agent(words[0]); err == nil {
			program, err := a.cache.Find(ctx, words[0], setup.Want{})
			return slices.Concat(program.Command, words[1:]), err
		}
		if _, err := exec.LookPath(words[0]); err != nil {
			return nil, &protocol.Error{
				Code: protocol.CodeInvalid, Message: fmt.Sprintf("the program %s of the agent %s is not there", words[0], name), Err: err,
				Hint: "Install it, or name its whole path.",
			}
		}
		return words, nil
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
