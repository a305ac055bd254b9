package agenthost

import (
	"crypto/sha256"
	"hash"
	"strings"

	"bellhop/agenthost/stream"
	"bellhop/protocol"
)

// Sizes of what an agent says. A block that reaches a limit is closed and another
// opened, so that no event is too long to post and the window always has a
// boundary to be cut at.
const (
	maxText       = 256 << 10 // bytes of an event's text
	maxTextJSON   = 512 << 10 // the same, escaped
	maxDelta      = 32 << 10
	maxBlockBytes = 2 << 20   // of frames
	maxValue      = 256 << 10 // of an input or output
	maxPhrase     = 64 << 10  // prompts, messages
)

type blockKind int

const (
	textBlock blockKind = iota
	reasoningBlock
)

// block is the open text or reasoning block. text is only ever appended to, so a
// shallow copy is a snapshot.
type block struct {
	kind    blockKind
	id      string
	text    []byte
	escaped int // bytes of text as JSON
	frames  int // bytes of frames since it was opened, whatever they carry
}

func (b *block) full() bool {
	return len(b.text) >= maxText || b.escaped >= maxTextJSON || b.frames >= maxBlockBytes
}

// voice turns what the agent says in pieces into blocks. It belongs to a turn and
// is copied before each step, to be put back when the step fails.
type voice struct {
	text, reasoning stream.Scrubber
	open            *block
	split           int       // bytes of the text in blocks that were closed because they were full
	splitSum        hash.Hash // of those bytes
}

func (v voice) snapshot() voice {
	if v.open != nil {
		open := *v.open
		v.open = &open
	}
	return v
}

func (v *voice) scrubber(kind blockKind) *stream.Scrubber {
	if kind == textBlock {
		return &v.text
	}
	return &v.reasoning
}

// say adds clean text.
func (v *voice) say(b *batch, turnID string, kind blockKind, text string) {
	if text != "" && v.open != nil && v.open.kind != kind {
		v.end(b, turnID)
	}
	for text != "" {
		if v.open == nil {
			v.begin(b, kind)
		}
		piece := protocol.CutText(text, min(maxDelta, maxText-len(v.open.text)))
		if piece == "" { // no room for one more character
			v.splitHere(b, turnID)
			continue
		}
		text = text[len(piece):]
		v.open.text = append(v.open.text, piece...)
		v.open.escaped += escapedLen(piece)
		p := &protocol.Part{Type: protocol.PartTextDelta, ID: v.open.id, Text: &piece}
		if kind == reasoningBlock {
			p.Type = protocol.PartReasoningDelta
		}
		v.count(b.frame(p, false))
		v.splitIfFull(b, turnID)
	}
}

func (v *voice) begin(b *batch, kind blockKind) {
	if kind == textBlock {
		v.open = &block{kind: kind, id: "txt_" + protocol.NewID()}
		v.count(b.frame(&protocol.Part{Type: protocol.PartTextStart, ID: v.open.id}, false))
		return
	}
	v.open = &block{kind: kind, id: "rsn_" + protocol.NewID()}
	v.count(b.frame(&protocol.Part{Type: protocol.PartReasoningStart, ID: v.open.id}, false))
}

func (v *voice) count(f stream.Frame) {
	if v.open != nil {
		v.open.frames += f.Size()
	}
}

func (v *voice) splitIfFull(b *batch, turnID string) {
	if v.open != nil && v.open.full() {
		v.splitHere(b, turnID)
	}
}

// splitHere closes a full block. Its text goes on in another.
func (v *voice) splitHere(b *batch, turnID string) {
	if v.open.kind == textBlock {
		sum := sha256.New()
		if v.split > 0 {
			// A hash has state: the copy keeps a snapshot's untouched.
			clone, err := v.splitSum.(hash.Cloner).Clone()
			if err == nil {
				sum = clone
			}
		}
		sum.Write(v.open.text) // never fails
		v.splitSum, v.split = sum, v.split+len(v.open.text)
	}
	v.close(b, turnID, string(v.open.text))
}

// close ends the open block; of a text block, text becomes the event.
func (v *voice) close(b *batch, turnID, text string) {
	open := v.open
	v.open = nil
	if open.kind == reasoningBlock {
		b.frame(&protocol.Part{Type: protocol.PartReasoningEnd, ID: open.id}, true)
		return
	}
	b.event(turnID, protocol.Event{Type: protocol.EventText, ID: open.id, Text: &text},
		&protocol.Part{Type: protocol.PartTextEnd, ID: open.id}, true)
}

// end says what is held back and closes the open block, whichever it is.
func (v *voice) end(b *batch, turnID string) {
	kinds := []blockKind{textBlock, reasoningBlock}
	if v.open != nil {
		kinds = []blockKind{v.open.kind}
	}
	for _, kind := range kinds {
		v.say(b, turnID, kind, v.scrubber(kind).Flush())
		v.closeOpen(b, turnID)
	}
	v.split, v.splitSum = 0, nil
}

func (v *voice) closeOpen(b *batch, turnID string) {
	if v.open != nil {
		v.close(b, turnID, string(v.open.text))
	}
}

// endText closes the open text. final, if any, wins over what was said.
func (v *voice) endText(b *batch, turnID, final string) {
	if v.open != nil && v.open.kind == reasoningBlock {
		if final == "" && !v.text.Holds() {
			return
		}
		v.end(b, turnID)
	}
	v.say(b, turnID, textBlock, v.text.Flush())
	final = v.unsaid(v.text.Text(final))
	said := ""
	if v.open != nil {
		said = string(v.open.text)
	}
	switch {
	case final == "" || final == said:
	case strings.HasPrefix(final, said):
		v.say(b, turnID, textBlock, final[len(said):])
	default:
		first := protocol.CutText(final, maxText/8) // whatever its escapes, it fits
		v.close(b, turnID, first)
		v.say(b, turnID, textBlock, final[len(first):])
	}
	v.closeOpen(b, turnID)
	v.split, v.splitSum = 0, nil
}

// unsaid is what of a final text is not yet in closed blocks; "" when the final
// text is another than theirs.
func (v *voice) unsaid(final string) string {
	if v.split == 0 {
		return final
	}
	if len(final) < v.split {
		return ""
	}
	sum := sha256.Sum256([]byte(final[:v.split]))
	if string(sum[:]) != string(v.splitSum.Sum(nil)) {
		return ""
	}
	return final[v.split:]
}

// escapedLen is how long s is inside a JSON string, at most.
func escapedLen(s string) int {
	n := len(s)
	for i := range len(s) {
		switch c := s[i]; {
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
