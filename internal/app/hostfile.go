package app

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"

	"gopkg.in/yaml.v3"

	"bellhop/protocol"
)

// HostFile is the agent host's configuration file.
type HostFile struct {
	Agents   map[string]AgentFile `yaml:"agents"`
	Projects map[string]string    `yaml:"projects"` // name → directory
	Default  string               `yaml:"default"`  // agent of sessions that name none
	Policy   yaml.Node            `yaml:"policy"`   // rules, or the name of a file with them

	path string // "" when there is no file
}

// AgentFile is an agent that speaks the headless interface on stdio.
type AgentFile struct {
	Command   []string          `yaml:"command"`
	Env       map[string]string `yaml:"env"`
	ModelFlag string            `yaml:"modelFlag"` // flag that names the model, such as --model; "" = it cannot be told
}

var agentName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)

// ReadHostFile reads path; "" is an empty file. Unknown keys are errors: they
// are mistyped ones.
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
	decoder := yaml.NewDecoder(f)
	decoder.KnownFields(true)
	if err := decoder.Decode(&file); err != nil && !errors.Is(err, io.EOF) {
		return file, fmt.Errorf("%s: %w", path, err)
	}
	file.path = path
	return file, file.check()
}

func (f HostFile) check() error {
	for name, agent := range f.Agents {
		if !agentName.MatchString(name) {
			return protocol.Errorf(protocol.CodeInvalid, "agent name %q: use a-z, 0-9 and -, beginning with a letter", name)
		}
		if len(agent.Command) == 0 {
			return protocol.Errorf(protocol.CodeInvalid, "agent %s has no command", name)
		}
	}
	if _, known := f.Agents[f.Default]; f.Default != "" && f.Default != DemoAgent && !known {
		return protocol.Errorf(protocol.CodeInvalid, "default agent %s is not among the agents", f.Default)
	}
	for name, dir := range f.Projects {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return protocol.Errorf(protocol.CodeInvalid, "project %s: %s is not a directory", name, dir)
		}
	}
	return nil
}
