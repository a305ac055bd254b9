package opencode

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/stdio"
	"bellhop/internal/process"
	"bellhop/internal/servers"
)

// Defaults of Options.
const (
	DefaultRetries   = 5
	DefaultRetryWait = 2 * time.Minute
	DefaultQuiet     = 15 * time.Second
)

// Options say which program to run and how. Find is required.
type Options struct {
	Name string // in messages to the user; "" = opencode

	// Find returns the program's path. Its error is Run's: it names the command that
	// installs the program.
	Find func(ctx context.Context) (string, error)

	Env     []string // for every session, KEY=value; ANTHROPIC_API_KEY, OPENAI_API_KEY and their _BASE_URL give access to models
	Config  string   // an operator's own opencode.json, merged over ours; "" none
	Records string   // directory for process.Sweep; "" keeps no record

	Servers *servers.Manager // nil: its own

	// Grace bounds the agent's own cancel; what does not end by then is ended
	// with its program. 0 = process.DefaultGrace.
	Grace time.Duration

	Retries   int           // calls of the model that may fail before the turn does; 0 = DefaultRetries
	RetryWait time.Duration // the longest wait before one; 0 = DefaultRetryWait
	Quiet     time.Duration // silence in a turn after which the agent is asked; 0 = DefaultQuiet

	Now func() time.Time
}

// Provider runs one program for every session.
type Provider struct{ options Options }

// New makes a provider; it does not look for the program.
func New(options Options) *Provider {
	options.Name = cmp.Or(options.Name, "opencode")
	options.Grace = cmp.Or(max(options.Grace, 0), process.DefaultGrace)
	options.Retries = cmp.Or(max(options.Retries, 0), DefaultRetries)
	options.RetryWait = cmp.Or(max(options.RetryWait, 0), DefaultRetryWait)
	options.Quiet = cmp.Or(max(options.Quiet, 0), DefaultQuiet)
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.Servers == nil {
		options.Servers = servers.New(servers.Options{Grace: options.Grace, StartTimeout: startTimeout})
	}
	return &Provider{options: options}
}

// startTimeout leaves several that start at once on two busy cores the time that
// they need: seconds of computing each.
const startTimeout = 90 * time.Second

// Open makes an agent; its first Run starts the program.
func (p *Provider) Open(_ context.Context, spec agenthost.AgentSpec) (agenthost.Agent, error) {
	if spec.Log == nil {
		spec.Log = slog.New(slog.DiscardHandler)
	}
	return &agent{
		Slot:    stdio.Slot{Name: p.options.Name, Log: spec.Log},
		options: p.options, spec: spec, native: spec.Native,
	}, nil
}

// variables returns the session's variables, without those of its configuration.
func variables(options Options, spec agenthost.AgentSpec) []string {
	return stdio.Environment(options.Env, spec.Env)
}
