package agenthost

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"bellhop/agenthost/core"
	"bellhop/agenthost/stream"
	"bellhop/internal/failpoint"
	"bellhop/protocol"
)

// How long an agent that is to stop may take beyond what Agent.Interrupt itself
// takes.
const (
	interruptLimit = 10 * time.Second
	stopGrace      = 2 * time.Second
	abandonAfter   = 5 * time.Second
)

// turn is the open turn as it runs: its goroutine, its agent and the masks of its
// output. Members without a comment never change.
type turn struct {
	s       *session
	id      string
	ctx     context.Context
	cancel  context.CancelFunc
	done    chan struct{} // closed when its finish is durable
	masker  stream.Masker
	scrub   [2]stream.Scrubber // by core.BlockKind, behind the session's lock
	agent   Agent              // once it runs, behind the session's lock
	back    chan struct{}      // closed when answers are no longer held; nil: they are not; behind the lock
	spawned bool               // behind the lock
}

func (s *session) newTurn(id string) *turn {
	t := &turn{s: s, id: id, done: make(chan struct{}), masker: stream.NewMasker(s.secrets())}
	t.ctx, t.cancel = context.WithCancel(s.host.work)
	t.scrub = [2]stream.Scrubber{stream.NewScrubber(t.masker), stream.NewScrubber(t.masker)}
	return t
}

// held is the text that the masks hold back. A nil turn holds none.
func (t *turn) held() (h core.Held) {
	if t == nil {
		return h
	}
	text, reasoning := t.scrub[core.TextBlock], t.scrub[core.ReasoningBlock]
	return core.Held{Text: text.Flush(), Reasoning: reasoning.Flush()}
}

// flushed forgets held text that a step has published.
func (t *turn) flushed(kinds [2]bool) {
	for kind, yes := range kinds {
		if yes && t != nil {
			t.scrub[kind].Flush()
		}
	}
}

// startAgent makes the turn that has just been opened run.
func (s *session) startAgent(e core.StartAgent) {
	readers := s.prompts[e.TurnID]
	delete(s.prompts, e.TurnID)
	s.stream.BeginTurn(readers, s.state.Turn.Record.FirstOffset)
	t := s.newTurn(e.TurnID)
	s.turn = t
	failpoint.Hit("turn-started")
	t.spawned = s.host.spawn(func() { t.run(e.Prompt) })
}

// endTurn lets go of a turn whose finish is durable.
func (s *session) endTurn() {
	s.stream.EndTurn()
	if s.turn != nil {
		close(s.turn.done)
		s.turn.cancel()
		s.turn = nil
	}
}

// run is the turn's goroutine.
func (t *turn) run(prompt Prompt) {
	outcome, err := t.play(prompt)
	if err != nil {
		t.s.host.opts.Log.Warn("a turn could not begin", "session", t.s.id, "turn", t.id, "error", err)
		outcome = Outcome{FinishReason: protocol.FinishError, Err: explain(err)}
	}
	if t.end(outcome) { // otherwise the goroutine that ended it starts the next, once the agent is closed
		t.s.advanceQueue()
	}
}

// play lets the agent work. A provider that panics ends this turn and no other.
func (t *turn) play(prompt Prompt) (outcome Outcome, err error) {
	defer func() {
		if p := recover(); p != nil {
			t.s.host.opts.Log.Error("a provider panicked", "session", t.s.id, "turn", t.id, "panic", t.masker.Text(fmt.Sprint(p)), "stack", string(debug.Stack()))
			outcome, err = Outcome{FinishReason: protocol.FinishError, Err: "The agent's provider failed"}, nil
		}
	}()
	agent, of, err := t.s.openAgent(t.ctx)
	if err != nil {
		return Outcome{}, err
	}
	t.s.mu.Lock()
	t.agent = agent
	_, refused := t.s.apply(core.AgentStarted{TurnID: t.id, Agent: of.Agent, Project: of.Project})
	stopped := refused != nil || t.s.state.Stopping(t.id)
	t.s.mu.Unlock()
	if stopped {
		return Outcome{FinishReason: protocol.FinishOther, Reason: protocol.ReasonAborted}, nil
	}
	return agent.Run(t.ctx, prompt, &output{t})
}

