package agenthost

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"bellhop/agenthost/access"
	"bellhop/agenthost/core"
	"bellhop/crypto/token"
	"bellhop/internal/masking"
	"bellhop/internal/observe"
	"bellhop/internal/process"
	"bellhop/policy"
	"bellhop/protocol"
)

// closeLimit bounds how long a program that is no longer wanted may take to end.
const closeLimit = 8 * time.Second

// agentSlot is the agent of a session. gate is held while the agent is opened,
// stopped or closed, so that a program is not stopped under a turn that begins.
type agentSlot struct {
	s     *session
	gate  gate
	agent Agent
	key   string // of the agent, project and model that agent was opened with

	openedFor core.AgentStarted // without a turn

	dir, stateDir string // its directories
}

// gate is a mutex that a caller may give up waiting for.
type gate chan struct{}

func newGate() gate { return make(gate, 1) }

func (g gate) lockUntil(ctx context.Context) error {
	select {
	case g <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (g gate) lock()   { g <- struct{}{} }
func (g gate) unlock() { <-g }

func (g gate) tryLock() bool {
	select {
	case g <- struct{}{}:
		return true
	default:
		return false
	}
}

// open returns the session's agent, a new one when the session now asks for
// another, and what it was opened for. It starts no program.
func (a *agentSlot) open(ctx context.Context) (Agent, core.AgentStarted, error) {
	if err := a.gate.lockUntil(ctx); err != nil {
		return nil, core.AgentStarted{}, err
	}
	defer a.gate.unlock()
	agent, err := a.openLocked(ctx)
	return agent, a.openedFor, err
}

// whileIdle calls do while no turn of a session runs. It holds the gate, so that a turn that begins
// meanwhile gets its agent afterwards. CodeNotFound: there is no such session. CodeBusy: a turn is open, or waits.
func (h *Host) whileIdle(ctx context.Context, sessionID string, do func() error) error {
	s, err := h.session(sessionID)
	if err != nil {
		return err
	}
	if err := s.agent.gate.lockUntil(ctx); err != nil {
		return err
	}
	defer s.agent.gate.unlock()
	s.mu.Lock()
	busy := s.turn != nil || s.state.Turn != nil || len(s.state.Queue) > 0
	s.mu.Unlock()
	if busy {
		return &protocol.Error{
			Code: protocol.CodeBusy, Message: "The agent works on a message", Hint: "Wait until it has finished, or stop it",
		}
	}
	return do()
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
	if trace := observe.Trace(ctx); trace != "" {
		env = append(env, "TRACEPARENT="+trace)
	}
	agent, err := provider.Open(ctx, AgentSpec{
		SessionID: a.s.id, Dir: dir, StateDir: stateDir, Model: rec.Model,
		Env: append(slices.Clone(a.s.host.opts.Env(a.s.id)), env...), AgentSessionID: rec.AgentSessionID, Local: local,
		Log:                a.s.host.opts.Log.With("session", a.s.id),
		Report:             a.s.host.reporter(dir, a.s.id),
		ReportTerminalTurn: func(turn TerminalTurn) { a.s.host.JournalTerminalTurn(a.s.id, turn) },
		ReportTools:        a.s.keepTools,
		ReportCommands:     a.s.keepCommands,
		Confine: a.s.host.opts.confine(Confined{
			Session: a.s.id, Agent: rec.Agent, Project: rec.Project, Dir: dir, StateDir: stateDir,
		}),
	})
	if err != nil {
		return nil, fmt.Errorf("open agent %s: %w", rec.Agent, err)
	}
	a.dir, a.stateDir = dir, stateDir
	a.agent, a.key, a.openedFor = agent, key, core.AgentStarted{Agent: rec.Agent, Project: rec.Project}
	return agent, nil
}

// close ends the agent for good; the next turn opens another.
func (a *agentSlot) close() {
	a.gate.lock()
	defer a.gate.unlock()
	a.closeLocked()
}

// closed reports that there is no agent, and that none is being opened.
func (a *agentSlot) closed() bool {
	free := a.gate.tryLock()
	if free {
		defer a.gate.unlock()
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

// stopIdle stops the program of an idle session and forgets its frames. A cursor at
// their end is still known; earlier ones get a replay from the journal.
func (a *agentSlot) stopIdle() {
	a.gate.lock()
	defer a.gate.unlock()
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

// confine returns what confines programs to a session, nil without a sandbox.
func (o *Options) confine(to Confined) func(process.Command) (process.Command, error) {
	if o.Sandbox == nil {
		return nil
	}
	return func(c process.Command) (process.Command, error) { return o.Sandbox.Confine(to, c) }
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
	message = masking.New(s.secrets()).Text(message)
	if turn := s.state.OpenTurn(); turn != "" {
		_, _ = s.apply(core.AgentNoticed{TurnID: turn, Level: level, Message: message})
	}
}

// workspaceOf describes a session to package access.
func (h *Host) workspaceOf(sessionID string) (access.Session, error) {
	s, err := h.session(sessionID)
	if err != nil {
		return access.Session{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	record, masker := &s.state.Record, masking.New(s.secrets())
	return access.Session{
		Project: record.Project, Dir: record.Dir, Mask: masker.Text, MaskPiece: masker.Piece,
	}, nil
}

// Differ is a Workspaces that can compare a session's workspace with its beginning.
type Differ interface {
	// Diff compares a session's workspace with what it held at first.
	// CodeConflict: there is nothing to compare with.
	Diff(ctx context.Context, sessionID, project string) (*protocol.Diff, error)
}

// UserOf returns what stands for the user of a session, the same in all of the user's sessions; "" if the broker did not
// say it, or there is no such session. It waits for no session, so that workspaces can ask while one opens.
func (h *Host) UserOf(sessionID string) string {
	s, err := h.session(sessionID)
	if err != nil {
		return ""
	}
	if user := s.user.Load(); user != nil {
		return *user
	}
	return ""
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
	s.mu.Lock()
	secrets := s.secrets()
	s.mu.Unlock()
	mask := masking.New(secrets)
	diff.Patch = mask.Text(diff.Patch)
	for i := range diff.Files {
		diff.Files[i].Path, diff.Files[i].OldPath = mask.Text(diff.Files[i].Path), mask.Text(diff.Files[i].OldPath)
	}
	for i := range diff.LeftOut {
		diff.LeftOut[i].Path = mask.Text(diff.LeftOut[i].Path)
	}
	diff.Fit() // a mask can be longer than its secret
	return diff, nil
}

// AllowTarget asks the user of a session's open turn whether its programs may reach a target of
// the network, NAME:PORT, that the operator does not list. It waits for the answer until ctx ends,
// and the question stays open after that. The answer holds for the turn, or for the session if
// the user wants that. It returns false without a question if no turn is open, if the policy
// denies the target, or if too many were refused in this turn.
func (h *Host) AllowTarget(ctx context.Context, sessionID, name string) bool {
	s, err := h.session(sessionID)
	if err != nil {
		return false
	}
	s.mu.Lock()
	t := s.turn
	isOpen := t != nil && s.state.OpenTurn() == t.id
	s.mu.Unlock()
	return isOpen && t.targets.Allows(ctx, name, h.spawn, t.allowsTarget)
}

// allowsTarget asks, unless the policy denies the target. Only a person allows one: a yes of a
// rule or of a permission mode is about the agent's calls, and the operator's list about its programs.
func (t *turn) allowsTarget(name string) bool {
	address, _ := json.Marshal(map[string]string{"url": "https://" + name + "/"})
	args, _ := json.Marshal(map[string]string{"target": name}) // neither fails for strings
	call := Question{ToolName: "WebFetch", Input: address}
	if ruling := t.ruling(t.ctx, protocol.KindConfirm, &call); ruling != nil && ruling.Action == policy.Deny {
		return false
	}
	answer, err := t.await(t.ctx, core.AgentAsked{
		TurnID: t.id, Kind: protocol.KindConfirm, Timeout: t.s.host.opts.InteractionTimeout, Aside: true,
		Question: t.cleanQuestion(Question{
			Prompt: "Allow programs of this task to connect to " + name + "?", ToolName: "network", Args: args,
			Level: string(policy.Warn), Shape: "sandbox: network " + name,
			Warning: "What the agent has read can be sent there. The operator's list of targets does not have it.",
		}),
	})
	return err == nil && answer.Approved
}
