package agenthost

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"bellhop/protocol"
)

func TestMaskingInPiecesIsMaskingAtOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secrets := rapid.SliceOfN(rapid.StringMatching(`[ab✓]{6,9}`), 0, 4).Draw(t, "secrets")
		text := rapid.StringMatching(`[ab✓ ]{0,60}`).Draw(t, "text")
		m := newMasker(secrets)
		c := scrubber{masker: m}
		var out strings.Builder
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			out.WriteString(c.write(rest[:n]))
			rest = rest[n:]
		}
		out.WriteString(c.flush())
		if got, want := out.String(), m.text(text); got != want {
			t.Fatalf("in pieces %q, at once %q", got, want)
		}
		for _, s := range secrets {
			if strings.Contains(out.String(), s) {
				t.Fatalf("%q is in %q", s, out.String())
			}
		}
	})
}

func TestAWindowIsCutAtBoundariesOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var w window
		w.prev = protocol.StreamID{Epoch: 1}
		lastBoundary := int64(0)
		for i := int64(1); i < 60; i++ {
			boundary := rapid.Bool().Draw(t, "boundary")
			w.add(frame{id: protocol.StreamID{Epoch: 1, Offset: i}, data: make([]byte, rapid.IntRange(1, 600<<10).Draw(t, "size")), boundary: boundary})
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
				if f.id.Offset != start+int64(j) {
					t.Fatalf("a hole before %d", f.id.Offset)
				}
				sum += f.size()
			}
			if sum != w.bytes {
				t.Fatalf("counts %d, holds %d", w.bytes, sum)
			}
		}
	})
}
