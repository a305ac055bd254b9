package agent

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"bellhop/policy"
	"bellhop/protocol"
)

// Policy decides about tool calls instead of the tools. *policy.Live and *policy.Engine
// implement it.
type Policy interface {
	Decide(call policy.Call) policy.Decision
}

// policyAgent is the agent's name in policy rules.
const policyAgent = "bellhop"

// shapes describes calls for answers that are remembered if there is no policy.
var shapes = sync.OnceValue(func() *policy.Engine { return policy.Default(policy.Options{}) })

// permit returns nil if the policy allows a call, or the user does now or allowed calls of its
// shape for the session.
// CRITICAL calls are asked every time.
func (s *session) permit(ctx context.Context, call ToolCall, act *action) error {
	act, limit, err := s.applyPolicy(call, act)
	if err != nil || act.warning == nil {
		return err
	}
	if s.allowed(act.shape) && act.warning.Level != string(policy.Critical) {
		return nil
	}
	if limit <= 0 {
		return s.confirm(ctx, call, act)
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err = s.confirm(limited, call, act)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return denied{"Denied: no client answered within " + limit.String() + "."}
	}
	return err
}

// applyPolicy returns the action with the policy's warning, or an error if the policy denies it.
func (s *session) applyPolicy(call ToolCall, act *action) (*action, time.Duration, error) {
	decided := *act
	asked := policy.Call{Agent: policyAgent, Dir: s.opts.Dir, Tool: call.Name, Input: call.Arguments}
	if s.opts.Policy == nil {
		decided.shape = shapes().Decide(asked).Shape
		return &decided, 0, nil
	}
	d := s.opts.Policy.Decide(asked)
	decided.warning, decided.shape = nil, d.Shape
	switch d.Action {
	case policy.Allow:
	case policy.Deny:
		s.opts.Log.Info("the policy denies a call", "tool", call.Name, "rule", d.Rule)
		return nil, 0, denied{"Denied by policy: " + cmp.Or(d.Message, "rule "+d.Rule)}
	default:
		decided.prompt = cmp.Or(act.prompt, "Allow "+call.Name+"?")
		decided.warning = &protocol.SecurityWarning{Level: string(d.Level), Message: d.Message}
		if d.Message == "" && act.warning != nil {
			decided.warning.Message = act.warning.Message
		}
	}
	return &decided, d.Timeout, nil
}
