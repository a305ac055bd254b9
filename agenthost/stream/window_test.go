package stream

import (
	"testing"

	"pgregory.net/rapid"

	"bellhop/protocol"
)

func TestAWindowIsCutAtBoundariesOnly(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var w window
		w.prev = protocol.StreamID{Epoch: 1}
		lastBoundary := int64(0)
		for i := int64(1); i < 60; i++ {
			boundary := rapid.Bool().Draw(t, "boundary")
			w.add(Frame{
				ID: protocol.StreamID{Epoch: 1, Offset: i}, Data: make([]byte, rapid.IntRange(1, 600<<10).Draw(t, "size")),
				Boundary: boundary,
			})
			if boundary {
				lastBoundary = i
			}
			start := w.start(i + 1)
			if w.prev.Offset != start-1 {
				t.Fatalf("prev is %v, the first frame %d", w.prev, start)
			}
			if w.bytes > maxWindow && start <= lastBoundary {
				t.Fatalf("%d bytes from %d, though %d is a boundary", w.bytes, start, lastBoundary)
			}
			if _, ok := w.after(w.prev); !ok {
				t.Fatal("the place before the first frame is unknown")
			}
			sum := 0
			for j, f := range w.frames {
				if f.ID.Offset != start+int64(j) {
					t.Fatalf("a hole before %d", f.ID.Offset)
				}
				sum += f.Size()
			}
			if sum != w.bytes {
				t.Fatalf("counts %d, holds %d", w.bytes, sum)
			}
		}
	})
}
