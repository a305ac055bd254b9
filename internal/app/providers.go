package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/shell"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/jsonl"
	"bellhop/agenthost/sandbox"
	"bellhop/agenthost/setup"
	"bellhop/internal/app/agents"
	"bellhop/protocol"
)

// acpPrefix begins the id of an agent that is given by its command line.
const acpPrefix = agents.KindACP + ":"

// providerSet creates the providers of a host.
type providerSet struct {
	config    HostConfig
	entries   map[string]agents.Entry // from the file and the flag --agent
	cache     *setup.Cache
	records   string                        // directory of process records
	providers map[string]agenthost.Provider // by agent id

	installations *setup.Installations // nil: the host installs nothing
}

func (c HostConfig) newProviders(records string) (*providerSet, error) {
	cache, err := agents.OpenCache(c.AgentsDir)
	if err != nil {
		return nil, err
	}
	if c.sandbox != nil {
		cache.Confine(c.sandbox.confineVersion)
	}
	set := &providerSet{config: c, cache: cache, records: records}
	if set.entries, err = c.agentEntries(); err != nil {
		return nil, err
	}
	providers := map[string]agenthost.Provider{}
	if len(c.DemoAgent) > 0 {
		providers[agents.Demo] = jsonl.New(jsonl.Options{
			Name: agents.Demo, Command: c.DemoAgent, ModelFlag: "--model", Records: records,
		})
	}
	for name, entry := range set.entries {
		providers[name] = set.newProvider(name, entry)
	}
	maps.Copy(providers, c.Providers)
	if chosen := c.defaultAgent(); c.Model != "" && providers[chosen] != nil {
		providers[chosen] = withModel(c.Model, providers[chosen])
	}
	set.providers = providers
	return set, set.checkDefault(providers)
}

// agentEntries returns the entries of all agents but the demo agent, by their ids.
func (c HostConfig) agentEntries() (entries map[string]agents.Entry, err error) {
	entries = map[string]agents.Entry{}
	for _, name := range c.File.agentNames() {
		entries[name] = c.File.Agents[name]
	}
	if command, ok := strings.CutPrefix(c.Agent, acpPrefix); ok {
		entries[c.Agent], err = parseCommandLine(command)
	}
	return entries, err
}

// parseCommandLine returns the entry of an agent "acp:COMMAND".
func parseCommandLine(command string) (agents.Entry, error) {
	words, err := shell.Fields(command, func(string) string { return "" })
	if err != nil || len(words) == 0 {
		return agents.Entry{}, &protocol.Error{
			Code: protocol.CodeInvalid, Message: fmt.Sprintf("the agent %q names no command", acpPrefix+command), Err: err,
			Hint: "Write acp: and a command line, such as 'acp:my-agent --acp'.",
		}
	}
	return agents.Entry{Kind: agents.KindACP, Command: words}, nil
}

// checkDefault checks at the start that the default agent exists and that its
// program can be found, so that the operator sees the error and not the user.
func (a *providerSet) checkDefault(providers map[string]agenthost.Provider) error {
	chosen := a.config.Agent
	if _, known := providers[chosen]; chosen != "" && !known {
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: fmt.Sprintf("unknown agent %q", chosen),
			Hint: "Known agents: " + strings.Join(slices.Sorted(maps.Keys(providers)), ", ") + ", and acp:COMMAND.",
		}
	}
	err := a.checkProgram(a.config.defaultAgent())
	if chosen == "" && err != nil { // the default of the file: other agents of the host may work
		a.config.Log.Warn("the default agent cannot run", "agent", a.config.defaultAgent(), "err", joinHint(err))
		return nil
	}
	return err
}

// checkProgram returns an error if the program of an agent cannot be found.
func (a *providerSet) checkProgram(name string) error {
	entry, hasEntry := a.entries[name]
	if !hasEntry || a.config.Providers[name] != nil {
		return nil
	}
	kind := entry.KindOf(name)
	if kind == agents.KindJSONL {
		return nil
	}
	_, err := a.findCommand(kind, name, entry)(context.Background())
	return err
}

