package agenthost

import (
	"context"
	"time"

	"bellhop/protocol"
)

// How long an agent that was told to stop may take beyond what Agent.Interrupt
// itself takes.
const (
	interruptLimit = 10 * time.Second
	stopGrace      = 2 * time.Second
	abandonAfter   = 5 * time.Second
)

// Interrupt stops the open turn and returns when it has stopped and its finish is
// durable; an idle session is no error. The stopping goes on if ctx ends.
func (h *Host) Interrupt(ctx context.Context, sessionID string) error {
	s, err := h.session(sessionID)
	if err != nil {
		return err
	}
	return s.stopTurn(ctx, protocol.ReasonAborted)
}

func (s *session) stopTurn(ctx context.Context, reason string) error {
	s.mu.Lock()
	t := s.turn
	if t != nil && t.stop == "" {
		t.beginStop(reason)
	}
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

// beginStop closes the turn's questions, denies their calls, and has the agent
// stopped. The session's lock is held.
func (t *turn) beginStop(reason string) {
	t.stop = reason
	waiters := t.s.openQuestions()
	if len(waiters) > 0 {
		err := t.stepLocked(func(b *batch) {
			t.voice.end(b, t.rec.ID)
			t.settleQuestions(b, endingReason(reason))
		})
		if err == nil {
			for _, q := range waiters {
				q.answer <- Answer{Reason: endingReason(reason), Expired: q.rec.Kind == protocol.KindAsk}
			}
		}
	}
	t.release()
	agent := t.agent
	t.s.host.spawn(func() { t.halt(agent) })
}

// halt stops the agent: by its own means, then by ending its context, and an agent
// that heeds neither is left behind.
func (t *turn) halt(agent Agent) {
	if agent != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.s.host.work), interruptLimit)
		if err := agent.Interrupt(ctx); err != nil {
			t.s.host.opts.Log.Warn("an agent could not be interrupted", "session", t.s.id, "turn", t.rec.ID, "error", err)
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
	t.s.host.opts.Log.Error("an agent does not stop and is left behind", "session", t.s.id, "turn", t.rec.ID)
	if !t.end(Outcome{}) { // it has ended after all; another turn may have its agent already
		return
	}
	t.s.closeAgent()
	t.s.startQueued()
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
