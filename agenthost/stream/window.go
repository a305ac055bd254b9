package stream

import (
	"cmp"
	"slices"

	"bellhop/internal/failpoint"
	"bellhop/protocol"
)

// maxWindow is how many bytes of frames a session keeps.
const maxWindow = 4 << 20

// window holds the newest frames without a hole. It begins after a boundary.
type window struct {
	// prev is the id just before the first frame: a cursor there resumes exactly.
	// It is unknownID if that frame is not known.
	prev   protocol.StreamID
	frames []Frame
	bytes  int
}

// unknownID equals no id of a frame.
var unknownID = protocol.StreamID{Epoch: -1, Offset: -1}

// last returns the id of the newest frame; without frames it is prev.
func (w *window) last() protocol.StreamID {
	if n := len(w.frames); n > 0 {
		return w.frames[n-1].ID
	}
	return w.prev
}

func (w *window) add(f Frame) {
	w.frames = append(w.frames, f)
	w.bytes += f.Size()
	if w.bytes > maxWindow {
		w.shrink(maxWindow * 3 / 4)
	}
}

// shrink drops frames up to the first boundary that leaves at most limit bytes, or
// else up to the last boundary.
func (w *window) shrink(limit int) {
	rest, cut := w.bytes, 0
	for i := range w.frames {
		rest -= w.frames[i].Size()
		if w.frames[i].Boundary {
			cut = i + 1
			if rest <= limit {
				break
			}
		}
	}
	w.drop(cut)
}

// dropBefore drops the frames before offset.
func (w *window) dropBefore(offset int64) { w.drop(w.index(offset)) }

func (w *window) drop(n int) {
	if n == 0 {
		return
	}
	for i := range w.frames[:n] {
		w.bytes -= w.frames[i].Size()
	}
	w.prev = w.frames[n-1].ID
	w.frames = slices.Clone(w.frames[n:]) // the old array would keep the bytes alive
}

// index returns the position of the first frame at or after offset.
func (w *window) index(offset int64) int {
	i, _ := slices.BinarySearchFunc(w.frames, offset, func(f Frame, offset int64) int {
		return cmp.Compare(f.ID.Offset, offset)
	})
	return i
}

// after returns the frames that follow id. It returns false if the window holds neither
// id nor the place before its first frame.
func (w *window) after(id protocol.StreamID) ([]Frame, bool) {
	if id == w.prev {
		return w.frames, true
	}
	i := w.index(id.Offset)
	if i == len(w.frames) || w.frames[i].ID != id {
		return nil, false
	}
	if failpoint.Mutated("resume-repeats-a-frame") {
		return w.frames[i:], true
	}
	if failpoint.Mutated("resume-skips-a-frame") {
		return w.frames[min(i+2, len(w.frames)):], true
	}
	return w.frames[i+1:], true
}

// between returns the frames with from ≤ offset ≤ to.
func (w *window) between(from, to int64) []Frame {
	return w.frames[w.index(from):w.index(to+1)]
}

// start returns the offset of the first frame, or next if there is none.
func (w *window) start(next int64) int64 {
	if len(w.frames) == 0 {
		return next
	}
	return w.frames[0].ID.Offset
}
