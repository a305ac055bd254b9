package stdio

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// ErrClosed is the error of an agent that was closed.
var ErrClosed = errors.New("the agent is closed")

// Slot admits one turn at a time.
type Slot struct {
	Name string // the agent's name in messages
	Log  *slog.Logger

	gate         sync.Mutex // held while a turn begins, and by WhileIdle
	mu           sync.Mutex
	turn         *Turn // nil when idle
	refusesTurns bool
}

// Begin starts a turn, which can be interrupted from then on.
func (s *Slot) Begin(ctx context.Context, out agenthost.Output) (*Turn, error) {
	s.gate.Lock()
	defer s.gate.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case s.refusesTurns:
		return nil, ErrClosed
	case s.turn != nil:
		return nil, errors.New("a turn is running")
	}
	s.turn = NewTurn(ctx, s.Name, s.Log, out)
	return s.turn, nil
}

// End ends the turn that Begin started.
func (s *Slot) End(t *Turn) {
	t.CancelQuestions(nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn = nil
	close(t.done)
}

// Current returns the running turn, or nil when idle.
func (s *Slot) Current() *Turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.turn
}

// Interrupt stops the running turn and waits for its end.
func (s *Slot) Interrupt(ctx context.Context) error {
	t := s.Current()
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

// Halt interrupts the running turn, ends the program with stop, and returns when
// both are done.
func (s *Slot) Halt(ctx context.Context, stop func(context.Context) error) error {
	t := s.Current()
	if err := s.Interrupt(ctx); err != nil {
		s.Log.Warn("an agent was not interrupted before its stop", "agent", s.Name, "err", err)
	}
	if err := stop(ctx); err != nil {
		return err
	}
	if t != nil {
		<-t.done
	}
	return nil
}

// RefuseTurns makes every later Begin and WhileIdle fail with ErrClosed. A running turn continues.
func (s *Slot) RefuseTurns() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusesTurns = true
}

// RefusesTurns reports whether RefuseTurns was called.
func (s *Slot) RefusesTurns() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refusesTurns
}

// WhileIdle calls f between two turns; no turn begins before f returns. The error
// has CodeConflict while a turn is running.
func (s *Slot) WhileIdle(f func() error) error {
	s.gate.Lock()
	defer s.gate.Unlock()
	switch {
	case s.RefusesTurns():
		return ErrClosed
	case s.Current() != nil:
		return protocol.Errorf(protocol.CodeConflict, "The agent %s works on a turn in this session", s.Name)
	}
	return f()
}
