package acp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/stdio"
)

// Options configure the program. Command is required.
type Options struct {
	Name string // the agent's name in messages to the user; "" = "acp"

	// Command returns the program and its arguments. If the program is missing, the
	// error names the command that installs it; the agent's Run returns this error.
	Command func(ctx context.Context) ([]string, error)

	Env []string // variables for every session, KEY=value

	// Prepare writes the files that the program reads from the session's home when
	// it starts, such as its configuration; nil = nothing to do.
	Prepare func(spec agenthost.AgentSpec) error

	// Mode is the session mode to set. It is needed for agents whose default mode
	// edits without asking; "" keeps the agent's default.
	Mode string

	// TitleIsCommand: the title of a call that runs a command is the command. Titles are text for people
	// otherwise.
	TitleIsCommand bool

	// Records is the directory for process.Sweep; "" keeps no record.
	Records string

	// Grace is the time between the steps of an interrupt and of a stop;
	// 0 = process.DefaultGrace.
	Grace time.Duration
}

// Provider runs Options.Command for every session.
type Provider struct {
	options  Options
	reported *reported
}

// New creates a provider. It does not check whether the program exists.
func New(options Options) *Provider {
	options.Name = cmp.Or(options.Name, "acp")
	return &Provider{options: options, reported: &reported{}}
}

// Open creates an agent. Its first Run starts the program.
func (p *Provider) Open(_ context.Context, spec agenthost.AgentSpec) (agenthost.Agent, error) {
	if p.options.Command == nil {
		return nil, errors.New("acp: no command configured")
	}
	o := p.options
	config := stdio.Config{Name: o.Name, Records: o.Records, Grace: o.Grace, MaxLine: maxLine}
	return stdio.New(config, spec, &program{options: o, spec: spec, reported: p.reported}), nil
}

// maxLine is below the SDK's own limit, above which the SDK closes the connection.
const maxLine = 10<<20 - 1<<10

// telemetryOff disables telemetry, error reporting and auto-update in agents that support
// these variables.
var telemetryOff = []string{
	"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
	"DISABLE_TELEMETRY=1",
	"DISABLE_ERROR_REPORTING=1",
	"DISABLE_AUTOUPDATER=1",
}

// awaitTools makes the first turn of a Claude Code wait for the host's tools. On a busy machine the
// program would begin it without them, after a few seconds.
var awaitTools = []string{
	"MCP_CONNECTION_NONBLOCKING=false",
	"MCP_CONNECT_TIMEOUT_MS=60000",
	"MCP_TIMEOUT=60000",
	"CLAUDE_CODE_MCP_STARTUP_WAIT_MS=60000",
}

// program implements stdio.Protocol for one session.
type program struct {
	options  Options
	spec     agenthost.AgentSpec
	reported *reported
}

// Command prepares the session's home and returns the configured program.
func (p *program) Command(ctx context.Context) (args, env []string, err error) {
	if args, err = p.options.Command(ctx); err != nil {
		return nil, nil, err
	}
	if p.options.Prepare != nil {
		if err := p.options.Prepare(p.spec); err != nil {
			return nil, nil, fmt.Errorf("prepare the agent %s: %w", p.options.Name, err)
		}
	}
	// Users see the program's stderr as plain text, so it must not contain colour codes.
	own := []string{"NO_COLOR=1"}
	return args, stdio.Environment(own, telemetryOff, awaitTools, p.options.Env, p.spec.Env, []string{"HOME=" + p.spec.StateDir}), nil
}

// Connect implements stdio.Protocol.
func (p *program) Connect(child *stdio.Child, deliver func(message) bool) stdio.Connection[message] {
	return connect(p, child, deliver)
}
