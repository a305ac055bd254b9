package agenthost

import (
	"context"

	"bellhop/agenthost/core"
	"bellhop/agenthost/stream"
	"bellhop/protocol"
)

// output is what a turn's agent reports to. It masks, and makes the inputs of it.
type output struct{ t *turn }

var _ Output = (*output)(nil)

func (o *output) Text(delta string) error { return o.delta(core.TextBlock, delta) }

func (o *output) Reasoning(delta string) error { return o.delta(core.ReasoningBlock, delta) }

func (o *output) delta(kind core.BlockKind, delta string) error {
	t, s := o.t, o.t.s
	s.mu.Lock()
	defer s.mu.Unlock()
	before := t.scrub
	text := t.scrub[kind].Write(delta)
	if s.host.opts.Record == nil {
		if f, ok := s.state.Append(t.id, kind, text); ok {
			s.stream.Publish(stream.NewFrame(f.ID, f.Part, f.Boundary))
			return nil
		}
	}
	_, err := s.report(core.AgentText{TurnID: t.id, Kind: kind, Text: text})
	if err != nil {
		t.scrub = before
	}
	return err
}

func (o *output) EndText(final string) error {
	return o.report(core.AgentTextEnded{TurnID: o.t.id, Final: o.t.masker.Text(final)})
}

func (o *output) EndReasoning() error { return o.report(core.AgentReasoningEnded{TurnID: o.t.id}) }

func (o *output) report(in core.Input) error {
	o.t.s.mu.Lock()
	defer o.t.s.mu.Unlock()
	_, err := o.t.s.report(in)
	return err
}

func (o *output) ToolCall(c ToolCall) error {
	in := core.AgentCalled{TurnID: o.t.id, Call: c}
	in.Call.Input, in.Truncated = protocol.CutValue(o.t.masker.Value(c.Input, "{}"), core.MaxValue)
	return o.report(in)
}

func (o *output) ToolResult(r ToolResult) error {
	o.t.overlooked(&r)
	in := core.AgentResulted{TurnID: o.t.id, Result: r}
	in.Result.Output, in.Truncated = protocol.CutValue(o.t.masker.Value(r.Output, "null"), core.MaxValue)
	return o.report(in)
}

func (o *output) Confirm(ctx context.Context, q Question) (Answer, error) {
	return o.t.ask(ctx, protocol.KindConfirm, q)
}

func (o *output) Ask(ctx context.Context, q Question) (Answer, error) {
	return o.t.ask(ctx, protocol.KindAsk, q)
}

// Notice ignores errors: a notice that cannot be shown is no reason to stop a turn.
func (o *output) Notice(level, message string) {
	_ = o.report(core.AgentNoticed{TurnID: o.t.id, Level: level, Message: o.t.masker.Text(message)})
}

func (o *output) Checking(lost bool) error {
	return o.report(core.AgentChecking{TurnID: o.t.id, Lost: lost})
}

func (o *output) SetNative(id string) error {
	return o.report(core.AgentNamed{TurnID: o.t.id, Native: id})
}

func (o *output) Restored(ctx context.Context) (string, error) {
	t, s := o.t, o.t.s
	s.mu.Lock()
	headless := s.state.Headless()
	s.mu.Unlock()
	y := &story{journal: s.host.opts.Journal, session: s.id, now: t.id, room: maxRestored - restoredFrame}
	if err := y.read(ctx, headless); err != nil {
		return "", err
	}
	if len(y.lines) == 0 {
		return "", nil
	}
	text := y.text()
	return text, o.report(core.AgentReminded{TurnID: t.id, Context: protocol.ContextRestored{
		Turns: y.turns, Bytes: len(text), Truncated: y.truncated,
	}})
}
