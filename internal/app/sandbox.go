package app

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"gopkg.in/yaml.v3"

	"bellhop/agenthost"
	"bellhop/agenthost/sandbox"
	"bellhop/agenthost/workspace"
	"bellhop/internal/app/agents"
	"bellhop/internal/process"
	"bellhop/protocol"
)

// SandboxFile configures the sandbox of agents in the host's configuration file. A
// string is short for an object with only a mode.
type SandboxFile struct {
	Mode       sandbox.Mode            `yaml:"mode"`
	Namespaces *bool                   `yaml:"namespaces"` // false: none, even if the system has them
	Read       []string                `yaml:"read"`
	Write      []string                `yaml:"write"`
	Agents     map[string]SandboxPaths `yaml:"agents"`   // for one agent, by its id
	Projects   map[string]SandboxPaths `yaml:"projects"` // for sessions of one project
}

// SandboxPaths are absolute paths that programs can read, or change.
type SandboxPaths struct {
	Read  []string `yaml:"read"`
	Write []string `yaml:"write"`
}

// sandboxFields has no UnmarshalYAML, so decoding it does not recurse.
type sandboxFields SandboxFile

// UnmarshalYAML decodes a string as the mode.
func (s *SandboxFile) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		return node.Decode(&s.Mode)
	}
	if err := checkKeys(node, "sandbox", "mode", "namespaces", "read", "write", "agents", "projects"); err != nil {
		return err
	}
	return node.Decode((*sandboxFields)(s))
}

// UnmarshalYAML refuses unknown keys.
func (p *SandboxPaths) UnmarshalYAML(node *yaml.Node) error {
	if err := checkKeys(node, "an entry of the sandbox", "read", "write"); err != nil {
		return err
	}
	type fields SandboxPaths
	return node.Decode((*fields)(p))
}

// checkKeys returns an error for an unknown key: node.Decode ignores the decoder's
// KnownFields.
func checkKeys(node *yaml.Node, what string, known ...string) error {
	if node.Kind != yaml.MappingNode {
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
	return nil
}

// options returns the options of package sandbox, with the paths of all entries, so
// that all of them are checked.
func (s SandboxFile) options() sandbox.Options {
	return sandbox.Options{
		Mode: s.Mode, NoNamespaces: s.Namespaces != nil && !*s.Namespaces,
		Read: s.Read, Write: s.Write, Others: s.otherPaths(),
	}
}

func (s SandboxFile) otherPaths() []string {
	var all []string
	for _, entries := range []map[string]SandboxPaths{s.Agents, s.Projects} {
		for _, name := range slices.Sorted(maps.Keys(entries)) {
			all = slices.Concat(all, entries[name].Read, entries[name].Write)
		}
	}
	return all
}

// probeLimit bounds the measurement of the sandbox at a host's start.
const probeLimit = 30 * time.Second

// openSandbox measures the sandbox and logs what it keeps.
func (c HostConfig) openSandbox(workspaces *workspace.Manager) (*hostSandbox, error) {
	options := c.File.Sandbox.options()
	if c.NoSandbox {
		options.Mode = sandbox.ModeOff
	}
	cache, err := agents.OpenCache(c.AgentsDir)
	if err != nil {
		return nil, err
	}
	if options.Self, err = os.Executable(); err != nil {
		return nil, err
	}
	if options.Data, err = filepath.Abs(c.Data); err != nil {
		return nil, err
	}
	options.Programs = cache.Dir()
	ctx, cancel := context.WithTimeout(context.Background(), probeLimit)
	defer cancel()
	opened, err := sandbox.Open(ctx, options)
	if err != nil {
		return nil, err
	}
	level := opened.Level()
	if level.IsEnough() {
		c.Log.Info("agents run in a sandbox", "sandbox", level.Summary())
	} else {
		c.Log.Warn("agents run without a complete sandbox", "sandbox", level.Summary())
	}
	return &hostSandbox{Sandbox: opened, file: c.File, workspaces: workspaces, data: options.Data}, nil
}

// hostSandbox implements agenthost.Sandbox: it knows what the host's configuration
// and workspaces add.
type hostSandbox struct {
	*sandbox.Sandbox
	file       HostFile
	workspaces *workspace.Manager
	data       string
}

// accessLimit bounds the git commands that find a workspace's repository.
const accessLimit = 30 * time.Second

// Confine implements agenthost.Sandbox.
func (s *hostSandbox) Confine(to agenthost.Confined, c process.Command) (process.Command, error) {
	ctx, cancel := context.WithTimeout(context.Background(), accessLimit)
	defer cancel()
	access, err := s.workspaces.Access(ctx, to.Dir)
	if err != nil {
		return c, fmt.Errorf("sandbox: %w", err)
	}
	session := sandbox.Session{Home: to.StateDir, Write: access.Write, Read: access.Read}
	entry := s.file.Agents[to.Agent]
	configured := s.file.Sandbox
	for _, paths := range []SandboxPaths{
		configured.Agents[to.Agent], configured.Projects[to.Project], s.agentPaths(entry),
	} {
		session.Write, session.Read = slices.Concat(session.Write, paths.Write), slices.Concat(session.Read, paths.Read)
	}
	return s.Sandbox.Confine(session, c)
}

// agentPaths returns the files that an agent's own entry names: a login, which the
// agent renews, a configuration, and a home directory in place of the session's.
func (s *hostSandbox) agentPaths(entry agents.Entry) (paths SandboxPaths) {
	if entry.Login != "" {
		paths.Write = append(paths.Write, entry.Login)
	}
	if entry.Config != "" {
		paths.Read = append(paths.Read, entry.Config)
	}
	if home := entry.Env["HOME"]; home != "" && sandbox.MayOpen(home, s.data) {
		paths.Write = append(paths.Write, home)
	}
	return paths
}

// Status implements agenthost.Sandbox.
func (s *hostSandbox) Status() any { return s.Level() }

// Notices implements agenthost.Sandbox.
func (s *hostSandbox) Notices() []string {
	if s.Level().IsEnough() {
		return nil
	}
	return []string{"The sandbox of agents is " + s.Level().Summary()}
}
