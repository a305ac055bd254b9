package agents

import (
	"context"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"bellhop/agenthost"
	"bellhop/agenthost/setup"
)

// Agent is one row: a kind of agent. If BuiltIn is set, hosts offer an agent with
// the kind as its id without any configuration.
type Agent struct {
	Kind    string
	Title   string // for users
	BuiltIn bool

	// Programs are those that "bellhop agents install" can download. A host
	// starts the program whose name is the kind.
	Programs []setup.Agent

	// Model names the variables by which the agent finds its language model.
	Model Model
	// Variables are the only variables of the host's environment that the
	// agent's programs get.
	Variables []string

	// Gateways names the interfaces of models whose address variable its programs always
	// use. The host can keep the keys of these out of a sandbox.
	Gateways []string

	// ToolNames maps this agent's tool names to the common names of package
	// policy. It holds only names that other agents do not use, or use with
	// another meaning.
	ToolNames map[string]string

	// Settings are the members of an Entry that not every kind accepts, but this
	// one does.
	Settings []string

	// Unasked describes the calls that run without a question to the host's policy; "" if
	// there are none.
	Unasked string

	// New creates the provider.
	New func(Options) agenthost.Provider
}

// Model names the environment variables for the key and the base URL of the
// language model. Path is appended to the base URL of a provider's own server.
type Model struct{ Key, Address, Path string }

// Options are the arguments of Agent.New.
type Options struct {
	Name    string // the agent's id
	Entry   Entry
	Env     []string // KEY=value
	Records string   // directory of process records
	Ports   string   // directory of files that remember the ports of servers; "" = none

	// Command returns the command line of the program. It is called at each
	// start, so an installation takes effect without a restart of the host.
	Command func(context.Context) ([]string, error)
}

// programPath returns the last word of the command line: the path of the program
// or of the script that Node.js runs.
func (o Options) programPath(ctx context.Context) (string, error) {
	words, err := o.Command(ctx)
	if err != nil {
		return "", err
	}
	return words[len(words)-1], nil
}

// portsFile returns the file of this agent, "" for none.
func (o Options) portsFile() string {
	if o.Ports == "" {
		return ""
	}
	return filepath.Join(o.Ports, url.PathEscape(o.Name)+".json")
}

// rows holds all kinds in display order.
var rows = []Agent{jsonlAgent, openCode, claudeCode, codexAgent, gemini, acpAgent}

// All returns the rows in display order.
func All() []Agent { return slices.Clone(rows) }

// Find returns the row of a kind, false if the kind is unknown.
func Find(kind string) (Agent, bool) {
	i := slices.IndexFunc(rows, func(a Agent) bool { return a.Kind == kind })
	if i < 0 {
		return Agent{}, false
	}
	return rows[i], true
}

// Unasked describes the calls of a program that run without a question to the host's
// policy; "" if there are none.
func Unasked(program string) string {
	for i := range rows {
		for j := range rows[i].Programs {
			if rows[i].Programs[j].Name == program {
				return rows[i].Unasked
			}
		}
	}
	return ""
}

// Kinds returns the names of all kinds.
func Kinds() []string {
	return uniqueValues(func(a Agent) []string { return []string{a.Kind} })
}

// BuiltIn returns the ids of the agents that need no configuration, except the
// demo agent.
func BuiltIn() []string {
	return uniqueValues(func(a Agent) []string {
		if !a.BuiltIn {
			return nil
		}
		return []string{a.Kind}
	})
}

// Variables returns the variables of the host's environment that some agent gets.
func Variables() []string {
	return uniqueValues(func(a Agent) []string { return a.Variables })
}

// Programs returns all programs that can be installed, sorted by name.
func Programs() []setup.Agent {
	var all []setup.Agent
	for _, a := range rows {
		all = append(all, a.Programs...)
	}
	slices.SortFunc(all, func(a, b setup.Agent) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// OpenCache opens the cache of the agents' programs in dir; "" is the default of
// setup.Open.
func OpenCache(dir string) (*setup.Cache, error) {
	return setup.Open(setup.CacheOptions{Dir: dir, Agents: Programs()})
}

// uniqueValues concatenates a member of all rows without duplicates.
func uniqueValues(member func(Agent) []string) []string {
	var all []string
	for _, a := range rows {
		for _, value := range member(a) {
			if !slices.Contains(all, value) {
				all = append(all, value)
			}
		}
	}
	return all
}
