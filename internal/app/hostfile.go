package app

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"bellhop/protocol"
)

// HostFile is the agent host's configuration file.
type HostFile struct {
	Agents   map[string]AgentFile   `yaml:"agents"`
	Projects map[string]ProjectFile `yaml:"projects"`
	Default  string                 `yaml:"default"` // agent of sessions that name none
	Policy   yaml.Node              `yaml:"policy"`  // rules, or the name of a file with them

	path string // "" when there is no file
}

// AgentFile is an agent of the configuration, or what is other than usual about
// one that needs none (opencode, claude, codex, gemini).
type AgentFile struct {
	Kind    string            `yaml:"kind"`    // "" = the built-in agent of that name, else jsonl
	Command []string          `yaml:"command"` // of jsonl and acp; for the others the program's path, "" = found
	Env     map[string]string `yaml:"env"`
	Model   string            `yaml:"model"`   // of sessions that name none
	Version string            `yaml:"version"` // of a program that is not installed by us; "any" takes all

	ModelFlag string `yaml:"modelFlag"` // jsonl: flag that names the model, such as --model; "" = it cannot be told
	Restore   bool   `yaml:"restore"`   // jsonl: tell a program that is started again what was said; it remembers nothing itself
	Sandbox   string `yaml:"sandbox"`   // codex: read-only, workspace-write or danger-full-access
	Mode      string `yaml:"mode"`      // acp: session mode to set; "" = the agent's own
	Login     string `yaml:"login"`     // codex: the auth.json of 'codex login'
	Config    string `yaml:"config"`    // opencode: a configuration file of its own
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
	for _, name := range slices.Sorted(maps.Keys(f.Agents)) {
		if !agentName.MatchString(name) {
			return protocol.Errorf(protocol.CodeInvalid, "agent name %q: use a-z, 0-9 and -, beginning with a letter", name)
		}
		if err := f.Agents[name].check(name); err != nil {
			return err
		}
	}
	if f.Default != "" && f.Default != DemoAgent && !f.offers(f.Default) {
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
	return nil
}

func (f HostFile) offers(name string) bool { return slices.Contains(f.agentNames(), name) }

// agentNames are the configured and the built-in agents.
func (f HostFile) agentNames() []string {
	names := slices.Concat(slices.Collect(maps.Keys(f.Agents)), builtIn)
	slices.Sort(names)
	return slices.Compact(names)
}

// kind of the entry called name.
func (a AgentFile) kind(name string) string {
	switch {
	case a.Kind != "":
		return a.Kind
	case slices.Contains(builtIn, name):
		return name
	default:
		return kindJSONL
	}
}

func (a AgentFile) check(name string) error {
	kind := a.kind(name)
	wrong := func(format string, args ...any) error {
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: fmt.Sprintf("agent %s: ", name) + fmt.Sprintf(format, args...),
			Hint: "docs/agents.md shows an entry of every kind.",
		}
	}
	switch {
	case !slices.Contains(kinds, kind):
		return wrong("there is no kind %q; use one of %s", kind, strings.Join(kinds, ", "))
	case (kind == kindJSONL || kind == kindACP) && (len(a.Command) == 0 || a.Command[0] == ""):
		return wrong("it has no command")
	case kind != kindJSONL && kind != kindACP && len(a.Command) > 1:
		return wrong("its command is the path of the program alone: the host adds the arguments")
	case a.ModelFlag != "" && kind != kindJSONL:
		return wrong("modelFlag is for the kind jsonl")
	case a.Restore && kind != kindJSONL:
		return wrong("restore is for the kind jsonl: the others remember, or ask by themselves")
	case a.Version != "" && (kind == kindJSONL || kind == kindACP):
		return wrong("version is not for the kind %s", kind)
	case a.Mode != "" && kind != kindACP:
		return wrong("mode is for the kind acp")
	case a.Login != "" && kind != kindCodex:
		return wrong("login is for the kind codex")
	case a.Config != "" && kind != kindOpenCode:
		return wrong("config is for the kind opencode")
	case a.Sandbox != "" && kind != kindCodex:
		return wrong("sandbox is for the kind codex")
	case a.Sandbox != "" && !slices.Contains(sandboxes, a.Sandbox):
		return wrong("there is no sandbox %q; use one of %s", a.Sandbox, strings.Join(sandboxes, ", "))
	}
	for _, file := range []string{a.Login, a.Config} {
		if info, err := os.Stat(file); file != "" && (err != nil || !info.Mode().IsRegular()) {
			return wrong("%s is not a file", file)
		}
	}
	for key := range a.Env {
		if key == "" || strings.ContainsAny(key, "=\x00") {
			return wrong("%q is not the name of a variable", key)
		}
	}
	return nil
}