// end journals the turn's finish. While that cannot be written (a full disk) the
// turn stays open and end tries again, because a turn without a durable finish would
// stay open at the broker for ever. It reports whether this call ended the turn.
func (t *turn) end(outcome Outcome) bool {
	defer t.cancel()
	in := core.AgentEnded{TurnID: t.id, Outcome: t.clean(outcome)}
	wait := 100 * time.Millisecond
	for {
		ended, err := t.tryEnd(in)
		if err == nil {
			return ended
		}
		t.s.host.opts.Log.Error("a turn's finish could not be written", "session", t.s.id, "turn", t.id, "error", err)
		select {
		case <-t.s.host.posting.Done(): // the next start will write it
			return false
		case <-time.After(wait):
		}
		wait = min(wait*2, 5*time.Second)
	}
}

func (t *turn) tryEnd(in core.AgentEnded) (ended bool, err error) {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	if t.s.turn != t {
		return false, nil
	}
	in.Others = t.s.host.activity.now(t.s.state.Record.Dir)
	_, err = t.s.apply(in)
	return err == nil, err
}

// clean masks an outcome.
func (t *turn) clean(o Outcome) Outcome {
	o.Reason, o.Err = t.masker.Text(o.Reason), t.masker.Text(o.Err)
	o.FinishReason = protocol.FinishReason(t.masker.Text(string(o.FinishReason)))
	o.Usage = t.masker.Value(o.Usage, "")
	return o
}

// Interrupt stops the open turn and returns when it has stopped and its finish is
// durable; an idle session is no error. The turn is stopped even if ctx ends.
func (h *Host) Interrupt(ctx context.Context, sessionID string) error {
	s, err := h.session(sessionID)
	if err != nil {
		return err
	}
	return s.stopTurn(ctx, protocol.ReasonAborted)
}

// BeginInterrupt is Interrupt without waiting for the end of the turn.
func (h *Host) BeginInterrupt(sessionID string) error {
	s, err := h.session(sessionID)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.interrupt(protocol.ReasonAborted)
	return nil
}

func (s *session) stopTurn(ctx context.Context, reason string) error {
	s.mu.Lock()
	t := s.turn
	s.interrupt(reason)
	s.mu.Unlock()
	if t == nil {
		return nil
	}
	select {
	case <-t.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// interrupt starts to stop the open turn. It does so too when its questions cannot be
// closed durably.
func (s *session) interrupt(reason string) {
	_, err := s.apply(core.Interrupted{Reason: reason})
	if lost := (unwritten{}); errors.As(err, &lost) {
		s.failTurn(lost.error, reason)
	}
}

// halt stops the agent: with its own means, then by ending its context. An agent that
// ignores both is left behind.
func (t *turn) halt(agent Agent) {
	if agent != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.s.host.work), interruptLimit)
		if err := agent.Interrupt(ctx); err != nil {
			t.s.host.opts.Log.Warn("an agent could not be interrupted", "session", t.s.id, "turn", t.id, "error", err)
		}
		cancel()
		if t.ended(stopGrace) {
			return
		}
	}
	t.cancel()
	if t.ended(abandonAfter) {
		return
	}
	t.s.host.opts.Log.Error("an agent does not stop and is left behind", "session", t.s.id, "turn", t.id)
	if !t.end(Outcome{}) { // it has ended after all, and another turn may have its agent already
		return
	}
	t.s.closeAgent()
	t.s.advanceQueue()
}

func (t *turn) ended(within time.Duration) bool {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-t.done:
		return true
	case <-timer.C:
		return false
	}
}
