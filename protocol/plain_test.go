package protocol

import (
	"strings"
	"testing"
)

func TestPlainTextIsOneHarmlessParagraph(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a\r\n\tb  c ":             "a b c",
		"\x1b[31mred\u202eder\x00": "\uFFFD[31mred\uFFFDder\uFFFD",
		"\xff":                     "\uFFFD",
		strings.Repeat("ü", 11):    strings.Repeat("ü", 10) + "…",
		strings.Repeat("ü", 10):    strings.Repeat("ü", 10),
	} {
		if got := PlainText(text, 20); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}
