package protocol

import (
	"fmt"
	"strconv"
	"strings"
)

// MaxPosition is the greatest epoch, seq and offset. Every JSON number up to it is
// exact in all languages (RFC 8259 section 6), and adding one does not overflow.
const MaxPosition = 1<<53 - 1

// Cursor names the highest event without a gap before it: seq counts from 1 within
// an epoch without gaps. The zero Cursor {0,0} stands for no event.
type Cursor struct {
	Epoch int64 `json:"epoch"`
	Seq   int64 `json:"seq"`
}

// Less orders cursors by epoch, then seq.
func (c Cursor) Less(d Cursor) bool {
	return c.Epoch < d.Epoch || c.Epoch == d.Epoch && c.Seq < d.Seq
}

func (c Cursor) String() string { return fmt.Sprintf("%d/%d", c.Epoch, c.Seq) }

// StreamID identifies a frame of a session's stream. Clients must treat its text as
// opaque; the same id never stands for different bytes.
type StreamID struct {
	Epoch  int64
	Offset int64
}

// String returns the wire form <epoch>-<offset>.
func (id StreamID) String() string {
	return strconv.FormatInt(id.Epoch, 10) + "-" + strconv.FormatInt(id.Offset, 10)
}

// ParseStreamID parses the wire form. All texts other than two canonical decimal
// numbers (no sign, no leading zero) are errors; callers answer them with a gap,
// never with a 4xx (reliability.md SSE-1).
func ParseStreamID(s string) (StreamID, error) {
	epoch, offset, ok := strings.Cut(s, "-")
	e, err1 := strconv.ParseInt(epoch, 10, 64)
	o, err2 := strconv.ParseInt(offset, 10, 64)
	id := StreamID{Epoch: e, Offset: o}
	if !ok || err1 != nil || err2 != nil || e < 0 || o < 0 || e > MaxPosition || o > MaxPosition || id.String() != s {
		return StreamID{}, Errorf(CodeInvalid, "not a stream id")
	}
	return id, nil
}
