package opencode

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"

	"bellhop/agenthost"
	"bellhop/protocol"
)

var errClosed = errors.New("the agent is closed")

// agent is the agent of one session.
type agent struct {
	options Options
	spec    agenthost.AgentSpec

	gate sync.Mutex // held while the program is started or stopped

	mu       sync.Mutex
	program  *program // nil when none runs
	turn     *turn    // nil when idle
	password string
	native   string // OpenCode's id of the session, "" before the first turn
	told     bool   // the host knows it
	closed   bool
}

var _ agenthost.TerminalAgent = (*agent)(nil)

// Run implements agenthost.Agent.
func (a *agent) Run(ctx context.Context, prompt agenthost.Prompt, out agenthost.Output) (agenthost.Outcome, error) {
	t, err := a.begin(ctx, out)
	if err != nil {
		return agenthost.Outcome{}, err
	}
	defer a.end(t)
	if err := t.prepare(ctx, prompt); err != nil {
		if t.stopped() || ctx.Err() != nil {
			return agenthost.Outcome{FinishReason: protocol.FinishOther, Reason: protocol.ReasonAborted}, nil
		}
		return agenthost.Outcome{}, err
	}
	return t.play(ctx), nil
}

func (a *agent) begin(ctx context.Context, out agenthost.Output) (*turn, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.closed:
		return nil, errClosed
	case a.turn != nil:
		return nil, errors.New("a turn is running")
	}
	a.turn = newTurn(ctx, a, out)
	return a.turn, nil
}

func (a *agent) end(t *turn) {
	t.withdraw()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.turn = nil
	close(t.done)
}

// running returns the program, started if none runs.
func (a *agent) running(ctx context.Context) (*program, error) {
	a.gate.Lock()
	defer a.gate.Unlock()
	a.mu.Lock()
	p, closed := a.program, a.closed
	if a.password == "" {
		a.password = rand.Text()
	}
	a.mu.Unlock()
	switch {
	case closed:
		return nil, errClosed
	case p != nil && !p.ended():
		return p, nil
	case p != nil:
		p.forget()
	}
	p, err := launch(ctx, a.options, a.spec, a.password, a.heard)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.program = p
	if err != nil {
		a.program = nil
		return nil, err
	}
	return p, nil
}

// resume returns the session's id in the program, made anew (fresh) when there
// is none or the program no longer knows it.
func (a *agent) resume(ctx context.Context, p *program) (id string, fresh bool, err error) {
	a.mu.Lock()
	id = a.native
	a.mu.Unlock()
	if id != "" {
		_, err := p.client.session(ctx, id)
		if err == nil {
			return id, false, nil
		}
		if !refused(err) {
			return "", false, fmt.Errorf("resume OpenCode's session: %w", err)
		}
		a.spec.Log.Warn("the agent no longer knows its session", "native", id)
	}
	made, err := p.client.createSession(ctx, p.config.rules())
	if err != nil {
		return "", false, fmt.Errorf("make a session in OpenCode: %w", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.native, a.told = made.ID, false
	return made.ID, true, nil
}

// heard passes what the program says to the turn that runs; between turns it
// has nothing to say that anyone would see.
func (a *agent) heard(from *program, h heard) {
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
	case t.said <- h:
	case <-t.done:
	case <-from.server.Done():
	}
}

// Interrupt implements agenthost.Agent.
func (a *agent) Interrupt(ctx context.Context) error {
	a.mu.Lock()
	t := a.turn
	a.mu.Unlock()
	if t == nil {
		return nil
	}
	t.stop()
	select {
	case <-t.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Stop implements agenthost.Agent. When ctx ends the program is killed at once.
func (a *agent) Stop(ctx context.Context) error {
	a.mu.Lock()
	t := a.turn
	a.mu.Unlock()
	if err := a.Interrupt(ctx); err != nil {
		a.spec.Log.Warn("agent gets no time to stop", "agent", a.options.Name, "err", err)
	}
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
	if t != nil {
		<-t.done
	}
	p.forget()
	a.mu.Lock()
	a.program = nil
	a.mu.Unlock()
	return nil
}

// Close implements agenthost.Agent.
func (a *agent) Close(ctx context.Context) error {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	return a.Stop(ctx)
}
