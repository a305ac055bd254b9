package masking

import (
	"strings"
	"testing"
)

// Wherever pieces and readers begin, no secret is shown.
func TestASecretAcrossTwoPiecesIsMasked(t *testing.T) {
	t.Parallel()
	const secret = "hunter2-canary"
	masker := New([]string{secret, "canary-bird"})
	text := "KEY=" + secret + "\nhunter, ä canary\n" + secret + secret + " end of the hunt"
	want := strings.ReplaceAll(text, secret, "[redacted]")
	for size := len(secret) + 1; size < len(text); size++ {
		var shown strings.Builder
		for at := 0; at < len(text); {
			to := min(at+size, len(text))
			clean, used := masker.Piece(text[:at], text[at:to], to == len(text))
			if used <= 0 {
				t.Fatalf("size %d at %d: no progress", size, at)
			}
			shown.WriteString(clean)
			at += used
		}
		if shown.String() != want {
			t.Errorf("size %d: %q", size, shown.String())
		}
	}
	for at := range len(text) {
		clean, _ := masker.Piece(text[:at], text[at:], true)
		for _, half := range []string{secret, "hunter2", "2-canary"} {
			if strings.Contains(clean, half) {
				t.Errorf("from %d: %q", at, clean)
			}
		}
	}
}
