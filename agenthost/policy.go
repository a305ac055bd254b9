package agenthost

import (
	"bytes"
	"cmp"
	"encoding/json"

	"bellhop/agenthost/headless"
	"bellhop/policy"
	"bellhop/protocol"
)

// Policy decides about tool calls; *policy.Live is one.
type Policy interface {
	Decide(call policy.Call) policy.Decision
	// Notices tell what is wrong with the rules; Status shows them.
	Notices() []string
}

// rule lets the policy answer a confirm, or shapes the question for the user.
// settled means that nobody is asked.
func (t *turn) rule(in *Question) (a Answer, settled bool, err error) {
	rules := t.s.host.opts.Policy
	if rules == nil {
		return Answer{}, false, nil
	}
	said := policy.Level(in.Level)
	d := rules.Decide(t.policyCall(in))
	in.Level = string(said.Max(d.Level))
	switch {
	case d.Action == policy.Deny:
		a.Reason = "Denied by policy: " + cmp.Or(d.Message, "rule "+d.Rule)
	case d.Action == policy.Allow && (!d.BuiltIn || said != policy.Critical): // an operator's rule knows better than the agent
		a.Approved = true
	default:
		if d.Timeout > 0 {
			in.Timeout = d.Timeout
		}
		if d.Message != "" {
			if in.Prompt == "" {
				in.Prompt = unworded(in.ToolName)
			}
			in.Prompt += "\n" + d.Message
		}
		return Answer{}, false, nil
	}
	if err := t.settleByRule(in, a, d); err != nil {
		return Answer{}, true, err
	}
	return a, true, nil
}

// policyCall is the call that a confirm is about: as it was announced, or as the
// confirm tells it.
func (t *turn) policyCall(in *Question) policy.Call {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	t.asked[name(in.ToolCallID, "call")] = true
	c := t.s.policyCall(in.ToolName, in.Args)
	if known := t.calls[in.ToolCallID]; known != nil && in.ToolCallID != "" {
		c.Tool = cmp.Or(c.Tool, known.name)
		if input := bytes.TrimSpace(known.input); len(input) > 0 && !bytes.Equal(input, []byte("{}")) {
			c.Input = known.input
		}
	}
	return c
}

func (s *session) policyCall(tool string, input json.RawMessage) policy.Call {
	return policy.Call{Agent: s.rec.Agent, Project: s.rec.Project, Dir: s.rec.Dir, Tool: tool, Input: input}
}

// settleByRule journals an answered question. It has no part: readers see the
// call and its result.
func (t *turn) settleByRule(in *Question, a Answer, d policy.Decision) error {
	answer := &protocol.InteractionAnswer{Approved: &a.Approved, Reason: headless.ReasonPolicyPrefix + d.Rule}
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	if t.stop != "" {
		return protocol.Errorf(protocol.CodeNoTurn, "The turn is being stopped")
	}
	return t.stepLocked(func(b *batch) {
		t.voice.end(b, t.rec.ID)
		rec := t.interaction(b, protocol.KindConfirm, *in, 0)
		rec.State, rec.Answer = protocol.InteractionResolved, answer
		e := rec.Question
		e.State, e.Answer = rec.State, answer
		b.event(t.rec.ID, e, nil, true)
		b.w.Interactions = append(b.w.Interactions, rec)
		if !a.Approved {
			t.notice(b, "warning", cmp.Or(in.ToolName, "A call")+": "+a.Reason)
		}
	})
}

// overlooked reports a call that the policy denies and the agent made without
// asking: it has happened, nothing can stop it any more.
func (t *turn) overlooked(r *ToolResult) {
	rules := t.s.host.opts.Policy
	if rules == nil || r.Denied {
		return
	}
	id := name(r.ID, "call")
	t.s.mu.Lock()
	known, asked := t.calls[id], t.asked[id]
	var c policy.Call
	if known != nil {
		c = t.s.policyCall(known.name, known.input)
	}
	t.s.mu.Unlock()
	if known == nil || asked {
		return
	}
	d := rules.Decide(c)
	if d.Action != policy.Deny {
		return
	}
	t.s.host.opts.Log.Warn("an agent made a call that the policy denies, without asking",
		"session", t.s.id, "turn", t.rec.ID, "tool", c.Tool, "rule", d.Rule)
	_ = t.step(func(b *batch) { // as Notice: what cannot be shown is no reason to stop
		t.notice(b, "warning", c.Tool+" ran without asking, and the policy denies it: "+cmp.Or(d.Message, "rule "+d.Rule))
	})
}
