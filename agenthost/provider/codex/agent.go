package codex

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
	native  string // the thread; of the goroutine of Run

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

// heard passes what the program says to the turn that runs. Between turns it
// has nothing to say that anyone would see, and nobody to ask.
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
	if s.isRequest() {
		from.send(context.Background(), cancellation(&s.message))
	}
	a.spec.Log.Debug("agent spoke outside a turn", "method", s.Method)
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
