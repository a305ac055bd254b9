package opencode

import (
	"context"
	"errors"
	"time"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// haltPause is between two looks at a session that is being stopped.
const haltPause = 100 * time.Millisecond

// end stops the turn by the agent's own cancel, or else with its program. What
// the agent says meanwhile counts, unless nobody can take it (broken).
func (t *turn) end(ctx context.Context, broken error) agenthost.Outcome {
	ctx = context.WithoutCancel(ctx)
	limit, cancel := context.WithTimeout(ctx, t.agent.options.Grace)
	defer cancel()
	t.withdraw()
	halted := make(chan error, 1)
	go func() { halted <- t.halt(limit) }()
	var quiet <-chan time.Time // runs once the session has halted
	for waiting := true; waiting; {
		select {
		case h := <-t.said:
			broken = t.overhear(ctx, h, broken)
			waiting = quiet == nil || t.last != nil && !over(t.last)
		case err := <-halted:
			if err != nil {
				t.agent.spec.Log.Warn("agent ignores the interrupt", "agent", t.agent.options.Name, "error", err)
				t.kill(ctx)
				continue
			}
			quiet = time.After(trailing)
			waiting = t.last != nil && !over(t.last)
		case <-quiet:
			waiting = false
		case <-t.program.server.Done():
			waiting = false
		}
	}
	if broken == nil {
		_ = t.closeText() // the turn ends either way
	}
	return agenthost.Outcome{FinishReason: protocol.FinishOther, Reason: protocol.ReasonAborted, Usage: t.usage()}
}

// overhear maps what is said by a turn that is being stopped. Nothing is asked
// any more: halt rejects it.
func (t *turn) overhear(ctx context.Context, h heard, broken error) error {
	switch h.event.Type {
	case eventMessageUpdated, eventPartUpdated, eventPartDelta, eventSessionCreated:
	default:
		return broken
	}
	if broken != nil && h.event.Type != eventMessageUpdated {
		return broken
	}
	if _, err := t.hear(ctx, h); err != nil && broken == nil {
		return err
	}
	return broken
}

// kill ends the program in the background; its end is seen by whoever waits.
func (t *turn) kill(ctx context.Context) {
	a := t.agent
	go func() {
		if err := a.options.Servers.Stop(ctx, serverKey(a.spec)); err != nil {
			a.spec.Log.Error("agent cannot be stopped", "err", err)
		}
	}()
}

// halt rejects whatever the session and its sub-agents wait for and aborts it,
// until it is idle twice in a row and waits for nothing: a prompt that was just
// taken is not busy yet, and an answer given after an abort would still run its
// tool. It uses nothing of the turn that changes.
func (t *turn) halt(ctx context.Context) error {
	for idle := 0; idle < 2; {
		left, err := t.rejectAll(ctx)
		if err != nil {
			return err
		}
		if err := t.program.client.abort(ctx, t.id); err != nil {
			return err
		}
		after, err := t.rejectAll(ctx)
		if err != nil {
			return err
		}
		busy, err := t.program.client.busy(ctx)
		if err != nil {
			return err
		}
		if _, running := busy[t.id]; running || left+after > 0 {
			idle = 0
		} else {
			idle++
		}
		if idle == 2 {
			return nil
		}
		timer := time.NewTimer(haltPause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
	return nil
}

// rejectAll rejects all that is pending on the server, which is this session's
// alone, and returns how much it was.
func (t *turn) rejectAll(ctx context.Context) (int, error) {
	permissions, err := t.program.client.permissions(ctx)
	if err != nil {
		return 0, err
	}
	questions, err := t.program.client.questions(ctx)
	if err != nil {
		return 0, err
	}
	var failures []error
	for _, p := range permissions {
		failures = append(failures, gone(t.program.client.reply(ctx, p.ID, false, "")))
	}
	for _, q := range questions {
		failures = append(failures, gone(t.program.client.rejectQuestion(ctx, q.ID)))
	}
	return len(permissions) + len(questions), errors.Join(failures...)
}

// gone takes a request that the server no longer has for a rejected one.
func gone(err error) error {
	if refused(err) {
		return nil
	}
	return err
}
