package protocol_test

import (
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"bellhop/protocol"
)

func TestMarshalEscapesNoHTML(t *testing.T) {
	t.Parallel()
	got, err := protocol.Marshal(map[string]string{"text": "<a> & b"})
	if want := `{"text":"<a> & b"}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	if got, err := protocol.Marshal(make(chan int)); err == nil || got != nil {
		t.Errorf("a channel: %s, %v", got, err)
	}
}

func TestATextIsCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[aé✓𝄞]{0,20}`).Draw(t, "text")
		limit := rapid.IntRange(0, 40).Draw(t, "limit")
		got := protocol.CutText(text, limit)
		if len(got) > limit || got != text[:len(got)] || !utf8.ValidString(got) {
			t.Fatalf("%q cut to %d: %q", text, limit, got)
		}
		if rest := text[len(got):]; rest != "" {
			if _, next := utf8.DecodeRuneInString(rest); len(got)+next <= limit {
				t.Fatalf("%q cut to %d: %q, one more character fits", text, limit, got)
			}
		}
	})
}

func TestAValueIsCutToItsLimit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		raw := []byte(rapid.StringMatching(`"([a-z✓]|\\n|\\u0001){0,80}"`).Draw(t, "value"))
		limit := rapid.IntRange(2, 60).Draw(t, "limit")
		got, truncated := protocol.CutValue(raw, limit)
		if len(got) > limit || truncated != (len(raw) > limit) {
			t.Fatalf("%s cut to %d: %s, %v", raw, limit, got, truncated)
		}
		if err := protocol.ParseObject([]byte(`{"v":` + string(got) + `}`)); err != nil {
			t.Fatalf("%s: %v", got, err)
		}
	})
}
