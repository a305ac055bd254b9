package agenthost

import (
	"slices"

	"bellhop/protocol"
)

// maxWindow is how many bytes of frames a session keeps.
const maxWindow = 4 << 20

// frameOverhead counts for each frame beside its bytes, so that many small ones
// are bounded too.
const frameOverhead = 64

// frame is an encoded frame. After a boundary no text or reasoning block is open:
// what follows can be read without what precedes.
type frame struct {
	id       protocol.StreamID
	data     []byte
	boundary bool
}

func (f *frame) size() int { return len(f.data) + frameOverhead }

// window holds the newest frames without a hole. It begins after a boundary.
type window struct {
	// prev is the id just before the first frame: a cursor there resumes
	// exactly. noFrame when that is unknown.
	prev   protocol.StreamID
	frames []frame
	bytes  int
}

// noFrame equals no id that a frame ever has.
var noFrame = protocol.StreamID{Epoch: -1, Offset: -1}

func (w *window) last() protocol.StreamID {
	if n := len(w.frames); n > 0 {
		return w.frames[n-1].id
	}
	return w.prev
}

func (w *window) add(f frame) {
	w.frames = append(w.frames, f)
	w.bytes += f.size()
	if w.bytes > maxWindow {
		w.shrink(maxWindow * 3 / 4)
	}
}

// shrink drops frames up to the first boundary that leaves at most limit bytes,
// or else up to the last boundary.
func (w *window) shrink(limit int) {
	rest, cut := w.bytes, 0
	for i := range w.frames {
		rest -= w.frames[i].size()
		if w.frames[i].boundary {
			cut = i + 1
			if rest <= limit {
				break
			}
		}
	}
	w.drop(cut)
}

// dropBefore drops the frames of earlier turns.
func (w *window) dropBefore(offset int64) { w.drop(w.index(offset)) }

func (w *window) drop(n int) {
	if n == 0 {
		return
	}
	for i := range w.frames[:n] {
		w.bytes -= w.frames[i].size()
	}
	w.prev = w.frames[n-1].id
	w.frames = slices.Clone(w.frames[n:]) // a new array: the old one would keep the bytes alive
}

// index is the position of the first frame at or after offset.
func (w *window) index(offset int64) int {
	i, _ := slices.BinarySearchFunc(w.frames, offset, func(f frame, offset int64) int {
		switch {
		case f.id.Offset < offset:
			return -1
		case f.id.Offset > offset:
			return 1
		}
		return 0
	})
	return i
}

// after returns the frames that follow id; false when that cannot be told.
func (w *window) after(id protocol.StreamID) ([]frame, bool) {
	if id == w.prev {
		return w.frames, true
	}
	i := w.index(id.Offset)
	if i == len(w.frames) || w.frames[i].id != id {
		return nil, false
	}
	return w.frames[i+1:], true
}

// between returns the frames with from ≤ offset ≤ to.
func (w *window) between(from, to int64) []frame {
	return w.frames[w.index(from):w.index(to+1)]
}

// start is the offset of the first frame, next when there is none.
func (w *window) start(next int64) int64 {
	if len(w.frames) == 0 {
		return next
	}
	return w.frames[0].id.Offset
}

func bytesOf(frames []frame) [][]byte {
	out := make([][]byte, len(frames))
	for i := range frames {
		out[i] = frames[i].data
	}
	return out
}
