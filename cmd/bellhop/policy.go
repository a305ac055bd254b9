package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"bellhop/internal/app"
	"bellhop/policy"
)

type policyCommand struct {
	Check   policyCheckCommand   `cmd:"" help:"Check a policy file and show its first mistake."`
	Explain policyExplainCommand `cmd:"" help:"Show the decision about a tool call and the rule behind it."`
	Default policyDefaultCommand `cmd:"" help:"Print the built-in rules."`
}

type policyCheckCommand struct {
	File string `arg:"" help:"Policy file, or with --section a host's configuration that contains a policy."`

	Section bool `help:"Read the rules from the member 'policy' of the file."`
}

// Run prints one line, or fails with the first mistake.
func (c policyCheckCommand) Run(env *environment) error {
	if c.File == "" {
		return errors.New("policy check: name a file")
	}
	rules, err := openRules(c.File, c.Section)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.stdout, "%s: valid, %d rules including the built-in ones\n", c.File, rules.Rules())
	return err
}

// openRules opens a policy file, or the policy and the agents of a host's
// configuration. Without a file it returns the built-in rules.
func openRules(file string, isHostFile bool) (*policy.Live, error) {
	var config app.HostFile
	if isHostFile {
		var err error
		if config, err = app.ReadHostFile(file); err != nil {
			return nil, err
		}
	}
	return policy.Open(policy.LiveOptions{File: file, Section: isHostFile, Engine: app.PolicyOptions(config)})
}

type policyExplainCommand struct {
	Tool  string `arg:"" help:"The agent's name of the tool: Bash, write_file, mcp__docs__search …"`
	Input string `arg:"" name:"json" help:"Arguments of the call as JSON, or - to read them from stdin."`

	File    string `type:"existingfile" placeholder:"FILE" help:"Policy file. Default: the built-in rules."`
	Section bool   `help:"Read the rules from the member 'policy' of the file."`
	Project string `placeholder:"NAME" help:"Project of the session."`
	Agent   string `placeholder:"ID" help:"Agent that makes the call."`
	Dir     string `type:"existingdir" default:"." placeholder:"DIR" help:"Workspace of the session (${default})."`
	JSON    bool   `name:"json-output" help:"Print JSON."`
}

// Help is shown by --help.
func (policyExplainCommand) Help() string {
	return `Nothing is executed. A shell command is split into its parts, and the strictest decision about a part wins:

  bellhop policy explain Bash '{"command":"ls; rm -rf /"}'
  bellhop policy explain write_file '{"path":"../notes.txt","content":"x"}' --file policy.yaml`
}

// explanation is the object that --json-output prints.
type explanation struct {
	Tool string `json:"tool"`
	policy.Decision
	Timeout string        `json:"timeout,omitempty"`
	Steps   []policy.Step `json:"steps"`
}

// Run prints the decision and its steps.
func (c policyExplainCommand) Run(env *environment) error {
	input := []byte(c.Input)
	if c.Input == "-" {
		var err error
		if input, err = io.ReadAll(io.LimitReader(env.stdin, 16<<20)); err != nil {
			return err
		}
	}
	if !json.Valid(input) {
		return errors.New(`policy explain: the arguments are not JSON; write '{"command":"ls"}'`)
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return err
	}
	rules, err := openRules(c.File, c.Section)
	if err != nil {
		return err
	}
	call := policy.Call{Agent: c.Agent, Project: c.Project, Dir: dir, Tool: c.Tool, Input: bytes.TrimSpace(input)}
	decision, steps := rules.Explain(call)
	out := explanation{Tool: rules.CommonTool(c.Agent, c.Tool), Decision: decision, Steps: steps}
	if decision.Timeout > 0 {
		out.Timeout = decision.Timeout.String()
	}
	if c.JSON {
		return printJSON(env.stdout, out)
	}
	return out.printText(env.stdout, c.Tool)
}

func (x explanation) printText(w io.Writer, tool string) error {
	_, _ = fmt.Fprintf(w, "%s %s\n", x.Action, x.Level)
	if x.Message != "" {
		_, _ = fmt.Fprintf(w, "  message  %s\n", x.Message)
	}
	_, _ = fmt.Fprintf(w, "  rule     %s\n  tool     %s is %s\n", x.Rule, tool, x.Tool)
	if x.Shape != "" {
		_, _ = fmt.Fprintf(w, "  session  a yes for the session covers %q\n", x.Shape)
	}
	if x.Timeout != "" {
		_, _ = fmt.Fprintf(w, "  timeout  %s, then deny\n", x.Timeout)
	}
	_, _ = fmt.Fprintln(w)
	rows := make([][]string, 0, len(x.Steps))
	for _, s := range x.Steps {
		rows = append(rows, []string{string(s.Action), string(s.Level), s.Tool, fmt.Sprintf("%q", s.Subject), s.Rule})
	}
	return table(w, []string{"ACTION", "LEVEL", "TOOL", "WHAT", "RULE"}, rows)
}

type policyDefaultCommand struct{}

// Run prints the policy file that is part of the binary.
func (policyDefaultCommand) Run(env *environment) error {
	_, err := io.WriteString(env.stdout, policy.DefaultRules())
	return err
}
