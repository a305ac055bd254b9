package agenthost

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"bellhop/agenthost/core"
	"bellhop/agenthost/stream"
	"bellhop/crypto/token"
	"bellhop/internal/process"
	"bellhop/protocol"
)

// closeLimit bounds how long a program that is no longer wanted may take to end.
const closeLimit = 8 * time.Second

// agentSlot is the agent of a session. gate is held while the agent is opened,
// stopped or closed, so that a program is not stopped under a turn that begins.
type agentSlot struct {
	s     *session
	gate  sync.Mutex
	agent Agent
	key   string
	of    core.AgentStarted // what the agent was opened for, without a turn

	dir, stateDir string // its directories
}

// open returns the session's agent, a new one when the session now asks for
// another, and what it was opened for. It starts no program.
func (a *agentSlot) open(ctx context.Context) (Agent, core.AgentStarted, error) {
	a.gate.Lock()
	defer a.gate.Unlock()
	agent, err := a.openLocked(ctx)
	return agent, a.of, err
}

func (a *agentSlot) openLocked(ctx context.Context) (Agent, error) {
	a.s.mu.Lock()
	rec := a.s.state.Record
	a.s.mu.Unlock()
	key := strings.Join([]string{rec.Agent, rec.Project, rec.Model}, "\x00")
	if a.agent != nil && a.key == key {
		return a.agent, nil
	}
	a.closeLocked()
	provider, ok := a.s.host.opts.Providers[rec.Agent]
	if !ok {
		return nil, protocol.Errorf(protocol.CodeInvalid, "This host no longer has the agent %q", rec.Agent)
	}
	dir, stateDir, err := a.s.host.opts.Workspaces.Dir(ctx, a.s.id, rec.Project)
	if err != nil {
		return nil, fmt.Errorf("workspace: %w", err)
	}
	if err := a.saveWorkspace(dir); err != nil {
		return nil, err
	}
	local, env := a.local(dir)
	agent, err := provider.Open(ctx, AgentSpec{
		SessionID: a.s.id, Dir: dir, StateDir: stateDir, Model: rec.Model,
		Env: append(slices.Clone(a.s.host.opts.Env(a.s.id)), env...), Native: rec.Native, Local: local,
		Log:     a.s.host.opts.Log.With("session", a.s.id),
		Confine: a.s.host.confine(Confined{Session: a.s.id, Agent: rec.Agent, Project: rec.Project, Dir: dir, StateDir: stateDir}),
	})
	if err != nil {
		return nil, fmt.Errorf("open agent %s: %w", rec.Agent, err)
	}
	a.dir, a.stateDir = dir, stateDir
	a.agent, a.key, a.of = agent, key, core.AgentStarted{Agent: rec.Agent, Project: rec.Project}
	return agent, nil
}

// close ends the agent for good; the next turn opens another.
func (a *agentSlot) close() {
	a.gate.Lock()
	defer a.gate.Unlock()
	a.closeLocked()
}

// closed reports that there is no agent, and that none is being opened.
func (a *agentSlot) closed() bool {
	free := a.gate.TryLock()
	if free {
		defer a.gate.Unlock()
	}
	return free && a.agent == nil
}

func (a *agentSlot) closeLocked() {
	if a.agent == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	if err := a.agent.Close(ctx); err != nil {
		a.s.host.opts.Log.Warn("an agent could not be closed", "session", a.s.id, "error", err)
	}
	a.agent = nil
}

// rest stops the program of an idle session and forgets its frames. A cursor at
// their end is still known; earlier ones get a replay from the journal.
func (a *agentSlot) rest() {
	a.gate.Lock()
	defer a.gate.Unlock()
	a.s.mu.Lock()
	_, err := a.s.apply(core.Idled{})
	busy := err != nil || a.s.state.Turn != nil
	a.s.mu.Unlock()
	if busy || a.agent == nil {
		return
	}
	ctx, cancel := context.WithTimeout(a.s.host.work, closeLimit)
	defer cancel()
	if err := a.agent.Stop(ctx); err != nil {
		a.s.host.opts.Log.Warn("an idle agent could not be stopped", "session", a.s.id, "error", err)
	}
}

