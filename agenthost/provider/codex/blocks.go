package codex

import (
	"strings"

	"bellhop/agenthost"
)

// blocks holds the text and reasoning blocks of a turn, which belong to items.
type blocks struct {
	out      agenthost.Output
	textOpen bool
	textItem string // item whose text block is open; "" if the program did not name it
	streamed map[string]*strings.Builder

	reasoningOpen bool
	reasoningItem string // as textItem
	part          int
}

// text adds to an item's text. It closes the open block of another item, because an
// interrupted item is never completed.
func (b *blocks) text(item, delta string) error {
	if delta == "" {
		return nil
	}
	if !b.textOpen || b.textItem != item {
		if err := b.end(""); err != nil {
			return err
		}
		b.textOpen, b.textItem = true, item
	}
	if b.streamed == nil {
		b.streamed = map[string]*strings.Builder{}
	}
	if b.streamed[item] == nil {
		b.streamed[item] = &strings.Builder{}
	}
	b.streamed[item].WriteString(delta)
	return b.out.Text(delta)
}

// complete ends an item's text. If a tool call closed its block, only the part that
// was not streamed yet becomes a block.
func (b *blocks) complete(item, final string) error {
	if b.textOpen && b.textItem == item {
		return b.end(final)
	}
	if streamed := b.streamed[item]; streamed != nil {
		rest, more := strings.CutPrefix(final, streamed.String())
		if !more || rest == "" {
			return nil
		}
		final = rest
	}
	if err := b.end(""); err != nil { // the open block is another item's
		return err
	}
	return b.end(final)
}

// end closes the open blocks. final, unless it is "", replaces the text of the text block, or
// becomes a block of its own if none is open.
func (b *blocks) end(final string) error {
	if b.reasoningOpen {
		b.reasoningOpen = false
		if err := b.out.EndReasoning(); err != nil {
			return err
		}
	}
	if !b.textOpen && final == "" {
		return nil
	}
	b.textOpen = false
	return b.out.EndText(final)
}

// reason adds to an item's reasoning. An empty line separates its parts.
func (b *blocks) reason(item string, part int, delta string) error {
	if delta == "" {
		return nil
	}
	if !b.reasoningOpen || b.reasoningItem != item {
		if err := b.end(""); err != nil {
			return err
		}
		b.reasoningOpen, b.reasoningItem, b.part = true, item, part
	}
	if part != b.part {
		b.part, delta = part, "\n\n"+delta
	}
	return b.out.Reasoning(delta)
}
