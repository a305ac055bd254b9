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
	"bellhop/protocol"
)

// Defaults of Options.
const (
	DefaultRetries   = 5
	DefaultRetryWait = 2 * time.Minute
	DefaultQuiet     = 15 * time.Second
)

// Options configure the program. Find is required.
type Options struct {
	Name string // the agent's name in messages to the user; "" = opencode

	// Find returns the program's path. Run returns its error, which names the
	// command that installs the program.
	Find func(ctx context.Context) (string, error)

	// Env has variables for every session, KEY=value; ANTHROPIC_API_KEY, OPENAI_API_KEY and their _BASE_URL give
	// access to models.
	Env     []string
	Config  string // an operator's own opencode.json, which has precedence; "" = none
	Records string // directory for process.Sweep; "" keeps no record
	Ports   string // file that remembers the servers' ports, of this provider alone; "" = none

	Servers *servers.Manager // nil: a new one

	// Grace limits the agent's own cancellation. After it the program is ended. 0 =
	// process.DefaultGrace.
	Grace time.Duration

	Retries   int           // failed calls of the model before the turn fails; 0 = DefaultRetries
	RetryWait time.Duration // the longest wait before a retry; 0 = DefaultRetryWait
	Quiet     time.Duration // silence in a turn after which the agent's state is checked; 0 = DefaultQuiet

	Now func() time.Time
}

// Provider runs an OpenCode for every session.
type Provider struct{ options Options }

// New creates a provider. It does not check whether the program exists.
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
		options.Servers = servers.New(servers.Options{
			Grace: options.Grace, StartTimeout: startTimeout, Memory: options.Ports,
		})
	}
	return &Provider{options: options}
}

// startTimeout is long enough for many programs that start at once on busy cores. Each
// start needs five seconds of processor time. The user can interrupt it at any time.
const startTimeout = 5 * time.Minute

// Attachments implements agenthost.Taker.
func (p *Provider) Attachments() []protocol.AttachmentKind {
	return []protocol.AttachmentKind{protocol.KindImage, protocol.KindText, protocol.KindPDF}
}

// Open creates an agent. Its first Run starts the program.
func (p *Provider) Open(_ context.Context, spec agenthost.AgentSpec) (agenthost.Agent, error) {
	if spec.Log == nil {
		spec.Log = slog.New(slog.DiscardHandler)
	}
	return &agent{
		Slot:    stdio.Slot{Name: p.options.Name, Log: spec.Log},
		options: p.options, spec: spec, sessionID: spec.AgentSessionID, watch: newWatch(spec.Report, p.options.Now),
		own: map[string]bool{},
	}, nil
}

// variables returns the session's variables, without those that configure OpenCode.
func variables(options Options, spec agenthost.AgentSpec) []string {
	return stdio.Environment(options.Env, spec.Env)
}
