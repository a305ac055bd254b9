package core

import (
	"crypto/sha256"
	"hash"
	"strings"

	"bellhop/protocol"
)

// Limits of what an agent reports, in bytes. A block that reaches a limit is
// closed and another opened, so that no event is too long to post and the
// stream always has a boundary.
const (
	MaxText       = 256 << 10 // of an event's text
	maxTextJSON   = 512 << 10 // the same, escaped
	maxDelta      = 32 << 10
	maxBlockBytes = 2 << 20   // of frames
	MaxValue      = 256 << 10 // of an input or output
	MaxPhrase     = 64 << 10  // of prompts and messages
	maxFinal      = MaxText / 8
)

// BlockKind is the kind of a block.
type BlockKind int

// Kinds of blocks.
const (
	TextBlock BlockKind = iota
	ReasoningBlock
)

// block is a text or reasoning block. text is only ever appended to, so a copy
// of the block stays as it was.
type block struct {
	kind    BlockKind
	id      string
	text    []byte
	escaped int // bytes of text as JSON, at most
	frames  int // bytes of frames since it was opened, of any type
}

func (b *block) full() bool {
	return len(b.text) >= MaxText || b.escaped >= maxTextJSON || b.frames >= maxBlockBytes
}

// Blocks are the text and reasoning of a turn.
type Blocks struct {
	block    block // the open one
	open     bool
	split    int       // bytes of the text in blocks that were closed because they were full
	splitSum hash.Hash // of those bytes
}

// Append adds text to the open block in the most frequent case: the block has
// this kind and room, no held text must be added before, and no write is needed. It
// changes s and allocates the frame only. ok is false in every other case; then
// AgentText decides.
func (s *State) Append(turnID string, kind BlockKind, text string) (f Frame, ok bool) {
	t := s.Turn
	if t == nil || t.Record.ID != turnID || t.Failure != nil || text == "" || len(text) > maxDelta || s.Deleted {
		return Frame{}, false
	}
	b := &t.Text.block
	next := block{text: b.text, escaped: b.escaped + escapedLen(text), frames: b.frames + len(text)*2 + frameOverhead}
	if !t.Text.open || b.kind != kind || s.Next+1 > s.Record.OffsetReserved || len(b.text)+len(text) >= MaxText ||
		next.full() {
		return Frame{}, false
	}
	part, err := protocol.Marshal(deltaPart(b, &text))
	if err != nil {
		return Frame{}, false
	}
	f = Frame{ID: protocol.StreamID{Epoch: s.Record.Cursor.Epoch, Offset: s.Next}, Part: part}
	b.text, b.escaped = append(b.text, text...), next.escaped
	b.frames += f.size()
	s.Next, s.Last = s.Next+1, f.ID
	return f, true
}

func deltaPart(b *block, text *string) *protocol.Part {
	if b.kind == ReasoningBlock {
		return &protocol.Part{Type: protocol.PartReasoningDelta, ID: b.id, Text: text}
	}
	return &protocol.Part{Type: protocol.PartTextDelta, ID: b.id, Text: text}
}

func (in AgentText) apply(x *Step) error {
	return x.turns().report(in.TurnID, func() { x.texts().addText(in.Kind, in.Text) })
}

func (in AgentTextEnded) apply(x *Step) error {
	return x.turns().report(in.TurnID, func() { x.texts().endText(in.Final, in.About) })
}

func (in AgentReasoningEnded) apply(x *Step) error {
	return x.turns().report(in.TurnID, func() {
		b := &x.State.Turn.Text
		if !b.open && x.held.Reasoning != "" || b.open && b.block.kind == ReasoningBlock {
			x.texts().endBlocks()
		}
	})
}

// addText puts text into frames, and into blocks of the kind.
func (x textStep) addText(kind BlockKind, text string) {
	if text == "" {
		return
	}
	b := &x.turn().Text
	if b.open && b.block.kind != kind {
		x.endBlocks()
	}
	for text != "" {
		if !b.open {
			x.openBlock(kind)
		}
		piece := protocol.CutText(text, min(maxDelta, MaxText-len(b.block.text)))
		if piece == "" { // no room for one more character
			x.splitBlock()
			continue
		}
		text = text[len(piece):]
		b.block.text = append(b.block.text, piece...)
		b.block.escaped += escapedLen(piece)
		x.frame(deltaPart(&b.block, &piece), false)
		x.splitIfFull()
	}
}

