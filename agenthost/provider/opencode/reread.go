package opencode

import (
	"context"
	"errors"
	"time"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/stdio"
	"bellhop/protocol"
)

// soon is the delay before reread is retried after a failure, and before a refused prompt ends its turn.
const soon = time.Second

// reread reads everything that was missed while the stream was lost, because
// OpenCode replays nothing. If the program does not respond, the turn stays behind
// and look retries.
func (t *turn) reread(ctx context.Context) (*agenthost.Outcome, error) {
	outcome, err := t.catchUp(ctx)
	var call *callError
	switch {
	case errors.As(err, &call) && ctx.Err() == nil:
		t.Log.Warn("missed events cannot be read", "agent", t.agent.Name, "error", err)
		t.quiet.Reset(soon)
		return nil, nil
	case err != nil:
		return nil, err
	}
	if t.behind {
		t.behind = false
		if err := t.Out.Checking(false); err != nil {
			return nil, err
		}
	}
	return outcome, nil
}

// look checks whether the turn of a silent agent still runs, because the event of
// its end may have been missed.
func (t *turn) look(ctx context.Context) (*agenthost.Outcome, error) {
	if t.lost {
		return nil, nil // handled at linkBack
	}
	if !t.behind {
		// A busy turn has missed nothing. Reading it again would lose its deltas.
		busy, err := t.program.client.busy(ctx)
		if _, running := busy[t.id]; running && err == nil {
			return nil, nil
		}
	}
	return t.reread(ctx)
}

// catchUp reads the complete turn. It reads the status first, so that the messages
// are at least as new as the status. A turn is over only when OpenCode has answered its prompt: one
// that has not begun is as silent as one that has ended.
func (t *turn) catchUp(ctx context.Context) (*agenthost.Outcome, error) {
	c := t.program.client
	answered := t.sent.answered()
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
	case running, !answered:
		return nil, nil
	case t.sent.lost() && t.last == nil:
		t.abort(ctx, nil)
		return stdio.Failure("The prompt may not have reached the agent: " + t.sent.err.Error()), nil
	case t.last != nil && !over(t.last):
		// OpenCode reports idle before the last message has ended.
		if err := errors.Join(t.linger(ctx), t.history(ctx, t.id)); err != nil {
			return nil, err
		}
	}
	outcome := t.outcome()
	return &outcome, nil
}

// family finds the sub-agents that were started in the meantime, recursively.
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

// history maps the stored messages of this turn.
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

// requests asks the open requests that the user was not asked yet, and expires
// those that are no longer open.
func (t *turn) requests(ctx context.Context) error {
	permissions, questions, err := t.program.client.pending(ctx)
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
	for id := range t.asked {
		if !listed[id] {
			t.CancelQuestion(id, agenthost.ErrExpired)
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

// exited returns the outcome when the program exits by itself.
func (t *turn) exited() agenthost.Outcome {
	t.Log.Warn("agent exited during a turn", "agent", t.agent.Name)
	t.CancelQuestions(agenthost.ErrExpired)
	return t.closeOut(agenthost.Outcome{
		FinishReason: protocol.FinishError,
		Reason:       protocol.ReasonAgentExited,
		Err:          t.program.exitSummary(t.agent.Name),
	})
}

// closeOut closes open blocks and gives every open call a result, because OpenCode
// reports an interrupted call as running forever.
func (t *turn) closeOut(outcome agenthost.Outcome) agenthost.Outcome {
	t.CloseOut(t.closeText)
	if outcome.Usage == nil {
		outcome.Usage = t.usage()
	}
	return outcome
}
