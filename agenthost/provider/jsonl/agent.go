package jsonl

import (
	"context"
	"encoding/json"
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

	mu      sync.Mutex
	program *program // nil when none runs
	turn    *turn    // nil when idle
	closed  bool
}

// Run implements agenthost.Agent.
func (a *agent) Run(ctx context.Context, prompt agenthost.Prompt, out agenthost.Output) (agenthost.Outcome, error) {
	if _, err := a.input(prompt, ""); err != nil { // before a program is started for it
		return agenthost.Outcome{}, err
	}
	t, err := a.begin(ctx, out)
	if err != nil {
		return agenthost.Outcome{}, err
	}
	defer a.end(t)
	t.prompt = prompt
	t.tell(ctx)
	return t.play(ctx), nil
}

// input is the line that tells the program a prompt, after what was said before.
func (a *agent) input(prompt agenthost.Prompt, before string) (json.RawMessage, error) {
	text := before + prompt.Text
	input, err := json.Marshal(protocol.Line{
		Type:        protocol.LineInput,
		SessionID:   a.spec.SessionID,
		Text:        &text,
		Attachments: prompt.Attachments,
	})
	if err != nil {
		return nil, fmt.Errorf("encode the prompt: %w", err)
	}
	if len(input) > protocol.MaxLine {
		return nil, protocol.Errorf(protocol.CodeTooLarge,
			"The prompt with its attachments is larger than the %d MiB the agent reads", protocol.MaxLine>>20)
	}
	return input, nil
}

// begin makes the turn, on the running program or a new one.
func (a *agent) begin(ctx context.Context, out agenthost.Output) (*turn, error) {
	if err := a.settle(ctx); err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.closed:
		return nil, errClosed
	case a.turn != nil:
		return nil, errors.New("a turn is running")
	}
	reused := a.program != nil && !a.program.leaving()
	if !reused {
		program, err := start(a.options, a.spec, a.heard)
		if err != nil {
			return nil, err
		}
		a.program = program
	}
	a.turn = newTurn(ctx, a, out)
	a.turn.reused = reused
	return a.turn, nil
}

// revive gives the turn a new program in place of one that had ended, unseen,
// before it said anything of this turn. It reports whether it did.
func (a *agent) revive(ctx context.Context, t *turn) bool {
	if !a.replace(t) {
		return false
	}
	t.tell(ctx)
	return true
}

func (a *agent) replace(t *turn) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !t.reused || a.closed {
		return false
	}
	t.reused = false
	program, err := start(a.options, a.spec, a.heard)
	if err != nil {
		a.spec.Log.Error("agent cannot be started again", "agent", a.options.Name, "err", err)
		return false
	}
	a.program, t.program = program, program
	return true
}

// settle waits until a program that is being stopped is gone: two in one HOME
// would disturb each other.
func (a *agent) settle(ctx context.Context) error {
	a.mu.Lock()
	program := a.program
	a.mu.Unlock()
	if program != nil && program.leaving() {
		select {
		case <-program.ended:
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

func (a *agent) end(t *turn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.turn = nil
	close(t.done)
}

// heard passes what the program says to the turn that runs; between turns it
// has nothing to say that anyone would see.
func (a *agent) heard(from *program, s saying) {
	a.mu.Lock()
	t := a.turn
	if t != nil && t.program != from {
		t = nil
	}
	a.mu.Unlock()
	if t == nil {
		a.spec.Log.Debug("agent spoke outside a turn", "type", s.line.Type)
		return
	}
	select {
	case t.said <- s:
	case <-t.done:
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
