package claude

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"bellhop/agenthost"
)

var (
	errClosed  = errors.New("the agent is closed")
	errRunning = errors.New("a turn is running")
)

// agent is the agent of one session.
type agent struct {
	options Options
	spec    agenthost.AgentSpec

	gate sync.Mutex // held while a turn begins or a terminal client is readied

	mu        sync.Mutex
	program   *program // nil when none runs
	turn      *turn    // nil when idle
	closed    bool
	native    string // the program's own session, "" before it has one
	announced string // what the host knows of native
}

// Run implements agenthost.Agent.
func (a *agent) Run(ctx context.Context, prompt agenthost.Prompt, out agenthost.Output) (agenthost.Outcome, error) {
	if _, _, err := encode(prompt, ""); err != nil {
		return agenthost.Outcome{}, err
	}
	t, err := a.begin(ctx, prompt, out)
	if err != nil {
		return agenthost.Outcome{}, err
	}
	defer a.end(t)
	if err := t.launch(ctx); err != nil {
		t.withdraw(nil)
		if t.interrupted() || ctx.Err() != nil {
			return aborted(), ctx.Err()
		}
		return agenthost.Outcome{}, err
	}
	return t.play(ctx), nil
}

// begin makes the turn; launch gives it a program.
func (a *agent) begin(ctx context.Context, prompt agenthost.Prompt, out agenthost.Output) (*turn, error) {
	a.gate.Lock()
	defer a.gate.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case a.closed:
		return nil, errClosed
	case a.turn != nil:
		return nil, errRunning
	}
	a.turn = newTurn(ctx, a, prompt, out)
	return a.turn, nil
}

func (a *agent) end(t *turn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.turn = nil
	close(t.done)
}

// heard passes what the program says to the turn that runs. Between turns it is
// told no to what it asks, and else has nothing to say that anyone would see.
func (a *agent) heard(from *program, s saying) {
	a.mu.Lock()
	t := a.turn
	if t != nil && t.program != from {
		t = nil
	}
	a.mu.Unlock()
	if t != nil {
		select {
		case t.said <- s:
			return
		case <-t.done:
		}
	}
	a.spec.Log.Debug("agent spoke outside a turn", "type", s.Type, "subtype", s.Subtype)
	if s.Type == "control_request" {
		from.offer(controlResponse(s.request.RequestID, deny("No turn is running: nobody can allow this.")))
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
	t.stopOnce.Do(func() { close(t.interrupt) })
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
	a.mu.Lock()
	program := a.program
	a.mu.Unlock()
	if program != nil {
		if err := program.stop(ctx); err != nil {
			return fmt.Errorf("stop the agent: %w", err)
		}
	}
	if t != nil {
		<-t.done
	}
	return nil
}

// Close implements agenthost.Agent.
func (a *agent) Close(ctx context.Context) error {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	return a.Stop(ctx)
}
