package agent

import (
	"cmp"
	"context"
	"errors"
	"time"

	"bellhop/policy"
	"bellhop/protocol"
)

// Policy decides about tool calls instead of the tools' own judgement; a
// *policy.Live or *policy.Engine is one.
type Policy interface {
	Decide(call policy.Call) policy.Decision
}

// policyAgent is what the agent is called in rules.
const policyAgent = "bellhop"

// permit returns nil when a call may be made: the policy allows it, or the user
// does, now or earlier for the whole session. What is CRITICAL is asked each time.
func (s *session) permit(ctx context.Context, call ToolCall, do *action) error {
	do, limit, err := s.judged(call, do)
	if err != nil || do.warning == nil {
		return err
	}
	if s.allowed(call.Name) && do.warning.Level != string(policy.Critical) {
		return nil
	}
	if limit <= 0 {
		return s.confirm(ctx, call, do)
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err = s.confirm(limited, call, do)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return denied{"Denied: nobody answered within " + limit.String() + "."}
	}
	return err
}

// judged is the action with the policy's warning; an error if it is denied.
func (s *session) judged(call ToolCall, do *action) (*action, time.Duration, error) {
	if s.opts.Policy == nil {
		return do, 0, nil
	}
	d := s.opts.Policy.Decide(policy.Call{Agent: policyAgent, Dir: s.opts.Dir, Tool: call.Name, Input: call.Arguments})
	judged := *do
	judged.warning = nil
	switch d.Action {
	case policy.Allow:
	case policy.Deny:
		s.opts.Log.Info("the policy denies a call", "tool", call.Name, "rule", d.Rule)
		return nil, 0, denied{"Denied by policy: " + cmp.Or(d.Message, "rule "+d.Rule)}
	default:
		judged.prompt = cmp.Or(do.prompt, "Allow "+call.Name+"?")
		judged.warning = &protocol.SecurityWarning{Level: string(d.Level), Message: d.Message}
		if d.Message == "" && do.warning != nil {
			judged.warning.Message = do.warning.Message
		}
	}
	return &judged, d.Timeout, nil
}
