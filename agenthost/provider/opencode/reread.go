package opencode

import (
	"context"
	"errors"
	"time"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// soon is when a catching up that failed is tried again.
const soon = time.Second

// reread catches up after the events were lost: OpenCode replays nothing. If the
// program cannot be asked the turn stays behind, and look tries again.
//
// patient is for a turn of which nothing was seen yet: it may still begin.
func (t *turn) reread(ctx context.Context, patient bool) (*agenthost.Outcome, error) {
	outcome, err := t.catchUp(ctx, patient)
	var call *callError
	switch {
	case errors.As(err, &call) && ctx.Err() == nil:
		t.agent.spec.Log.Warn("what was missed cannot be read", "agent", t.agent.options.Name, "error", err)
		t.quiet.Reset(soon)
		return nil, nil
	case err != nil:
		return nil, err
	}
	if t.behind {
		t.behind = false
		if err := t.out.Checking(false); err != nil {
			return nil, err
		}
	}
	return outcome, nil
}

// look asks an agent that has said nothing for a while whether the turn still
// runs: its end may have been missed.
func (t *turn) look(ctx context.Context) (*agenthost.Outcome, error) {
	if t.lost {
		return nil, nil // nobody to ask; it is done when there is
	}
	if !t.behind {
		// A turn that is busy has missed nothing; reading it would cost its deltas.
		busy, err := t.program.client.busy(ctx)
		if _, running := busy[t.id]; running && err == nil {
			return nil, nil
		}
	}
	return t.reread(ctx, false)
}

// catchUp reads all of the turn. What was read before its status is as the
// status says or newer.
func (t *turn) catchUp(ctx context.Context, patient bool) (*agenthost.Outcome, error) {
	c := t.program.client
	busy, err := c.busy(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range t.parts {
		s.gap = !s.ended
	}
	if err := t.family(ctx, t.id); err != nil {
		return nil, err
	}
	for id, ours := range t.sessions {
		if ours && id != t.id {
			if err := t.history(ctx, id); err != nil {
				return nil, err
			}
		}
	}
	if err := t.history(ctx, t.id); err != nil {
		return nil, err
	}
	if err := t.requests(ctx); err != nil {
		return nil, err
	}
	state, running := busy[t.id]
	switch {
	case running && state.Type == statusRetry:
		return t.retry(ctx, state)
	case running, t.last == nil && patient:
		return nil, nil
	case t.last != nil && !over(t.last):
		// Idle is said before the last message is over.
		if err := errors.Join(t.linger(ctx), t.history(ctx, t.id)); err != nil {
			return nil, err
		}
	}
	outcome := t.outcome()
	return &outcome, nil
}

// family finds the sub-agents that were started meanwhile.
func (t *turn) family(ctx context.Context, id string) error {
	children, err := t.program.client.children(ctx, id)
	if err != nil {
		return err
	}
	for _, s := range children {
		if t.sessions[s.ID] || s.Time.Created < t.since {
			continue
		}
		t.sessions[s.ID], t.titles[s.ID] = true, s.Title
		if err := t.family(ctx, s.ID); err != nil {
			return err
		}
	}
	return nil
}

// history maps what a session has kept of this turn.
func (t *turn) history(ctx context.Context, id string) error {
	messages, err := t.program.client.messages(ctx, id)
	if err != nil {
		return err
	}
	for i := range messages {
		m := &messages[i]
		if m.Info.Time.Created < t.since {
			continue
		}
		t.message(&m.Info)
		for j := range m.Parts {
			if err := t.part(&m.Parts[j], true); err != nil {
				return err
			}
		}
	}
	return nil
}

// requests asks what is asked by now and gives up what no longer is.
func (t *turn) requests(ctx context.Context) error {
	permissions, err := t.program.client.permissions(ctx)
	if err != nil {
		return err
	}
	questions, err := t.program.client.questions(ctx)
	if err != nil {
		return err
	}
	listed := map[string]bool{}
	for _, p := range permissions {
		listed[p.ID] = true
	}
	for _, q := range questions {
		listed[q.ID] = true
	}
	for id := range t.pending {
		if !listed[id] {
			t.expire(id)
		}
	}
	for _, p := range permissions {
		if t.ours(ctx, p.SessionID) {
			if err := t.permission(p); err != nil {
				return err
			}
		}
	}
	for _, q := range questions {
		if t.ours(ctx, q.SessionID) {
			t.question(q)
		}
	}
	return nil
}

// exited is the outcome when the program has ended by itself.
func (t *turn) exited() agenthost.Outcome {
	t.agent.spec.Log.Warn("agent exited during a turn", "agent", t.agent.options.Name)
	t.cancel(agenthost.ErrExpired)
	return t.whole(agenthost.Outcome{
		FinishReason: protocol.FinishError,
		Reason:       protocol.ReasonAgentExited,
		Err:          t.program.epitaph(t.agent.options.Name),
	})
}

// whole leaves no block open and no call without a result: OpenCode leaves a
// call that was cut off running for ever.
func (t *turn) whole(outcome agenthost.Outcome) agenthost.Outcome {
	t.withdraw()
	err := t.closeText()
	for _, c := range t.order {
		if c.announced && !c.answered && err == nil {
			err = t.result(c, "the agent gave no result", true, false)
		}
	}
	if outcome.Usage == nil {
		outcome.Usage = t.usage()
	}
	return outcome
}
