package acp

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"bellhop/agenthost"
	"bellhop/internal/process"
)

// Options say which program to run and how. Command is required.
type Options struct {
	Name string // in messages to the user; "" = "acp"

	// Command returns the program and its arguments. Its error is Run's: it
	// names the command that mends it.
	Command func(ctx context.Context) ([]string, error)

	Env []string // for every session, KEY=value

	// Prepare readies a session's home before its program starts, such as the
	// agent's own configuration files; nil = nothing to do.
	Prepare func(spec agenthost.AgentSpec) error

	// Mode is the session mode to set, for agents whose own does not ask before
	// it edits; "" = the agent's own.
	Mode string

	// Records is the directory for process.Sweep; "" keeps no record.
	Records string

	// Grace is the time between the steps of an interrupt and of a stop;
	// 0 = process.DefaultGrace.
	Grace time.Duration
}

// Provider runs Options.Command for every session.
type Provider struct{ options Options }

// New makes a provider; it does not look for the program.
func New(options Options) *Provider {
	options.Name = cmp.Or(options.Name, "acp")
	if options.Grace <= 0 {
		options.Grace = process.DefaultGrace
	}
	return &Provider{options: options}
}

// Open makes an agent; its first Run starts the program.
func (p *Provider) Open(_ context.Context, spec agenthost.AgentSpec) (agenthost.Agent, error) {
	if p.options.Command == nil {
		return nil, errors.New("acp: no command configured")
	}
	if spec.Log == nil {
		spec.Log = slog.New(slog.DiscardHandler)
	}
	return &agent{options: p.options, spec: spec, native: spec.Native}, nil
}

// inherited is what a program needs to run at all. Everything else, the host's
// own secrets above all, stays out of its environment.
var inherited = []string{"PATH", "LANG", "LC_ALL", "TZ", "TMPDIR"}

// quiet keeps the programs that heed it from any traffic but that to their model.
var quiet = []string{
	"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
	"DISABLE_TELEMETRY=1",
	"DISABLE_ERROR_REPORTING=1",
	"DISABLE_AUTOUPDATER=1",
}

// environment of a session's program; of two values the later one counts.
func environment(options Options, spec agenthost.AgentSpec) []string {
	var env []string
	for _, name := range inherited {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	env = append(env, "NO_COLOR=1") // its stderr is shown to people
	env = append(env, quiet...)
	env = append(env, options.Env...)
	env = append(env, spec.Env...)
	return append(env, "HOME="+spec.StateDir)
}
