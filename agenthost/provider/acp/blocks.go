package acp

import "bellhop/agenthost"

// The kinds of a block.
const (
	none = iota
	text
	reasoning
)

// blocks ends text blocks, because the protocol only begins them. A block ends when
// another kind or another message begins, a tool is called or the turn ends.
type blocks struct {
	out     agenthost.Output
	kind    int
	message string // id of the open block's message; "" if the agent sends none
}

func (b *blocks) add(kind int, message, delta string) error {
	if delta == "" {
		return nil
	}
	if b.kind != kind || b.message != message {
		if err := b.end(); err != nil {
			return err
		}
	}
	b.kind, b.message = kind, message
	if kind == reasoning {
		return b.out.Reasoning(delta)
	}
	return b.out.Text(delta)
}

func (b *blocks) end() error {
	kind := b.kind
	b.kind, b.message = none, ""
	switch kind {
	case text:
		return b.out.EndText("")
	case reasoning:
		return b.out.EndReasoning()
	}
	return nil
}
