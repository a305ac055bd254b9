package app

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"bellhop/internal/app/agents"
	"bellhop/internal/lazyregexp"
	"bellhop/internal/yamlfile"
	"bellhop/protocol"
)

// HostFile is the agent host's configuration file.
type HostFile struct {
	Agents   map[string]agents.Entry `yaml:"agents"`
	Projects map[string]ProjectFile  `yaml:"projects"`
	Default  string                  `yaml:"default"`  // agent of sessions that name none
	Policy   yamlfile.Node           `yaml:"policy"`   // rules, or the path of a file with rules
	Sandbox  SandboxFile             `yaml:"sandbox"`  // what agents can use of this machine
	Forges   map[string]ForgeFile    `yaml:"forges"`   // by the host names of remotes
	Terminal TerminalFile            `yaml:"terminal"` // shells that users open in workspaces

	path string // "" = no file
}

var agentName = lazyregexp.New(`^[a-z][a-z0-9-]{0,31}$`)

// ReadHostFile reads and checks the file at path; "" counts as an empty file.
// Unknown keys are errors, because they are probably typing mistakes.
func ReadHostFile(path string) (HostFile, error) {
	var file HostFile
	if path == "" {
		return file, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return file, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, yamlfile.MaxSize+1))
	if err != nil {
		return file, err
	}
	root, err := yamlfile.Parse(content)
	if err == nil && root != nil {
		err = yamlfile.Decode(root, &file)
	}
	if err != nil {
		return file, fmt.Errorf("%s: %w", path, err)
	}
	file.path = path
	return file, file.check()
}

func (f HostFile) check() error {
	for _, name := range slices.Sorted(maps.Keys(f.Agents)) {
		if !agentName.MatchString(name) {
			return protocol.Errorf(protocol.CodeInvalid, "agent name %q: use a-z, 0-9 and -, beginning with a letter", name)
		}
		if err := f.Agents[name].Check(name); err != nil {
			return err
		}
	}
	if f.Default != "" && f.Default != agents.Demo && !f.hasAgent(f.Default) {
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: fmt.Sprintf("default agent %s is not among the agents", f.Default),
			Hint: "They are: " + strings.Join(f.agentNames(), ", ") + ".",
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.Projects)) {
		if err := f.Projects[name].check(name); err != nil {
			return err
		}
	}
	if err := f.Terminal.check(); err != nil {
		return err
	}
	return f.Sandbox.check(f)
}

func (f HostFile) hasAgent(name string) bool { return slices.Contains(f.agentNames(), name) }

// agentNames returns the names of the configured and the built-in agents, sorted.
func (f HostFile) agentNames() []string {
	names := slices.Concat(slices.Collect(maps.Keys(f.Agents)), agents.BuiltIn())
	slices.Sort(names)
	return slices.Compact(names)
}
