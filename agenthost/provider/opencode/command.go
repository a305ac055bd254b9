package opencode

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// commandInfo is a slash command of the program.
type commandInfo struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Template    json.RawMessage `json:"template"`
}

// runsShell reports whether the program would run a part of the command's template in a shell, which it does
// without asking the host. A template that cannot be read counts as one that does.
func (c *commandInfo) runsShell() bool {
	template, ok := decode[string](c.Template)
	return !ok || strings.Contains(template, "!`")
}

// commandBody runs a command. Its parts are files.
type commandBody struct {
	Command   string       `json:"command"`
	Arguments string       `json:"arguments"`
	Model     string       `json:"model,omitempty"` // provider/model
	Parts     []promptPart `json:"parts,omitempty"`
}

// learnCommands asks the program for its commands and reports them to the host. Without an answer every
// message is a text.
func (p *program) learnCommands(ctx context.Context, spec agenthost.AgentSpec) {
	found, err := get[[]commandInfo](ctx, p.client, "/command")
	if err != nil {
		spec.Log.Warn("agent does not list its commands", "error", err)
		return
	}
	list := []protocol.Command{}
	for _, c := range found {
		if !c.runsShell() {
			list = append(list, protocol.Command{Name: c.Name, Description: c.Description})
			p.commands = append(p.commands, c.Name)
		}
	}
	if spec.ReportCommands != nil {
		spec.ReportCommands(list)
	}
}

// command returns the body of a prompt that begins with a command of the program. A prompt behind a restored
// context, or with an attached text, is a text: a command takes files only.
func (t *turn) command(prompt agenthost.Prompt, body promptBody) (commandBody, bool) {
	name, arguments, ok := protocol.CommandOf(prompt.Text)
	hasText := slices.ContainsFunc(body.Parts[1:], func(p promptPart) bool { return p.Type != partFile })
	if !ok || hasText || !slices.Contains(t.program.commands, name) || body.Parts[0].Text != prompt.Text {
		return commandBody{}, false
	}
	run := commandBody{Command: name, Arguments: arguments, Parts: body.Parts[1:]}
	if m := body.Model; m != nil {
		run.Model = m.Provider + "/" + m.ID
	}
	return run, true
}
