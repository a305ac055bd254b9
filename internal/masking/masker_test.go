package masking_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"bellhop/internal/masking"
)

func TestMaskingInPiecesIsMaskingAtOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secrets := rapid.SliceOfN(rapid.StringMatching(`[ab✓]{6,9}`), 0, 4).Draw(t, "secrets")
		text := rapid.StringMatching(`[ab✓ ]{0,60}`).Draw(t, "text")
		m := masking.New(secrets)
		c := masking.NewScrubber(m)
		var out strings.Builder
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			out.WriteString(c.Write(rest[:n]))
			rest = rest[n:]
		}
		out.WriteString(c.Flush())
		if got, want := out.String(), m.Text(text); got != want {
			t.Fatalf("in pieces %q, at once %q", got, want)
		}
		for _, s := range secrets {
			if strings.Contains(out.String(), s) {
				t.Fatalf("%q is in %q", s, out.String())
			}
		}
	})
}
