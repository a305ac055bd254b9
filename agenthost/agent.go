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
	"bellhop/protocol"
)

// closeLimit bounds how long a program that is no longer wanted may take to end.
const closeLimit = 8 * time.Second

// agentSlot is the agent of a session. gate is held while the agent is opened,
// stopped or closed, so that a program is not stopped under a turn that begins.
type agentSlot struct {
	gate  sync.Mutex
	agent Agent
	key   string
	of    SessionRecord // what the agent was opened for
}

// openAgent returns the session's agent, a new one when the session now asks for
// another, and what it was opened for. It starts no program.
func (s *session) openAgent(ctx context.Context) (Agent, *SessionRecord, error) {
	s.agent.gate.Lock()
	defer s.agent.gate.Unlock()
	agent, err := s.openAgentLocked(ctx)
	of := s.agent.of
	return agent, &of, err
}

func (s *session) openAgentLocked(ctx context.Context) (Agent, error) {
	s.mu.Lock()
	rec := s.state.Record
	s.mu.Unlock()
	key := strings.Join([]string{rec.Agent, rec.Project, rec.Model}, "\x00")
	if s.agent.agent != nil && s.agent.key == key {
		return s.agent.agent, nil
	}
	s.closeAgentLocked()
	provider, ok := s.host.opts.Providers[rec.Agent]
	if !ok {
		return nil, protocol.Errorf(protocol.CodeInvalid, "This host no longer has the agent %q", rec.Agent)
	}
	dir, stateDir, err := s.host.opts.Workspaces.Dir(ctx, s.id, rec.Project)
	if err != nil {
		return nil, fmt.Errorf("workspace: %w", err)
	}
	if err := s.saveWorkspace(dir); err != nil {
		return nil, err
	}
	local, env := s.local(dir)
	agent, err := provider.Open(ctx, AgentSpec{
		SessionID: s.id, Dir: dir, StateDir: stateDir, Model: rec.Model,
		Env: append(slices.Clone(s.host.opts.Env(s.id)), env...), Native: rec.Native, Local: local,
		Log: s.host.opts.Log.With("session", s.id),
	})
	if err != nil {
		return nil, fmt.Errorf("open agent %s: %w", rec.Agent, err)
	}
	s.agent.agent, s.agent.key, s.agent.of = agent, key, rec
	return agent, nil
}

// closeAgent ends the agent for good; the next turn opens another.
func (s *session) closeAgent() {
	s.agent.gate.Lock()
	defer s.agent.gate.Unlock()
	s.closeAgentLocked()
}

func (s *session) closeAgentLocked() {
	if s.agent.agent == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	if err := s.agent.agent.Close(ctx); err != nil {
		s.host.opts.Log.Warn("an agent could not be closed", "session", s.id, "error", err)
	}
	s.agent.agent = nil
}

// rest stops the program of an idle session and forgets its frames. A cursor at
// their end is still known; earlier ones get a replay from the journal.
func (s *session) rest() {
	s.agent.gate.Lock()
	defer s.agent.gate.Unlock()
	s.mu.Lock()
	_, err := s.apply(core.Idled{})
	busy := err != nil || s.state.Turn != nil
	s.mu.Unlock()
	if busy || s.agent.agent == nil {
		return
	}
	ctx, cancel := context.WithTimeout(s.host.work, closeLimit)
	defer cancel()
	if err := s.agent.agent.Stop(ctx); err != nil {
		s.host.opts.Log.Warn("an idle agent could not be stopped", "session", s.id, "error", err)
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

// secrets returns what is masked in the output of the session's agent.
func (s *session) secrets() []string {
	secrets := s.host.opts.Secrets(s.id)
	if s.host.opts.LocalURL == "" {
		return secrets
	}
	return append(slices.Clone(secrets), s.workspaceSecret())
}

// saveWorkspace journals the workspace and its secret: the next host still accepts
// programs that outlive this one.
func (s *session) saveWorkspace(dir string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := core.WorkspaceUsed{Dir: dir}
	if s.host.opts.LocalURL != "" {
		in.Secret = s.workspaceSecret()
	}
	_, err := s.apply(in)
	return err
}

// local returns what the session's agent can reach on the host, and its variables.
func (s *session) local(dir string) (*Local, []string) {
	env := []string{envWorkspacePath + "=" + dir}
	base := s.host.opts.LocalURL
	u, err := url.Parse(base)
	if base == "" || err != nil {
		return nil, env
	}
	s.mu.Lock()
	secret := s.workspaceSecret()
	s.mu.Unlock()
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
	agent, err := s.openAgentLocked(ctx)
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
	return terminal, nil
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

// used lets the time until the idle program is stopped begin anew.
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
