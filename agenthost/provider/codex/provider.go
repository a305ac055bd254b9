package codex

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bellhop/agenthost"
	"bellhop/internal/process"
)

// The sandboxes of Codex. Where user namespaces are forbidden, its sandbox
// cannot work and SandboxNone is the operator's choice to make.
const (
	SandboxReadOnly  = "read-only"
	SandboxWorkspace = "workspace-write"
	SandboxNone      = "danger-full-access"
)

// Options say which Codex to run and how. Find is required.
type Options struct {
	Name string // in messages to the user; "" = "codex"

	// Find returns the program. Its error is Run's: it names the command that
	// mends it.
	Find func(ctx context.Context) (string, error)

	// Env is for every session, KEY=value. OPENAI_API_KEY there or in the
	// session's own makes the model provider, at OPENAI_BASE_URL if that is set.
	// Without a key Codex uses the login of Login.
	Env []string

	// Login is the auth.json of `codex login`; "" = none. Sessions share the
	// file, for Codex renews its tokens there.
	Login string

	Sandbox string // "" = SandboxWorkspace
	Retries int    // of a failed request to the model; 0 = 4

	// Records is the directory for process.Sweep; "" keeps no record.
	Records string

	// Grace is the time between the steps of an interrupt and of a stop;
	// 0 = process.DefaultGrace.
	Grace time.Duration
}

// Provider runs a Codex for every session.
type Provider struct{ options Options }

// New makes a provider; it does not look for the program.
func New(options Options) *Provider {
	options.Name = cmp.Or(options.Name, "codex")
	options.Sandbox = cmp.Or(options.Sandbox, SandboxWorkspace)
	options.Retries = cmp.Or(options.Retries, 4)
	if options.Grace <= 0 {
		options.Grace = process.DefaultGrace
	}
	return &Provider{options: options}
}

// Open makes an agent; its first Run starts the program.
func (p *Provider) Open(_ context.Context, spec agenthost.AgentSpec) (agenthost.Agent, error) {
	if p.options.Find == nil {
		return nil, errors.New("codex: no program configured")
	}
	if !slices.Contains([]string{SandboxReadOnly, SandboxWorkspace, SandboxNone}, p.options.Sandbox) {
		return nil, fmt.Errorf("codex: there is no sandbox %q", p.options.Sandbox)
	}
	if spec.Log == nil {
		spec.Log = slog.New(slog.DiscardHandler)
	}
	return &agent{options: p.options, spec: spec, native: spec.Native}, nil
}

// inherited is what a program needs to run at all. Everything else, the host's
// own secrets above all, stays out of its environment.
var inherited = []string{"PATH", "LANG", "LC_ALL", "TZ", "TMPDIR"}

// secretVariable names the bearer of the host's MCP server in config.toml.
const secretVariable = "BELLHOP_WORKSPACE_SECRET"

// environment of a session's program; of two values the later one counts.
func environment(options Options, spec agenthost.AgentSpec) []string {
	var env []string
	for _, name := range inherited {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	env = append(env, "NO_COLOR=1") // its stderr is shown to people
	env = append(env, options.Env...)
	env = append(env, spec.Env...)
	if spec.Local != nil {
		env = append(env, secretVariable+"="+spec.Local.Secret)
	}
	return append(env, "HOME="+spec.StateDir, "CODEX_HOME="+home(spec))
}

func home(spec agenthost.AgentSpec) string { return filepath.Join(spec.StateDir, ".codex") }

// lookup is the value of a variable in an environment, "" without one.
func lookup(env []string, name string) string {
	for _, entry := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}
