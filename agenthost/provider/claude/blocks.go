package claude

import (
	"strings"

	"bellhop/agenthost"
)

// blocks holds the open blocks of the main agent. The program sends the deltas of a block,
// then the complete block, which ends it here. The end of the block in the program's stream
// is ignored: it adds nothing, and is missing if that stream is cut.
type blocks struct {
	out       agenthost.Output
	streamed  string // deltas of the text block
	closed    int    // length of the part of streamed that a tool call has ended as a block
	reasoning bool
}

func (b *blocks) text(delta string) error {
	if err := b.closeReasoning(); err != nil {
		return err
	}
	b.streamed += delta
	return b.out.Text(delta)
}

// endText ends the text block. If a call closed a part of it, only the remaining
// text is a block.
func (b *blocks) endText(final string) error {
	if err := b.closeReasoning(); err != nil {
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

func (b *blocks) reason(delta string) error {
	b.reasoning = true
	return b.out.Reasoning(delta)
}

// endReasoning ends the reasoning block with the complete text. The text is written now if
// no delta of it was.
func (b *blocks) endReasoning(final string) error {
	if !b.reasoning && final != "" {
		if err := b.reason(final); err != nil {
			return err
		}
	}
	return b.closeReasoning()
}

func (b *blocks) closeReasoning() error {
	if !b.reasoning {
		return nil
	}
	b.reasoning = false
	return b.out.EndReasoning()
}

// beforeCall ends the reasoning block and records that a tool call ends the text streamed
// so far.
func (b *blocks) beforeCall() error {
	b.closed = len(b.streamed)
	return b.closeReasoning()
}

// close closes all open blocks.
func (b *blocks) close() error {
	if err := b.beforeCall(); err != nil {
		return err
	}
	return b.out.EndText("")
}
