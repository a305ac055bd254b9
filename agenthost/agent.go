package agenthost

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"bellhop/agenthost/core"
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
