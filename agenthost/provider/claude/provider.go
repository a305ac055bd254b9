package claude

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/stdio"
	"bellhop/protocol"
)

// Options configure the program. Find is required.
type Options struct {
	Name string // the agent's name in messages to the user; "" = claude

	// Find returns the path of the program and is called before each start. If the
	// program is missing, the error names the command that installs it; the agent's Run
	// returns this error.
	Find func(ctx context.Context) (string, error)

	Env []string // variables for every session, KEY=value; HOME replaces the session's own

	// Records is the directory for process.Sweep; "" keeps no record.
	Records string

	// Grace is the time between the steps of an interrupt and of a stop;
	// 0 = process.DefaultGrace.
	Grace time.Duration

	// Start limits the time until the program accepts a prompt; 0 = 60 s.
	Start time.Duration

	// FollowUp limits the wait for the turn that the program begins by itself after
	// the end of a background task; 0 = 5 s. It matters only for a program that
	// neither begins such a turn nor reports that it is idle.
	FollowUp time.Duration
}

// Provider runs a Claude Code for every session.
type Provider struct{ options Options }

// New creates a provider. It does not check whether the program exists.
func New(options Options) *Provider {
	options.Name = cmp.Or(options.Name, "claude")
	if options.Start <= 0 {
		options.Start = time.Minute
	}
	if options.FollowUp <= 0 {
		options.FollowUp = 5 * time.Second
	}
	return &Provider{options: options}
}

// Attachments implements agenthost.Taker.
func (p *Provider) Attachments() []protocol.AttachmentKind {
	return []protocol.AttachmentKind{protocol.KindImage, protocol.KindText, protocol.KindPDF}
}

// Open creates an agent. Its first Run starts the program.
func (p *Provider) Open(_ context.Context, spec agenthost.AgentSpec) (agenthost.Agent, error) {
	if p.options.Find == nil {
		return nil, errors.New("claude: no program configured")
	}
	program := &program{options: p.options, spec: spec, session: spec.AgentSessionID, announced: spec.AgentSessionID}
	config := stdio.Config{Name: p.options.Name, Records: p.options.Records, Grace: p.options.Grace, LimitPrompt: true}
	return &agent{Agent: stdio.New(config, spec, program), program: program}, nil
}

// program implements stdio.Protocol for one session.
type program struct {
	options Options
	spec    agenthost.AgentSpec

	// The goroutine of Run uses these, and Terminal between turns.
	session   string // the program's session; "" before there is one
	announced string // the session that the host has stored
	starting  string // the session that the last started child was asked to resume or create
}

// Command writes the configuration of the program. The program resumes the session,
// or starts a new one.
func (p *program) Command(ctx context.Context) (args, env []string, err error) {
	path, err := p.options.Find(ctx)
	if err != nil {
		return nil, nil, err
	}
	mcp, err := p.writeMCP()
	if err != nil {
		return nil, nil, fmt.Errorf("configure the agent: %w", err)
	}
	session := []string{"--resume", p.session}
	p.starting = p.session
	if p.session == "" {
		p.starting = uuid.NewString()
		session = []string{"--session-id", p.starting}
	}
	return arguments(path, session, p.spec, mcp), environment(p.options, p.spec), nil
}

// Connect sends the handshake; Open waits for its answer.
func (p *program) Connect(child *stdio.Child, deliver func(message) bool) stdio.Connection[message] {
	child.Offer(initialization())
	return &connection{program: p, child: child, deliver: deliver, ready: make(chan struct{})}
}
