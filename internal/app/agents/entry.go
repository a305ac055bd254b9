package agents

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"bellhop/agenthost/provider/codex"
	"bellhop/protocol"
)

// Entry configures one agent in a host's configuration file. For a built-in agent
// it overrides the defaults.
type Entry struct {
	Kind    string            `yaml:"kind"`    // "" = the built-in agent of that name, else jsonl
	Command []string          `yaml:"command"` // jsonl and acp: the command line; others: the program's path, "" = search
	Env     map[string]string `yaml:"env"`
	Model   string            `yaml:"model"`   // default for sessions that name none
	Version string            `yaml:"version"` // version to accept of a program on PATH; "any" accepts all

	ModelFlag string `yaml:"modelFlag"` // flag that selects the model, such as --model; "" = none
	// Restore sends restored context to a new process, because the program stores no conversations.
	Restore bool   `yaml:"restore"`
	Sandbox string `yaml:"sandbox"` // read-only, workspace-write or danger-full-access
	Mode    string `yaml:"mode"`    // ACP session mode; "" = the agent's default
	Login   string `yaml:"login"`   // path of the auth.json that 'codex login' wrote
	Config  string `yaml:"config"`  // path of a configuration file for the agent
}

var sandboxes = []string{codex.SandboxReadOnly, codex.SandboxWorkspace, codex.SandboxNone}

// KindOf returns the kind of the entry called name.
func (e Entry) KindOf(name string) string {
	switch {
	case e.Kind != "":
		return e.Kind
	case slices.Contains(BuiltIn(), name):
		return name
	default:
		return KindJSONL
	}
}

// Check returns CodeInvalid with the first problem of the entry called name.
func (e Entry) Check(name string) error {
	if problem := e.findProblem(e.KindOf(name)); problem != "" {
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: fmt.Sprintf("agent %s: %s", name, problem),
			Hint: "docs/agents.md shows an entry of every kind.",
		}
	}
	return nil
}

func (e Entry) findProblem(kind string) string {
	agent, known := Find(kind)
	if !known {
		return fmt.Sprintf("there is no kind %q; use one of %s", kind, strings.Join(Kinds(), ", "))
	}
	if problem := e.findCommandProblem(agent); problem != "" {
		return problem
	}
	for _, setting := range e.settingsUsed() {
		if setting.used && !agent.accepts(setting.name) {
			return fmt.Sprintf("%s is for the kind %s", setting.name, strings.Join(kindsAccepting(setting.name), ", "))
		}
	}
	if e.Sandbox != "" && !slices.Contains(sandboxes, e.Sandbox) {
		return fmt.Sprintf("there is no sandbox %q; use one of %s", e.Sandbox, strings.Join(sandboxes, ", "))
	}
	for _, file := range []string{e.Login, e.Config} {
		if info, err := os.Stat(file); file != "" && (err != nil || !info.Mode().IsRegular()) {
			return file + " is not a file"
		}
	}
	for key := range e.Env {
		if key == "" || strings.ContainsAny(key, "=\x00") {
			return fmt.Sprintf("%q is not the name of a variable", key)
		}
	}
	return ""
}

func (e Entry) findCommandProblem(agent Agent) string {
	switch {
	case agent.accepts("arguments") && (len(e.Command) == 0 || e.Command[0] == ""):
		return "it has no command"
	case !agent.accepts("arguments") && len(e.Command) > 1:
		return "its command is the path of the program alone: the host adds the arguments"
	default:
		return ""
	}
}

type setting struct {
	name string
	used bool
}

// settingsUsed lists the members that only some kinds accept.
func (e Entry) settingsUsed() []setting {
	return []setting{
		{"modelFlag", e.ModelFlag != ""},
		{"restore", e.Restore},
		{"version", e.Version != ""},
		{"mode", e.Mode != ""},
		{"login", e.Login != ""},
		{"config", e.Config != ""},
		{"sandbox", e.Sandbox != ""},
	}
}

func (a Agent) accepts(setting string) bool { return slices.Contains(a.Settings, setting) }

func kindsAccepting(setting string) []string {
	return uniqueValues(func(a Agent) []string {
		if !a.accepts(setting) {
			return nil
		}
		return []string{a.Kind}
	})
}