func (x textStep) openBlock(kind BlockKind) {
	b := &x.turn().Text
	prefix, start := "txt_", protocol.PartTextStart
	if kind == ReasoningBlock {
		prefix, start = "rsn_", protocol.PartReasoningStart
	}
	b.block, b.open = block{kind: kind, id: prefix + x.newID()}, true
	x.frame(&protocol.Part{Type: start, ID: b.block.id}, false)
}

func (x textStep) splitIfFull() {
	if b := &x.State.Turn.Text; b.open && b.block.full() {
		x.splitBlock()
	}
}

// splitBlock closes a full block. Its text continues in another.
func (x textStep) splitBlock() {
	b := &x.turn().Text
	if b.block.kind == TextBlock {
		sum := sha256.New()
		if b.split > 0 {
			// A hash has state: the clone keeps that of earlier steps.
			if clone, err := b.splitSum.(hash.Cloner).Clone(); err == nil {
				sum = clone
			}
		}
		sum.Write(b.block.text) // never fails
		b.splitSum, b.split = sum, b.split+len(b.block.text)
	}
	x.closeBlock(string(b.block.text), TextAbout{})
}

// closeBlock ends the open block. text becomes the event of a text block.
func (x textStep) closeBlock(text string, about TextAbout) {
	t := x.turn()
	closed := t.Text.block
	t.Text.block, t.Text.open = block{}, false
	if closed.kind == ReasoningBlock {
		x.frame(&protocol.Part{Type: protocol.PartReasoningEnd, ID: closed.id}, true)
		return
	}
	e := protocol.Event{
		Type: protocol.EventText, ID: closed.id, Text: &text,
		Format: Name(about.Format, ""), Metadata: about.Metadata, Timestamp: about.Timestamp,
	}
	p := protocol.Part{
		Type: protocol.PartTextEnd, ID: closed.id, Format: e.Format, Metadata: e.Metadata, Timestamp: e.Timestamp,
	}
	x.event(t.Record.ID, e, &p, true)
}

// flush takes the held text of a kind.
func (x textStep) flush(kind BlockKind) string {
	x.Flushed[kind] = true
	held := &x.held.Text
	if kind == ReasoningBlock {
		held = &x.held.Reasoning
	}
	text := *held
	*held = ""
	return text
}

// endBlocks adds the held text and closes the open block, of either kind.
func (x textStep) endBlocks() {
	b := &x.turn().Text
	kinds := []BlockKind{TextBlock, ReasoningBlock}
	if b.open {
		kinds = []BlockKind{b.block.kind}
	}
	for _, kind := range kinds {
		x.addText(kind, x.flush(kind))
		if b.open {
			x.closeBlock(string(b.block.text), TextAbout{})
		}
	}
	b.split, b.splitSum = 0, nil
}

// endText closes the open text. final, if not empty, replaces the reported text. about
// belongs to the last block, if the text has several.
func (x textStep) endText(final string, about TextAbout) {
	b := &x.turn().Text
	if b.open && b.block.kind == ReasoningBlock {
		if final == "" && x.held.Text == "" {
			return
		}
		x.endBlocks()
	}
	x.addText(TextBlock, x.flush(TextBlock))
	final = b.unsent(final)
	sent := ""
	if b.open {
		sent = string(b.block.text)
	}
	switch {
	case final == "" || final == sent:
	case strings.HasPrefix(final, sent):
		x.addText(TextBlock, final[len(sent):])
	default:
		first := protocol.CutText(final, maxFinal) // it fits, with any number of escapes
		rest := final[len(first):]
		if rest == "" {
			x.closeBlock(first, about)
			break
		}
		x.closeBlock(first, TextAbout{})
		x.addText(TextBlock, rest)
	}
	if b.open {
		x.closeBlock(string(b.block.text), about)
	}
	b.split, b.splitSum = 0, nil
}

// unsent is the part of a final text that is not yet in closed blocks; "" when the
// final text differs from theirs.
func (b *Blocks) unsent(final string) string {
	if b.split == 0 {
		return final
	}
	if len(final) < b.split {
		return ""
	}
	sum := sha256.Sum256([]byte(final[:b.split]))
	if string(sum[:]) != string(b.splitSum.Sum(nil)) {
		return ""
	}
	return final[b.split:]
}

// escapedLen is how long text is inside a JSON string, at most.
func escapedLen(text string) int {
	n := len(text)
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\' || c == '\n' || c == '\r' || c == '\t':
			n++
		case c < 0x20:
			n += 5
		case c == 0xE2: // U+2028 and U+2029 are escaped
			n += 3
		}
	}
	return n
}