func (a *providerSet) newProvider(name string, entry agents.Entry) agenthost.Provider {
	kind := entry.KindOf(name)
	agent, _ := agents.Find(kind) // the file was checked
	return withModel(entry.Model, agent.New(agents.Options{
		Name: name, Entry: entry, Env: a.env(name, agent, entry), Records: a.records,
		Ports:   filepath.Join(a.config.Data, "ports"),
		Command: withHintInMessage(a.findCommand(kind, name, entry)),
	}))
}

// env returns the environment of an agent. In a network of its own the agent gets no key that
// the gateway adds.
func (a *providerSet) env(name string, agent agents.Agent, entry agents.Entry) []string {
	if s := a.config.sandbox; s != nil && s.networkOf(name) != sandbox.NetworkOpen {
		return s.access[name].env
	}
	return a.config.agentEnv(agent, entry)
}

// withHintInMessage adds the hint to errors of command, because a turn shows only
// the message.
func withHintInMessage(command func(context.Context) ([]string, error)) func(context.Context) ([]string, error) {
	return func(ctx context.Context) ([]string, error) {
		words, err := command(ctx)
		return words, joinHint(err)
	}
}

// joinHint appends an error's hint to its message.
func joinHint(err error) error {
	var e *protocol.Error
	if !errors.As(err, &e) || e.Hint == "" {
		return err
	}
	return &protocol.Error{Code: e.Code, Message: e.Message + ". " + e.Hint, Err: e.Err}
}

// findCommand returns a function that finds the command line of an agent.
func (a *providerSet) findCommand(kind, name string, entry agents.Entry) func(context.Context) ([]string, error) {
	if kind == agents.KindACP {
		return a.findACP(name, entry.Command)
	}
	return a.findTested(kind, entry)
}

// findTested finds a program whose tested version is known, and logs a warning if
// another version is accepted.
func (a *providerSet) findTested(kind string, entry agents.Entry) func(context.Context) ([]string, error) {
	want := wanted(entry)
	return func(ctx context.Context) ([]string, error) {
		program, err := a.cache.Find(ctx, kind, want)
		if err != nil {
			return nil, err
		}
		if pinned, err := a.cache.Agent(kind); err == nil && pinned.Version != program.Version {
			a.config.Log.Warn("an agent's program has another version than the tested one",
				"agent", kind, "path", program.Path(), "version", program.Version, "tested", pinned.Version)
		}
		return program.Command, nil
	}
}

func wanted(entry agents.Entry) setup.Want {
	want := setup.Want{Version: entry.Version}
	if len(entry.Command) > 0 {
		want.Path = entry.Command[0]
	}
	return want
}

// findACP returns the configured command line of an ACP agent. If 'bellhop agents
// install' installs its program, the program need not be on PATH.
func (a *providerSet) findACP(name string, words []string) func(context.Context) ([]string, error) {
	return func(ctx context.Context) ([]string, error) {
		if _, err := a.cache.Agent(words[0]); err == nil {
			program, err := a.cache.Find(ctx, words[0], setup.Want{})
			return slices.Concat(program.Command, words[1:]), err
		}
		if _, err := exec.LookPath(words[0]); err != nil {
			return nil, &protocol.Error{
				Code: protocol.CodeInvalid, Message: fmt.Sprintf("the program %s of the agent %s was not found", words[0], name),
				Err: err, Hint: "Install it, or give its absolute path.",
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
		return agents.Demo
	}
}

// withModel sets the model of sessions that name none.
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

// Choices implements agenthost.Chooser.
func (p modelProvider) Choices() (models, modes []protocol.Choice) {
	if chooser, ok := p.Provider.(agenthost.Chooser); ok {
		return chooser.Choices()
	}
	return nil, nil
}

// Attachments implements agenthost.Taker.
func (p modelProvider) Attachments() []protocol.AttachmentKind {
	if taker, ok := p.Provider.(agenthost.Taker); ok {
		return taker.Attachments()
	}
	return nil
}

// Open sets the default model and calls the wrapped provider.
func (p modelProvider) Open(ctx context.Context, spec agenthost.AgentSpec) (agenthost.Agent, error) {
	if spec.Model == "" {
		spec.Model = p.model
	}
	return p.Provider.Open(ctx, spec)
}
