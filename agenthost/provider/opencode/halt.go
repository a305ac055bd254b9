package opencode

import (
	"cmp"
	"context"
	"errors"
	"time"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/stdio"
)

// haltPause is the time between two checks of a session that is being stopped.
const haltPause = 100 * time.Millisecond

// abort stops the turn by the agent's own cancellation, or otherwise by ending its
// program. Events in between are still handled, unless the Output failed (cause).
func (t *turn) abort(ctx context.Context, cause error) agenthost.Outcome {
	ctx = context.WithoutCancel(ctx)
	limit, cancel := context.WithTimeout(ctx, t.agent.options.Grace)
	defer cancel()
	t.CancelQuestions(nil)
	halted := make(chan error, 1)
	go func() { halted <- t.halt(limit) }()
	var quiet <-chan time.Time // fires after the session has halted
	for waiting := true; waiting; {
		select {
		case in := <-t.events:
			cause = t.drain(ctx, in, cause)
			waiting = quiet == nil || t.last != nil && !over(t.last)
		case err := <-halted:
			if err != nil {
				t.Log.Warn("agent ignores the interrupt", "agent", t.agent.Name, "error", err)
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
	if cause == nil {
		_ = t.closeText(true) // the turn ends with or without this error
	}
	outcome := *stdio.Aborted()
	outcome.Usage = t.usage()
	return outcome
}

// drain handles an event of a turn that is being stopped. It opens no
// question, because halt rejects them. After a failure of the Output (cause) only
// the ends of messages count.
func (t *turn) drain(ctx context.Context, in incoming, cause error) error {
	switch in.event.Type {
	case eventMessageUpdated:
	case eventPartUpdated, eventPartDelta, eventSessionCreated:
		if cause != nil {
			return cause
		}
	default:
		return cause
	}
	_, err := t.handle(ctx, in)
	return cmp.Or(cause, err)
}

// kill ends the program in the background. server.Done is closed afterwards.
func (t *turn) kill(ctx context.Context) {
	a := t.agent
	go func() {
		if err := a.options.Servers.Stop(ctx, serverKey(a.spec)); err != nil {
			a.spec.Log.Error("agent cannot be stopped", "err", err)
		}
	}()
}

// halt rejects the pending requests of the session and its sub-agents and aborts
// the session. It repeats this until the prompt is answered and the session is idle and
// has no pending request: an abort does not reach a prompt that has not begun, and an
// answer given after an abort would still run its tool. halt uses no changing field of
// the turn, so any goroutine may call it.
func (t *turn) halt(ctx context.Context) error {
	for {
		answered := t.sent.answered()
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
		if _, running := busy[t.id]; answered && !running && left+after == 0 {
			if t.sent.lost() {
				return t.sent.err
			}
			return nil
		}
		if pause(ctx, haltPause); ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// rejectAll rejects all pending requests of the server, which serves only this
// session, and returns their number.
func (t *turn) rejectAll(ctx context.Context) (int, error) {
	permissions, questions, err := t.program.client.pending(ctx)
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

// gone ignores the error for a request that the server no longer has. Such a
// request counts as rejected.
func gone(err error) error {
	if refused(err) {
		return nil
	}
	return err
}
