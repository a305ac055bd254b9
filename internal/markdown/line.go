package markdown

import (
	"fmt"
	"html"
	"strings"
	"unicode"
)

// Line returns a text on one line that has no markup, for a heading, or behind other text.
func Line(text string) string {
	var b strings.Builder
	for _, r := range oneLine(text) {
		if strings.ContainsRune("\\`*_[]<>#|~&", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Summary returns a text on one line for the inside of an HTML element.
func Summary(text string) string { return html.EscapeString(oneLine(text)) }

func oneLine(text string) string { return strings.Join(strings.Fields(Plain(text)), " ") }

// Plain returns a text without control characters, except line feeds and tabs. Characters that are invisible or
// change the order of others are spelled out. Lines end with a line feed.
func Plain(text string) string {
	text = strings.ToValidUTF8(strings.ReplaceAll(text, "\r\n", "\n"), "\uFFFD")
	if !strings.ContainsFunc(text, isUnsafe) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\r', r == '\v', r == '\f', r == '\u0085', r == '\u2028', r == '\u2029':
			b.WriteByte('\n')
		case unicode.IsControl(r) && isUnsafe(r):
			b.WriteRune('\uFFFD')
		case isUnsafe(r):
			_, _ = fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// isUnsafe reports whether a character controls a terminal, or is a format character, which can make text look like
// other text (Trojan Source, CVE-2021-42574). Joiners of emoji and of scripts are harmless.
func isUnsafe(r rune) bool {
	switch r {
	case '\n', '\t', '\u200c', '\u200d':
		return false
	case '\u2028', '\u2029':
		return true
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r)
}
