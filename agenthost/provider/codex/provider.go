package codex

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/stdio"
	"bellhop/protocol"
)

// The sandboxes of Codex. They need user namespaces; without these the operator
// must choose SandboxNone.
const (
	SandboxReadOnly  = "read-only"
	SandboxWorkspace = "workspace-write"
	SandboxNone      = "danger-full-access"
)

// Options configure Codex. Find is required.
type Options struct {
	Name string // the agent's name in messages to the user; "" = "codex"

	// Find returns the path of the program. Run returns its error, which names the
	// command that installs the program.
	Find func(ctx context.Context) (string, error)

	// Env has the variables for every session, KEY=value. OPENAI_API_KEY, here or
	// in the session's own variables, configures the model provider, at
	// OPENAI_BASE_URL if that is set. Without a key Codex uses Login.
	Env []string

	// Login is the auth.json of `codex login`; "" = none. Sessions share the file,
	// because Codex renews its tokens there.
	Login string

	Sandbox string // "" = SandboxWorkspace
	Retries int    // retries of a failed request to the model; 0 = 4

	// Records is the directory for process.Sweep; "" keeps no record.
	Records string

	// Grace is the time between the steps of an interrupt and of a stop;
	// 0 = process.DefaultGrace.
	Grace time.Duration
}

// Provider runs a Codex for every session.
type Provider struct{ options Options }

// New creates a provider. It does not check whether the program exists.
func New(options Options) *Provider {
	options.Name = cmp.Or(options.Name, "codex")
	options.Sandbox = cmp.Or(options.Sandbox, SandboxWorkspace)
	options.Retries = cmp.Or(options.Retries, 4)
	return &Provider{options: options}
}

// Attachments implements agenthost.Taker.
func (p *Provider) Attachments() []protocol.AttachmentKind {
	return []protocol.AttachmentKind{protocol.KindImage, protocol.KindText}
}

// Open creates an agent. Its first Run starts the program.
func (p *Provider) Open(_ context.Context, spec agenthost.AgentSpec) (agenthost.Agent, error) {
	if p.options.Find == nil {
		return nil, errors.New("codex: no program configured")
	}
	if !slices.Contains([]string{SandboxReadOnly, SandboxWorkspace, SandboxNone}, p.options.Sandbox) {
		return nil, fmt.Errorf("codex: there is no sandbox %q", p.options.Sandbox)
	}
	config := stdio.Config{Name: p.options.Name, Records: p.options.Records, Grace: p.options.Grace}
	return stdio.New(config, spec, &program{options: p.options, spec: spec}), nil
}

// secretVariable is the variable with the bearer token of the host's MCP server in
// config.toml.
const secretVariable = "BELLHOP_WORKSPACE_SECRET"

// program implements stdio.Protocol for one session.
type program struct {
	options Options
	spec    agenthost.AgentSpec
}

// Command writes the configuration of the app server and returns its command line.
func (p *program) Command(ctx context.Context) (args, env []string, err error) {
	path, err := p.options.Find(ctx)
	if err != nil {
		return nil, nil, err
	}
	env = environment(p.options, p.spec)
	if err := configure(p.options, p.spec, env); err != nil {
		return nil, nil, fmt.Errorf("configure the agent %s: %w", p.options.Name, err)
	}
	return []string{path, "app-server"}, env, nil
}

// Connect implements stdio.Protocol.
func (p *program) Connect(child *stdio.Child, _ func(message) bool) stdio.Connection[message] {
	return &connection{program: p, child: child, waiting: map[string]chan message{}}
}

func environment(options Options, spec agenthost.AgentSpec) []string {
	own := []string{"HOME=" + spec.StateDir, "CODEX_HOME=" + home(spec)}
	if spec.Local != nil {
		own = append(own, secretVariable+"="+spec.Local.Secret)
	}
	// NO_COLOR, because users see the stderr of Codex.
	return stdio.Environment([]string{"NO_COLOR=1"}, options.Env, spec.Env, own)
}

func home(spec agenthost.AgentSpec) string { return filepath.Join(spec.StateDir, folder) }

// folder is the program's own folder in a session's home.
const folder = ".codex"