// secretPrefix marks a leaked secret for people and for scanners.
const secretPrefix = "bhw_"

// Variables of programs in a workspace.
const (
	envWorkspacePath   = "BELLHOP_WORKSPACE_PATH"
	envMCPPort         = "BELLHOP_MCP_PORT"
	envHookPort        = "BELLHOP_HOOK_PORT"
	envWorkspaceSecret = "BELLHOP_WORKSPACE_SECRET" //nolint:gosec // a name
)

// workspaceSecret returns the session's secret and makes it at the first call. The
// session's lock is held.
func (s *session) workspaceSecret() string {
	if s.secret == "" {
		s.secret, _ = token.NewOpaque(secretPrefix)
	}
	return s.secret
}

// secrets returns the values that are masked in the output of the session's agent.
func (s *session) secrets() []string {
	secrets := s.host.opts.Secrets(s.id)
	if s.host.opts.LocalURL == "" {
		return secrets
	}
	return append(slices.Clone(secrets), s.workspaceSecret())
}

// saveWorkspace journals the workspace and its secret: the next host still accepts
// programs that outlive this one.
func (a *agentSlot) saveWorkspace(dir string) error {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	in := core.WorkspaceUsed{Dir: dir}
	if a.s.host.opts.LocalURL != "" {
		in.Secret = a.s.workspaceSecret()
	}
	_, err := a.s.apply(in)
	return err
}

// local returns what the session's agent can reach on the host, and its variables.
func (a *agentSlot) local(dir string) (*Local, []string) {
	env := []string{envWorkspacePath + "=" + dir}
	base := a.s.host.opts.LocalURL
	u, err := url.Parse(base)
	if base == "" || err != nil {
		return nil, env
	}
	a.s.mu.Lock()
	secret := a.s.workspaceSecret()
	a.s.mu.Unlock()
	return &Local{MCPURL: base + "/mcp", HookURL: base + "/hook", Secret: secret}, append(env,
		envMCPPort+"="+u.Port(), envHookPort+"="+u.Port(), envWorkspaceSecret+"="+secret)
}

// Terminal readies a session for its agent's own terminal client and says how to
// start that on this machine. CodeNotFound: no such session; CodeInvalid: the
// agent has no such client; CodeConflict: not during a turn; else the agent's own,
// such as that its program is missing.
func (h *Host) Terminal(ctx context.Context, sessionID string) (*Terminal, error) {
	s, err := h.session(sessionID)
	if err != nil {
		return nil, err
	}
	if h.in(draining, stopped) {
		return nil, core.ErrStopping()
	}
	s.mu.Lock()
	name := s.state.Record.Agent
	_, err = s.apply(core.TerminalAttached{Opening: true})
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	defer s.used()
	s.agent.gate.Lock() // a turn begins before or after, and the agent is not closed meanwhile
	defer s.agent.gate.Unlock()
	agent, err := s.agent.openLocked(ctx)
	if err != nil {
		return nil, err
	}
	client, ok := agent.(TerminalAgent)
	if !ok {
		return nil, &protocol.Error{
			Code: protocol.CodeInvalid, Message: fmt.Sprintf("The agent %s has no terminal client", name),
			Hint: "Talk with it by bellhop chat",
		}
	}
	terminal, err := client.Terminal(ctx)
	if err != nil {
		return nil, fmt.Errorf("terminal client of %s: %w", name, err)
	}
	return s.agent.confineTerminal(terminal)
}

