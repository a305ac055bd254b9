package acp

import (
	"context"
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
	native  string // the session of the agent; of the goroutine of Run

	mu      sync.Mutex
	program *program // nil when none runs
	turn    *turn    // nil when idle
	closed  bool
}

// Run implements agenthost.Agent.
func (a *agent) Run(ctx context.Context, prompt agenthost.Prompt, out agenthost.Output) (agenthost.Outcome, error) {
	t, err := a.begin(ctx, prompt, out)
	if err != nil {
		return agenthost.Outcome{}, err
	}
	defer a.end(t)
	switch err := a.ready(t); {
	case t.asking.Err() != nil, errors.Is(err, errOutput):
		return agenthost.Outcome{FinishReason: protocol.FinishOther, Reason: protocol.ReasonAborted}, nil
	case err != nil:
		return agenthost.Outcome{}, err
	}
	return t.play(ctx), nil
}

// begin makes the turn; from here on it can be interrupted.
func (a *agent) begin(ctx context.Context, prompt agenthost.Prompt, out agenthost.Output) (*turn, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case a.closed:
		return nil, errClosed
	case a.turn != nil:
		return nil, errors.New("a turn is running")
	}
	a.turn = newTurn(ctx, a, prompt, out)
	return a.turn, nil
}

func (a *agent) end(t *turn) {
	t.withdraw(nil)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.turn = nil
	close(t.done)
}

// heard passes an update to the turn that runs. Between turns nobody would see
// it; what an agent replays of its history when it loads a session is such.
func (a *agent) heard(from *program, s saying) {
	t := a.playing(from)
	if t != nil {
		select {
		case t.said <- s:
			return
		case <-t.done:
		}
	}
	a.spec.Log.Debug("agent spoke outside a turn", "agent", a.options.Name)
}

// playing is the turn that a program plays, nil without one.
func (a *agent) playing(from *program) *turn {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.turn == nil || a.turn.program != from {
		return nil
	}
	return a.turn
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
	if program == nil {
		return nil
	}
	if err := program.stop(ctx); err != nil {
		return fmt.Errorf("stop the agent: %w", err)
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
