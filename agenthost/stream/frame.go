package stream

import (
	"bytes"
	"encoding/json"

	"bellhop/internal/sse"
	"bellhop/protocol"
)

// frameOverhead is added to the bytes of each frame, so that the number of small frames
// is bounded too.
const frameOverhead = 64

// Frame is an encoded frame with its place in the stream.
type Frame struct {
	ID   protocol.StreamID
	Data []byte // as Encode returns it

	// Boundary means that no text or reasoning block is open after the frame: what
	// follows can be read without what precedes.
	Boundary bool
}

// NewFrame encodes the JSON of a part.
func NewFrame(id protocol.StreamID, part []byte, boundary bool) Frame {
	return Frame{ID: id, Data: Encode(id.String(), part), Boundary: boundary}
}

// Size returns the bytes that the frame counts for in limits.
func (f *Frame) Size() int { return len(f.Data) + frameOverhead }

// Encode returns the JSON of a part as a frame of server-sent events. The id is "" for
// frames that are not in the stream's sequence. It panics if the id has line breaks.
func Encode(id string, part []byte) []byte {
	data, err := sse.Encode(sse.Frame{ID: id, Event: "message", Data: part})
	if err != nil {
		panic(err)
	}
	return data
}

// encodePart encodes a part that holds only strings and encoded JSON, which cannot fail.
func encodePart(p *protocol.Part) []byte {
	raw, err := protocol.Marshal(p)
	if err != nil {
		panic(err)
	}
	return Encode("", raw)
}

// hasID reports whether an encoded frame has an id.
func hasID(frame []byte) bool { return bytes.HasPrefix(frame, []byte("id: ")) }

func dataOf(frames []Frame) [][]byte {
	out := make([][]byte, len(frames))
	for i := range frames {
		out[i] = frames[i].Data
	}
	return out
}

// rebuild returns the frames of a journaled event: its part under its own id. A text
// has start and delta before it, without ids.
func rebuild(e *Event) [][]byte {
	own := Encode(e.ID.String(), e.Part)
	var part protocol.Part
	if err := json.Unmarshal(e.Part, &part); err != nil || part.Type != protocol.PartTextEnd {
		return [][]byte{own}
	}
	var body struct {
		Text *string `json:"text"`
	}
	if err := json.Unmarshal(e.Body, &body); err != nil || e.Type != protocol.EventText {
		return nil // a dropped event: only the dead letters hold its text
	}
	start := encodePart(&protocol.Part{Type: protocol.PartTextStart, ID: part.ID})
	delta := encodePart(&protocol.Part{Type: protocol.PartTextDelta, ID: part.ID, Text: body.Text})
	return [][]byte{start, delta, own}
}
