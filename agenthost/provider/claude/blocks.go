package claude

import (
	"strings"

	"bellhop/agenthost"
)

// blocks holds the open blocks of the main agent. The deltas of a block come first,
// then the complete block, then its end in the stream, which adds nothing and is
// missing if the stream is cut.
type blocks struct {
	out       agenthost.Output
	streamed  string // deltas of the text block
	closed    int    // how much of it the tool calls of sub-agents have closed
	reasoning bool
}

func (b *blocks) text(delta string) error {
	if err := b.endReasoning(); err != nil {
		return err
	}
	b.streamed += delta
	return b.out.Text(delta)
}

// endText ends the text block. If a call closed a part of it, only the remaining
// text is a block.
func (b *blocks) endText(final string) error {
	if err := b.endReasoning(); err != nil {
		return err
	}
	before := b.streamed[:b.closed]
	b.streamed, b.closed = "", 0
	rest, ok := strings.CutPrefix(final, before)
	if !ok {
		rest = ""
	}
	return b.out.EndText(rest)
}

func (b *blocks) think(delta string) error {
	b.reasoning = true
	return b.out.Reasoning(delta)
}

// thought ends the reasoning block. Reasoning that was not streamed is shown at
// once.
func (b *blocks) thought(final string) error {
	if !b.reasoning && final != "" {
		if err := b.think(final); err != nil {
			return err
		}
	}
	return b.endReasoning()
}

func (b *blocks) endReasoning() error {
	if !b.reasoning {
		return nil
	}
	b.reasoning = false
	return b.out.EndReasoning()
}

// interrupt ends the blocks that a tool call closes.
func (b *blocks) interrupt() error {
	b.closed = len(b.streamed)
	return b.endReasoning()
}

// close closes all open blocks.
func (b *blocks) close() error {
	if err := b.interrupt(); err != nil {
		return err
	}
	return b.out.EndText("")
}
