package claude

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"bellhop/agenthost"
	"bellhop/internal/process"
)

// Options say which program to run. Find is required.
type Options struct {
	Name string // in messages to the user; "" = claude

	// Find returns the path of the program. It is called before each start; its
	// error, which names the command that mends it, is Run's.
	Find func(ctx context.Context) (string, error)

	Env []string // for every session, KEY=value; HOME here replaces the session's own

	// Records is the directory for process.Sweep; "" keeps no record.
	Records string

	// Grace is the time between the steps of an interrupt and of a stop;
	// 0 = process.DefaultGrace.
	Grace time.Duration

	// Start bounds how long the program may take until it can be spoken to;
	// 0 = 60 s.
	Start time.Duration

	// FollowUp bounds the wait for the turn that the program begins by itself
	// when a background task has ended; 0 = 5 s. Only a program that never begins
	// one, and does not say that it is idle either, makes a turn as long as this.
	FollowUp time.Duration
}

// Provider runs one Claude Code for every session.
type Provider struct{ options Options }

// New makes a provider; it does not look for the program.
func New(options Options) *Provider {
	options.Name = cmp.Or(options.Name, "claude")
	if options.Grace <= 0 {
		options.Grace = process.DefaultGrace
	}
	if options.Start <= 0 {
		options.Start = time.Minute
	}
	if options.FollowUp <= 0 {
		options.FollowUp = 5 * time.Second
	}
	return &Provider{options: options}
}

// Open makes an agent; its first Run starts the program.
func (p *Provider) Open(_ context.Context, spec agenthost.AgentSpec) (agenthost.Agent, error) {
	if p.options.Find == nil {
		return nil, errors.New("claude: no program configured")
	}
	if spec.Log == nil {
		spec.Log = slog.New(slog.DiscardHandler)
	}
	return &agent{options: p.options, spec: spec, native: spec.Native, announced: spec.Native}, nil
}
