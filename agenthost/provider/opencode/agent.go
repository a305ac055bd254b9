package opencode

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/stdio"
)

// agent is the agent of one session.
type agent struct {
	stdio.Slot
	options Options
	spec    agenthost.AgentSpec

	gate sync.Mutex // held while the program is started or stopped

	mu        sync.Mutex
	program   *program // nil when none runs
	turn      *turn    // nil when idle
	password  string
	sessionID string // OpenCode's id of the session; "" before the first turn
	announced bool   // the host has stored this id
}

var _ agenthost.TerminalAgent = (*agent)(nil)

// Run implements agenthost.Agent.
func (a *agent) Run(ctx context.Context, prompt agenthost.Prompt, out agenthost.Output) (agenthost.Outcome, error) {
	begun, err := a.Begin(ctx, out)
	if err != nil {
		return agenthost.Outcome{}, err
	}
	defer a.End(begun)
	t := newTurn(begun, a)
	a.attach(t)
	defer a.attach(nil)
	if err := t.prepare(t.Context(), prompt); err != nil {
		if t.Context().Err() != nil {
			return *stdio.Aborted(), nil
		}
		return agenthost.Outcome{}, err
	}
	return t.play(ctx), nil
}

// attach makes the turn the receiver of the program's events.
func (a *agent) attach(t *turn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.turn = t
}

// running returns the program and starts it if none runs.
func (a *agent) running(ctx context.Context) (*program, error) {
	a.gate.Lock()
	defer a.gate.Unlock()
	a.mu.Lock()
	p := a.program
	if a.password == "" {
		a.password = rand.Text()
	}
	a.mu.Unlock()
	switch {
	case a.IsRetired():
		return nil, stdio.ErrClosed
	case p != nil && !p.ended():
		return p, nil
	case p != nil:
		p.forget()
	}
	p, err := launch(ctx, a.options, a.spec, a.password, a.deliver)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.program = p
	return p, err
}

// resume returns the session's id in the program. fresh means a new session,
// because there was none or the program no longer has it.
func (a *agent) resume(ctx context.Context, p *program) (id string, fresh bool, err error) {
	a.mu.Lock()
	id = a.sessionID
	a.mu.Unlock()
	if id != "" {
		_, err := p.client.session(ctx, id)
		if err == nil {
			return id, false, nil
		}
		if !refused(err) {
			return "", false, fmt.Errorf("resume OpenCode's session: %w", err)
		}
		a.Log.Warn("the agent lost its session", "sessionID", id)
	}
	made, err := p.client.createSession(ctx, p.config.rules())
	if err != nil {
		return "", false, fmt.Errorf("create a session in OpenCode: %w", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sessionID, a.announced = made.ID, false
	return made.ID, true, nil
}

// deliver passes an event to the running turn. Events between turns are dropped.
func (a *agent) deliver(from *program, in incoming) {
	a.mu.Lock()
	t := a.turn
	if a.program != from {
		t = nil
	}
	a.mu.Unlock()
	if t == nil {
		return
	}
	select {
	case t.events <- in:
	case <-t.Done():
	case <-from.server.Done():
	}
}

// Stop implements agenthost.Agent. When ctx ends, the program is killed
// immediately.
func (a *agent) Stop(ctx context.Context) error {
	return a.Halt(ctx, func(ctx context.Context) error {
		a.gate.Lock()
		defer a.gate.Unlock()
		a.mu.Lock()
		p := a.program
		a.mu.Unlock()
		if p == nil {
			return nil
		}
		if err := a.options.Servers.Stop(ctx, serverKey(a.spec)); err != nil {
			return fmt.Errorf("stop the agent: %w", err)
		}
		p.forget()
		a.mu.Lock()
		defer a.mu.Unlock()
		a.program = nil
		return nil
	})
}

// Close implements agenthost.Agent.
func (a *agent) Close(ctx context.Context) error {
	a.Retire()
	return a.Stop(ctx)
}