// confineTerminal returns the terminal client as it runs in the sandbox.
func (a *agentSlot) confineTerminal(t *Terminal) (*Terminal, error) {
	confine := a.s.host.confine(Confined{Session: a.s.id, Agent: a.of.Agent, Project: a.of.Project, Dir: a.dir, StateDir: a.stateDir})
	if confine == nil {
		return t, nil
	}
	c, err := confine(process.Command{Args: t.Command, Dir: t.Dir, Env: t.Env, Dials: t.Dials})
	if err != nil {
		return nil, fmt.Errorf("terminal client: %w", err)
	}
	return &Terminal{Command: c.Args, Dir: c.Dir, Env: c.Env}, nil
}

// confine returns what confines programs to a session, nil without a sandbox.
func (h *Host) confine(to Confined) func(process.Command) (process.Command, error) {
	if h.opts.Sandbox == nil {
		return nil
	}
	return func(c process.Command) (process.Command, error) { return h.opts.Sandbox.Confine(to, c) }
}

// ShowNotice shows a message of the host in a session's open turn. It is not kept. Without an
// open turn, or for an unknown session, it does nothing.
func (h *Host) ShowNotice(sessionID, level, message string) {
	s, err := h.session(sessionID)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	message = stream.NewMasker(s.secrets()).Text(message)
	if turn := s.state.OpenTurn(); turn != "" {
		_, _ = s.apply(core.AgentNoticed{TurnID: turn, Level: level, Message: message})
	}
}

// TerminalOpen says that a terminal client is open on the session: its program is
// not idle. Clients say so every few minutes, as it is stopped otherwise.
func (h *Host) TerminalOpen(sessionID string) error {
	s, err := h.session(sessionID)
	if err == nil {
		s.used()
	}
	return err
}

// used lets the time until the idle program is stopped start again.
func (s *session) used() {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = s.apply(core.TerminalAttached{}) // it writes nothing
}

// Differ is a Workspaces that can compare a session's workspace with its beginning.
type Differ interface {
	// Diff compares a session's workspace with what it held at first.
	// CodeConflict: there is nothing to compare with.
	Diff(ctx context.Context, sessionID, project string) (*protocol.Diff, error)
}

// Diff returns what a session has changed since it began, its secrets masked.
// CodeNotFound: no such session; CodeConflict: there is nothing to compare
// with, the hint says why; CodeInvalid: this host makes no diffs.
func (h *Host) Diff(ctx context.Context, sessionID string) (*protocol.Diff, error) {
	s, err := h.session(sessionID)
	if err != nil {
		return nil, err
	}
	differ, ok := h.opts.Workspaces.(Differ)
	if !ok {
		return nil, &protocol.Error{
			Code: protocol.CodeInvalid, Message: "This host makes no diffs",
			Hint: "The capabilities in its answer to POST /session say what it can do",
		}
	}
	s.mu.Lock()
	project := s.state.Record.Project
	s.mu.Unlock()
	diff, err := differ.Diff(ctx, sessionID, project)
	if protocol.CodeOf(err) == protocol.CodeNotFound { // the session is there, its workspace is not
		return nil, &protocol.Error{
			Code: protocol.CodeConflict, Message: "The session's workspace is gone",
			Hint: "The session's next turn makes it again", Err: err,
		}
	}
	if err != nil {
		return nil, err
	}
	mask := stream.NewMasker(s.secrets())
	diff.Patch = mask.Text(diff.Patch)
	for i := range diff.Files {
		diff.Files[i].Path, diff.Files[i].OldPath = mask.Text(diff.Files[i].Path), mask.Text(diff.Files[i].OldPath)
	}
	diff.Fit() // a mask can be longer than its secret
	return diff, nil
}

func (h *Host) capabilities() []string {
	all := []string{protocol.CapabilityEvents, protocol.CapabilityResume, protocol.CapabilityInteractions}
	if _, ok := h.opts.Workspaces.(Differ); ok {
		all = append(all, protocol.CapabilityDiff)
	}
	return all
}
