package agenthost

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"bellhop/protocol"
)

// closeLimit bounds how long a program that is no longer wanted may take to end.
const closeLimit = 8 * time.Second

// openAgent returns the session's agent, made anew when the session now asks for
// another. No program is started by it.
func (s *session) openAgent(ctx context.Context) (Agent, error) {
	s.gate.Lock()
	defer s.gate.Unlock()
	return s.openAgentLocked(ctx)
}

func (s *session) openAgentLocked(ctx context.Context) (Agent, error) {
	s.mu.Lock()
	rec := s.rec
	s.mu.Unlock()
	key := strings.Join([]string{rec.Agent, rec.Project, rec.Model}, "\x00")
	if s.agent != nil && s.agentKey == key {
		return s.agent, nil
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
	if err := s.settleIn(dir); err != nil {
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
	s.agent, s.agentKey = agent, key
	s.mu.Lock()
	s.agentOf = rec
	s.mu.Unlock()
	return agent, nil
}

// closeAgent ends the agent for good; the next turn opens another.
func (s *session) closeAgent() {
	s.gate.Lock()
	defer s.gate.Unlock()
	s.closeAgentLocked()
}

func (s *session) closeAgentLocked() {
	if s.agent == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	if err := s.agent.Close(ctx); err != nil {
		s.host.opts.Log.Warn("an agent could not be closed", "session", s.id, "error", err)
	}
	s.agent = nil
}

// armIdle stops the program and forgets the frames when nothing happens for a
// while. The session's lock is held.
func (s *session) armIdle() {
	stopTimer(&s.idle)
	s.idle = time.AfterFunc(s.host.opts.IdleStop, func() { s.host.spawn(s.rest) })
}

// rest is a session at rest: no program, no frames. A cursor at its end is still
// known; earlier ones get a replay from the journal.
func (s *session) rest() {
	s.gate.Lock()
	defer s.gate.Unlock()
	s.mu.Lock()
	busy := s.turn != nil
	if !busy {
		s.stream.Forget()
	}
	s.mu.Unlock()
	if busy || s.agent == nil {
		return
	}
	ctx, cancel := context.WithTimeout(s.host.work, closeLimit)
	defer cancel()
	if err := s.agent.Stop(ctx); err != nil {
		s.host.opts.Log.Warn("an idle agent could not be stopped", "session", s.id, "error", err)
	}
}
