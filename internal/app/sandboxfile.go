package app

import (
	"fmt"
	"maps"
	"slices"

	"bellhop/agenthost/sandbox"
	"bellhop/internal/app/agents"
	"bellhop/internal/egress"
	"bellhop/internal/yamlfile"
	"bellhop/protocol"
)

// SandboxFile configures the sandbox of agents in the host's configuration file. A
// string is short for an object with only a mode.
type SandboxFile struct {
	Mode       sandbox.Mode    `yaml:"mode"`
	Namespaces *bool           `yaml:"namespaces"` // false: none, even if the system has them
	User       string          `yaml:"user"`       // of agents, as sandbox.ParseUsers reads it
	Read       []string        `yaml:"read"`
	Write      []string        `yaml:"write"`
	Network    sandbox.Network `yaml:"network"` // "" = proxy where the system has it
	Limits     LimitsFile      `yaml:"limits"`
	// Allow lists what programs reach over the proxy, as egress.ParseRules reads it.
	Allow []string `yaml:"allow"`
	// Ask makes names that are not listed a question to the user.
	Ask      bool                    `yaml:"ask"`
	Agents   map[string]SandboxPaths `yaml:"agents"`   // for one agent, by its id
	Projects map[string]SandboxPaths `yaml:"projects"` // for sessions of one project
}

// SandboxPaths are what one agent or the sessions of one project can use besides: absolute
// paths that programs can read, or change, and targets of the network.
type SandboxPaths struct {
	Read    []string        `yaml:"read"`
	Write   []string        `yaml:"write"`
	Network sandbox.Network `yaml:"network"` // of agents; "" = that of the host
	Allow   []string        `yaml:"allow"`
}

// sandboxFields has no UnmarshalYAML, so decoding it does not recurse.
type sandboxFields SandboxFile

// UnmarshalYAML decodes a string as the mode.
func (s *SandboxFile) UnmarshalYAML(node *yamlfile.Node) error {
	if node.Kind == yamlfile.Scalar {
		return yamlfile.Decode(node, &s.Mode)
	}
	if err := checkKeys(node, "sandbox", "mode", "namespaces", "user", "limits", "read", "write", "network", "allow",
		"ask", "agents", "projects"); err != nil {
		return err
	}
	return yamlfile.Decode(node, (*sandboxFields)(s))
}

// UnmarshalYAML refuses unknown keys.
func (p *SandboxPaths) UnmarshalYAML(node *yamlfile.Node) error {
	if err := checkKeys(node, "an entry of the sandbox", "read", "write", "network", "allow"); err != nil {
		return err
	}
	type fields SandboxPaths
	return yamlfile.Decode(node, (*fields)(p))
}

// checkKeys returns an error for an unknown key: node.Decode ignores the decoder's
// KnownFields.
func checkKeys(node *yamlfile.Node, what string, known ...string) error {
	if node.Kind != yamlfile.Mapping {
		return fmt.Errorf("line %d: %s is an object with %v", node.Line, what, known)
	}
	for i := 0; i < len(node.Content); i += 2 {
		if key := node.Content[i]; !slices.Contains(known, key.Value) {
			return fmt.Errorf("line %d: %s has no %s; it has %v", key.Line, what, key.Value, known)
		}
	}
	return nil
}

// check refuses entries for agents and projects that the file does not have.
func (s SandboxFile) check(f HostFile) error {
	for _, name := range slices.Sorted(maps.Keys(s.Agents)) {
		if name != agents.Demo && !f.hasAgent(name) {
			return protocol.Errorf(protocol.CodeInvalid, "sandbox: there is no agent %q", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Projects)) {
		if _, known := f.Projects[name]; !known {
			return protocol.Errorf(protocol.CodeInvalid, "sandbox: there is no project %q", name)
		}
	}
	if _, err := sandbox.ParseUsers(s.User); err != nil {
		return err
	}
	if err := s.Limits.check(s.Mode); err != nil {
		return err
	}
	if s.needsUser() && s.Mode == sandbox.ModeOff {
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: fmt.Sprintf("sandbox: the user %q needs the sandbox", s.User),
			Hint: "Remove 'mode: off', or set 'user: host'.",
		}
	}
	return s.checkNetworks()
}

