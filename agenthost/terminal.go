package agenthost

import (
	"context"
	"fmt"

	"bellhop/agenthost/core"
	"bellhop/protocol"
)

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
