package jsonl

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/stdio"
	"bellhop/protocol"
)

// Options configure the program. Command is required.
type Options struct {
	Name    string   // the agent's name in messages to the user; "" = the program's name
	Command []string // program and arguments
	Env     []string // variables for every session, KEY=value

	// ModelFlag is put before the model of a session that names one; "" means that
	// the program accepts no model.
	ModelFlag string

	// Restore puts the restored context before the first input of a program
	// that is started in a session with earlier turns. Set it only for programs
	// that keep no memory in their HOME; others would read everything twice. The
	// demo agent must not have it, because it reads its input as a script.
	Restore bool

	// Records is the directory for process.Sweep; "" keeps no record.
	Records string

	// Grace is the time between the steps of an interrupt and of a stop;
	// 0 = process.DefaultGrace.
	Grace time.Duration
}

// Provider starts Options.Command for every session.
type Provider struct{ options Options }

// New creates a provider. It does not check whether the program exists.
func New(options Options) *Provider {
	if options.Name == "" && len(options.Command) > 0 {
		options.Name = options.Command[0]
	}
	return &Provider{options: options}
}

// Attachments implements agenthost.Taker. One that cannot use a kind says so in its answer.
func (p *Provider) Attachments() []protocol.AttachmentKind {
	return []protocol.AttachmentKind{protocol.KindImage, protocol.KindText, protocol.KindPDF}
}

// Open creates an agent. Its first Run starts the program.
func (p *Provider) Open(_ context.Context, spec agenthost.AgentSpec) (agenthost.Agent, error) {
	o := p.options
	if len(o.Command) == 0 {
		return nil, errors.New("jsonl: no command configured")
	}
	config := stdio.Config{Name: o.Name, Records: o.Records, Grace: o.Grace, LimitPrompt: true}
	return stdio.New(config, spec, &program{options: o, spec: spec}), nil
}

// program implements stdio.Protocol for one session.
type program struct {
	options Options
	spec    agenthost.AgentSpec
}

// Command returns the configured program with the session's model.
func (p *program) Command(context.Context) (args, env []string, err error) {
	args = append(args, p.options.Command...)
	if p.options.ModelFlag != "" && strings.TrimSpace(p.spec.Model) != "" {
		args = append(args, p.options.ModelFlag, p.spec.Model)
	}
	return args, stdio.Environment(p.options.Env, p.spec.Env, []string{"HOME=" + p.spec.StateDir}), nil
}

// Connect implements stdio.Protocol.
func (p *program) Connect(child *stdio.Child, _ func(protocol.Line) bool) stdio.Connection[protocol.Line] {
	return &connection{
		child: child, sessionID: p.spec.SessionID, restore: p.options.Restore, reportTools: p.spec.ReportTools,
	}
}

// connection implements stdio.Connection.
type connection struct {
	child     *stdio.Child
	sessionID string
	restore   bool

	reportTools func(names []string) // nil: the host does not want them
}

// Decode decodes one line. A line of another session is invalid.
func (c *connection) Decode(raw []byte) (line protocol.Line, err error) {
	err = json.Unmarshal(raw, &line)
	switch {
	case err != nil || line.Type == "":
		return line, errors.New("a line that is no message: " + stdio.Excerpt(raw))
	case line.SessionID != "" && line.SessionID != c.sessionID:
		return line, errors.New("a message of another session")
	case line.Type == protocol.LineHello && c.reportTools != nil:
		c.reportTools(line.Tools)
	}
	return line, nil
}

// Open does nothing: the program keeps its session in its HOME, or forgets it.
func (c *connection) Open(context.Context, string, agenthost.Output) (id string, memoryLost bool, err error) {
	return "", c.restore, nil
}

// Reject implements stdio.Connection. No turn needs the message.
func (c *connection) Reject(protocol.Line) {}

// Begin implements stdio.Connection.
func (c *connection) Begin(t *stdio.Turn) stdio.Exchange[protocol.Line] { return newTurn(t, c) }
