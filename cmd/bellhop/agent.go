package main

import (
	"errors"
	"fmt"
	"strings"

	"bellhop/agent"
)

type agentCommand struct {
	Stdio     bool   `help:"Speak JSON lines on stdin and stdout; logs go to stderr."`
	Model     string `default:"demo" help:"The model: 'demo' is scripted, there is no language model behind it."`
	Task      string `placeholder:"TEXT" help:"Do this one task first, as if it had come as input."`
	SessionID string `placeholder:"ID" help:"Bind the session from the start."`
	Dir       string `type:"existingdir" default:"." placeholder:"DIR" help:"Working directory; nothing outside it is touched (${default})."`
}

// Help is shown by --help.
func (agentCommand) Help() string {
	var b strings.Builder
	b.WriteString("The model 'demo' is scripted, not a language model. It works with real tools in its directory and understands:\n\n")
	for _, c := range agent.Commands() {
		_, _ = fmt.Fprintf(&b, "  %-22s %s\n", c.Usage, c.Help)
	}
	b.WriteString(`
Anything else is answered with what the workspace holds. Try:

  echo '{"type":"input","text":"list"}' | bellhop agent --stdio`)
	return b.String()
}

// Run speaks the headless interface until the end of input.
func (c agentCommand) Run(env *environment) error {
	if !c.Stdio {
		return errors.New("agent: choose a front end: --stdio")
	}
	return agent.Stdio(env.ctx, env.stdin, env.stdout, agent.Options{
		Dir: c.Dir, Model: c.Model, SessionID: c.SessionID, Task: c.Task, Log: env.log,
	})
}
