package wsline

import (
	"encoding/json"
	"strings"

	"bellhop/protocol"
)

// transcript is a session's lines, of the agent and of clients. The chunks of a text block
// become one line when the block ends: the message that repeats them, or one chunk.
type transcript struct {
	entries []entry
	size    int

	block   []string // chunks of the open text block
	blockID string   // the session id of its chunks
	turn    int      // index of the open turn's first entry; -1 without one
	open    map[string]int
}

type entry struct {
	raw    []byte
	hidden bool // not replayed: an answered question, and its answer
}

func newTranscript() *transcript { return &transcript{turn: -1, open: map[string]int{}} }

// add records a line of the agent.
func (t *transcript) add(line protocol.Line, raw []byte) {
	if t.turn < 0 && line.Type != protocol.LineStatus {
		t.turn = len(t.entries)
	}
	if line.Type == protocol.LineChunk && line.Content != nil {
		t.block, t.blockID = append(t.block, *line.Content), line.SessionID
		t.size += len(*line.Content)
		return
	}
	// A status line does not end a block.
	if line.Type != protocol.LineStatus {
		t.endBlock(line.Type == protocol.LineMessage)
	}
	t.append(entry{raw: raw})
	switch {
	case line.Type == protocol.LineAsk, line.Type == protocol.LineConfirm:
		t.open[line.RequestID] = len(t.entries) - 1
	case line.EndsTurn():
		t.turn = -1
		for id := range t.open {
			t.answer(id)
		}
	}
}

// addUser records a client's line that the session has accepted.
func (t *transcript) addUser(line protocol.Line, raw []byte) {
	t.answer(line.RequestID)
	if line.Type == protocol.LineInput && t.turn < 0 {
		t.turn = len(t.entries)
	}
	t.append(entry{raw: raw, hidden: line.Type != protocol.LineInput})
}

func (t *transcript) answer(id string) {
	if at, ok := t.open[id]; ok {
		t.entries[at].hidden = true
		delete(t.open, id)
	}
}

func (t *transcript) append(e entry) {
	t.entries = append(t.entries, e)
	t.size += len(e.raw)
}

// endBlock keeps the block's text, unless a message line repeats it.
func (t *transcript) endBlock(repeated bool) {
	if raw := t.blockLine(); raw != nil && !repeated {
		t.append(entry{raw: raw})
	}
	for _, piece := range t.block {
		t.size -= len(piece)
	}
	t.block = nil
}

// blockLine returns the open block as one chunk line.
func (t *transcript) blockLine() []byte {
	if len(t.block) == 0 {
		return nil
	}
	text := strings.Join(t.block, "")
	return encode(protocol.Line{Type: protocol.LineChunk, SessionID: t.blockID, Content: &text})
}

// replay returns the lines for a new client: the open turn so far, or the complete session if
// all is set: the input and the agent's lines, without answered questions.
func (t *transcript) replay(all bool) [][]byte {
	from := t.turn
	if all {
		from = 0
	}
	if from < 0 {
		return nil
	}
	var lines [][]byte
	for _, e := range t.entries[from:] {
		if !e.hidden {
			lines = append(lines, e.raw)
		}
	}
	if raw := t.blockLine(); raw != nil {
		lines = append(lines, raw)
	}
	return lines
}

// history returns every line, of the agent and of clients.
func (t *transcript) history() []json.RawMessage {
	lines := make([]json.RawMessage, 0, len(t.entries)+1)
	for _, e := range t.entries {
		lines = append(lines, e.raw)
	}
	if raw := t.blockLine(); raw != nil {
		lines = append(lines, raw)
	}
	return lines
}

// encode returns a line as JSON without a final line feed. It cannot fail, except for raw
// members of an external agent, which were parsed before.
func encode(line protocol.Line) []byte {
	raw, err := protocol.Marshal(line)
	if err != nil {
		return []byte(`{"type":"status","level":"error","message":"A line of the agent could not be encoded"}`)
	}
	return raw
}
