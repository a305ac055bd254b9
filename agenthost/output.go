package agenthost

import (
	"context"
	"encoding/json"

	"bellhop/protocol"
)

// output is what a turn's agent talks to.
type output struct{ t *turn }

var _ Output = (*output)(nil)

func (o *output) Text(delta string) error {
	return o.t.step(func(b *batch) {
		v := &o.t.voice
		v.say(b, o.t.rec.ID, textBlock, v.text.Write(delta))
	})
}

func (o *output) EndText(final string) error {
	return o.t.step(func(b *batch) { o.t.voice.endText(b, o.t.rec.ID, final) })
}

func (o *output) Reasoning(delta string) error {
	return o.t.step(func(b *batch) {
		v := &o.t.voice
		v.say(b, o.t.rec.ID, reasoningBlock, v.reasoning.Write(delta))
	})
}

func (o *output) EndReasoning() error {
	return o.t.step(func(b *batch) {
		v := &o.t.voice
		if v.open == nil && v.reasoning.Holds() || v.open != nil && v.open.kind == reasoningBlock {
			v.end(b, o.t.rec.ID)
		}
	})
}

func (o *output) ToolCall(c ToolCall) error {
	return o.t.step(func(b *batch) {
		t := o.t
		t.voice.end(b, t.rec.ID)
		id := name(c.ID, "call")
		known := &call{name: name(c.Name, "tool")}
		var truncated bool
		known.input, truncated = protocol.CutValue(t.masker.Value(c.Input, "{}"), maxValue)
		b.event(t.rec.ID, protocol.Event{
			Type: protocol.EventToolCall, ToolCallID: id, ToolName: known.name, Input: known.input, Truncated: truncated,
		}, &protocol.Part{Type: protocol.PartToolCall, ToolCallID: id, ToolName: known.name, Input: known.input}, true)
		known.number = len(t.calls)
		b.then(func() { t.calls[id] = known })
	})
}

func (o *output) ToolResult(r ToolResult) error {
	o.t.overlooked(&r)
	return o.t.step(func(b *batch) { o.t.result(b, r) })
}

// result adds a tool's result. One for a call that an interrupt has already
// answered changes nothing.
func (t *turn) result(b *batch, r ToolResult) {
	id := name(r.ID, "call")
	known := t.calls[id]
	if known == nil {
		known = &call{name: name(r.Name, "tool"), input: json.RawMessage("{}")}
	} else if known.done {
		return
	}
	boundary := t.voice.open == nil
	e := protocol.Event{
		Type: protocol.EventToolResult, ToolCallID: id, ToolName: known.name, IsError: r.IsError, Denied: r.Denied,
	}
	p := &protocol.Part{Type: protocol.PartToolResult, ToolCallID: id, ToolName: known.name, Input: known.input}
	e.Output, e.Truncated = protocol.CutValue(t.masker.Value(r.Output, "null"), maxValue)
	switch {
	case r.Denied:
		p.Type, p.Input = protocol.PartToolOutputDenied, nil
	case r.IsError:
		p.Type, p.Error = protocol.PartToolError, e.Output
	default:
		p.Output = e.Output
	}
	t.voice.count(b.event(t.rec.ID, e, p, boundary))
	b.then(func() {
		known.done = true
		t.calls[id] = known
	})
}

func (o *output) Confirm(ctx context.Context, q Question) (Answer, error) {
	return o.t.ask(ctx, protocol.KindConfirm, q)
}

func (o *output) Ask(ctx context.Context, q Question) (Answer, error) {
	return o.t.ask(ctx, protocol.KindAsk, q)
}

func (o *output) Notice(level, message string) {
	// A notice that cannot be shown is no reason to stop a turn that is over.
	_ = o.t.step(func(b *batch) { o.t.notice(b, level, message) })
}

func (t *turn) notice(b *batch, level, message string) {
	message = protocol.CutText(t.masker.Text(message), maxPhrase)
	data := b.encode(map[string]string{"level": level, "message": message})
	t.voice.count(b.frame(&protocol.Part{Type: protocol.PartDataNotice, Data: data}, t.voice.open == nil))
}

func (o *output) SetNative(id string) error {
	return o.t.step(func(b *batch) {
		if o.t.belongsTo(&b.rec) { // a check-in may have chosen another agent meanwhile
			b.record().Native = id
		}
	})
}

// name makes an id or name one that every broker takes.
func name(s, otherwise string) string {
	s = protocol.CutText(protocol.SanitizeText(s), protocol.MaxID)
	if s == "" {
		return otherwise
	}
	return s
}