// checkNetworks refuses networks that cannot be, and targets that have no effect.
func (s SandboxFile) checkNetworks() error {
	if err := s.checkNetwork("", SandboxPaths{Network: s.Network, Allow: s.Allow}); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(s.Agents)) {
		if err := s.checkNetwork(" for the agent "+name, s.Agents[name]); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Projects)) {
		if s.Projects[name].Network != "" {
			return &protocol.Error{
				Code: protocol.CodeInvalid, Message: fmt.Sprintf("sandbox: the project %s names a network", name),
				Hint: "Networks are for the host and for agents; projects list targets under 'allow'.",
			}
		}
		if err := s.checkNetwork(" for the project "+name, s.Projects[name]); err != nil {
			return err
		}
	}
	return nil
}

func (s SandboxFile) checkNetwork(where string, entry SandboxPaths) error {
	if entry.Network != "" && !slices.Contains(sandbox.Networks, entry.Network) {
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: fmt.Sprintf("sandbox: there is no network %q%s", entry.Network, where),
			Hint: "Networks are open, proxy and none.",
		}
	}
	isOwn := entry.Network == sandbox.NetworkProxy || entry.Network == sandbox.NetworkNone
	if isOwn && (s.Mode == sandbox.ModeOff || s.Namespaces != nil && !*s.Namespaces) {
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: fmt.Sprintf("sandbox: the network %s%s needs namespaces", entry.Network, where),
			Hint: "Remove 'mode: off' and 'namespaces: false', or set 'network: open'.",
		}
	}
	if len(entry.Allow) > 0 && entry.Network != "" && entry.Network != sandbox.NetworkProxy {
		return &protocol.Error{
			Code:    protocol.CodeInvalid,
			Message: fmt.Sprintf("sandbox: 'allow'%s has no effect with the network %s", where, entry.Network),
			Hint:    "Targets are for the network proxy.",
		}
	}
	if _, err := egress.ParseRules(entry.Allow); err != nil {
		return fmt.Errorf("sandbox: allow%s: %w", where, err)
	}
	return nil
}

// listed returns the targets that the file lists for an agent in a project.
func (s SandboxFile) listed(agent, project string) []string {
	return slices.Concat(s.Allow, s.Agents[agent].Allow, s.Projects[project].Allow)
}

// needsNetwork reports whether the file asks for a network of programs' own.
func (s SandboxFile) needsNetwork() bool {
	networks := []sandbox.Network{s.Network}
	for _, entry := range s.Agents {
		networks = append(networks, entry.Network)
	}
	return slices.ContainsFunc(networks, func(n sandbox.Network) bool {
		return n == sandbox.NetworkProxy || n == sandbox.NetworkNone
	})
}

// options returns the options of package sandbox, with the paths of all entries, so
// that all of them are checked.
func (s SandboxFile) options() sandbox.Options {
	users, _ := sandbox.ParseUsers(s.User) // was checked
	reads, writes := s.otherPaths()
	return sandbox.Options{
		Mode: s.Mode, NoNamespaces: s.Namespaces != nil && !*s.Namespaces,
		Read: s.Read, Write: s.Write, Others: reads, OthersWrite: writes,
		Network: s.Network, NeedsNetwork: s.needsNetwork(), Users: users, NeedsUsers: s.needsUser(),
		Limits: s.Limits.limits(), Processes: s.Limits.limits().Processes,
	}
}

// needsUser reports whether the file names users for agents.
func (s SandboxFile) needsUser() bool {
	return s.User != "" && s.User != sandbox.UsersAuto && s.User != sandbox.UsersHost
}

func (s SandboxFile) otherPaths() (reads, writes []string) {
	for _, entries := range []map[string]SandboxPaths{s.Agents, s.Projects} {
		for _, name := range slices.Sorted(maps.Keys(entries)) {
			reads, writes = append(reads, entries[name].Read...), append(writes, entries[name].Write...)
		}
	}
	return reads, writes
}
