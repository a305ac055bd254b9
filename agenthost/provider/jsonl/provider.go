package jsonl

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"time"

	"bellhop/agenthost"
	"bellhop/internal/process"
)

// Options say which program to run. Command is required.
type Options struct {
	Name    string   // in messages to the user; "" = the program's name
	Command []string // program and arguments
	Env     []string // for every session, KEY=value

	// ModelFlag is put before the model of a session that names one; "" = the
	// program cannot be told a model.
	ModelFlag string

	// Restore puts the record of the session before the first input of a program
	// that is started in a session with earlier turns. It is for programs that keep
	// no memory of their own in their HOME: one that does would hear everything
	// twice. The demo agent reads its input as a script, where a record means
	// nothing.
	Restore bool

	// Records is the directory for process.Sweep; "" keeps no record.
	Records string

	// Grace is the time between the steps of an interrupt and of a stop;
	// 0 = process.DefaultGrace.
	Grace time.Duration
}

// Provider starts Options.Command for every session.
type Provider struct{ options Options }

// New makes a provider; it does not look for the program.
func New(options Options) *Provider {
	if options.Name == "" && len(options.Command) > 0 {
		options.Name = options.Command[0]
	}
	if options.Grace <= 0 {
		options.Grace = process.DefaultGrace
	}
	return &Provider{options: options}
}

// Open makes an agent; its first Run starts the program.
func (p *Provider) Open(_ context.Context, spec agenthost.AgentSpec) (agenthost.Agent, error) {
	if len(p.options.Command) == 0 {
		return nil, errors.New("jsonl: no command configured")
	}
	if spec.Log == nil {
		spec.Log = slog.New(slog.DiscardHandler)
	}
	return &agent{options: p.options, spec: spec}, nil
}

// inherited is what a program needs to run at all. Everything else, the host's
// own secrets above all, stays out of its environment.
var inherited = []string{"PATH", "LANG", "LC_ALL", "TZ", "TMPDIR"}

// environment of a session's program; of two values the later one counts.
func environment(options Options, spec agenthost.AgentSpec) []string {
	var env []string
	for _, name := range inherited {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	env = append(env, options.Env...)
	env = append(env, spec.Env...)
	return append(env, "HOME="+spec.StateDir)
}

// command is the program with the session's model.
func command(options Options, spec agenthost.AgentSpec) []string {
	args := append([]string{}, options.Command...)
	if options.ModelFlag != "" && strings.TrimSpace(spec.Model) != "" {
		args = append(args, options.ModelFlag, spec.Model)
	}
	return args
}
