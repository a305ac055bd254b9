package protocol

import "strings"

// PlainText makes a text of others harmless for people: one paragraph of at most limit bytes, in which characters
// that could change a terminal or the order of a text are replaced.
func PlainText(text string, limit int) string {
	clean := strings.Map(func(char rune) rune {
		switch {
		case char == '\n', char == '\t', char == '\r':
			return ' '
		case IsCommandCharacter(char):
			return '\uFFFD'
		}
		return char
	}, strings.ToValidUTF8(text, "\uFFFD"))
	clean = strings.Join(strings.Fields(clean), " ")
	if len(clean) > limit {
		clean = strings.ToValidUTF8(clean[:limit], "") + "…"
	}
	return clean
}
