package yamlfile

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/token"

	"bellhop/internal/lazyregexp"
)

// The parser accepts some texts that are not YAML, such as a mapping without a comma, and reads
// something else than their author meant. This file refuses them.

// checkCharacters refuses characters that YAML does not allow, and line breaks that its versions
// read differently.
func checkCharacters(content []byte) error {
	line := 1
	for rest := content; len(rest) > 0; {
		c, size := utf8.DecodeRune(rest)
		switch {
		case c == utf8.RuneError && size == 1:
			return errorAt(line, "the file is not UTF-8")
		case c == '\n':
			line++
		case c < ' ' && c != '\t', c >= 0x7f && c < 0xa0, c == 0x2028, c == 0x2029, c == 0xfeff, c == 0xfffe, c == 0xffff:
			return errorAt(line, "control characters are not allowed (U+%04X)", c)
		}
		rest = rest[size:]
	}
	return nil
}

// marker matches a line that begins or ends a document, and what the parser confuses with it.
var marker = lazyregexp.New(`^(---|\.\.\.)(.?)(.*)`)

// checkDocuments refuses a second document and directives, and reports whether there is a first one. A marker at
// the beginning of a line ends even a block of text.
func checkDocuments(content []byte) (begun bool, err error) {
	ended, line := false, 0
	for text := range bytes.Lines(content) {
		line++
		found := marker.FindSubmatch(text)
		isBlank := isBlankLine(text)
		switch {
		case !begun && text[0] == '%':
			return false, errorAt(line, "directives are not supported")
		case found != nil && !isBlankLine(found[2]):
			return false, errorAt(line, "a text that begins with %s needs quotes", found[1])
		case found != nil && string(found[1]) == "...":
			ended = true
			isBlank = isBlankLine(found[3])
		case found != nil && begun:
			return false, errorAt(line, "a second document begins here")
		case !isBlank:
			begun = true
		}
		if ended && !isBlank {
			return false, errorAt(line, "a second document begins here")
		}
	}
	return begun, nil
}

// isBlankLine reports whether a line is empty or only a comment.
func isBlankLine(line []byte) bool {
	line = bytes.Trim(line, " \t\n")
	return len(line) == 0 || line[0] == '#'
}

// anchor matches the name of an anchor.
var anchor = lazyregexp.New(`^[A-Za-z0-9_-]+$`)

// header matches the first line of a block of text.
var header = lazyregexp.New(`^[|>]([-+]?[1-9]?|[1-9][-+])$`)

// checkColon refuses a colon between an unquoted key and its value without a space: it is part of
// the text.
func checkColon(t *token.Token) error {
	next, before := t.Next, t.Prev
	if next == nil || next.Position.Line != t.Position.Line || next.Position.Column != t.Position.Column+1 {
		return nil
	}
	for _, free := range []token.Type{token.CollectEntryType, token.MappingEndType, token.SequenceEndType} {
		if next.Type == free {
			return nil
		}
	}
	if before != nil && (before.Type == token.SingleQuoteType || before.Type == token.DoubleQuoteType) {
		return nil
	}
	return errorAt(t.Position.Line, "a colon between a key and its value needs a space after it")
}

// checkPlain refuses an unquoted text with characters that have a meaning in YAML.
func checkPlain(text, origin string, inFlow bool, line int) error {
	first, rest := text[:min(1, len(text))], text[min(1, len(text)):]
	switch {
	case text == "":
		return nil
	case strings.ContainsAny(first, ",[]{}#&*!|>'\"%@`"),
		strings.ContainsAny(first, "-?:") && (rest == "" || strings.ContainsAny(rest[:1], " \n")):
		return errorAt(line, "a text that begins with %s needs quotes", first)
	case strings.Contains(text, ": "), strings.HasSuffix(text, ":"), strings.Contains(text, " #"):
		return errorAt(line, `a text with ": " or " #" needs quotes: %q`, text)
	case inFlow && strings.ContainsAny(text, ",[]{}"):
		return errorAt(line, "a text with one of , [ ] { } needs quotes: %q", text)
	case strings.Contains(strings.TrimSpace(origin), "\t"):
		return errorAt(line, "a text with a tab character needs quotes: %q", strings.TrimSpace(origin))
	}
	return nil
}

// escape matches an escape in double quotes; one of x, u or U alone lacks its digits.
var escape = lazyregexp.New(`(?s)\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)`)

// checkEscapes refuses escapes that stand for no character. The parser takes any characters for digits
// and does not keep them, so quoted is the source from the opening quote on.
func checkEscapes(text, quoted string, line int) error {
	at := 1
	for ; at < len(quoted) && quoted[at] != '"'; at++ {
		if quoted[at] != '\\' {
			continue
		}
		found := escape.FindString(quoted[at:])
		if found == `\x` || found == `\u` || found == `\U` {
			return errorAt(line, "%s lacks its digits", found)
		}
		at++
	}
	if strings.ContainsRune(text, utf8.RuneError) && !strings.ContainsRune(quoted[:min(at, len(quoted))], utf8.RuneError) {
		return errorAt(line, "an escape stands for no character")
	}
	return nil
}

// source is the text of a file with the positions of its lines.
type source struct {
	text   string
	starts []int
}

func newSource(text string) source {
	s := source{text: text, starts: []int{0}}
	for i := range len(text) {
		if text[i] == '\n' {
			s.starts = append(s.starts, i+1)
		}
	}
	return s
}

// from returns the text from a position on.
func (s source) from(at *token.Position) string {
	if at.Line > len(s.starts) {
		return ""
	}
	rest := s.text[s.starts[at.Line-1]:]
	for range at.Column - 1 {
		_, size := utf8.DecodeRuneInString(rest)
		rest = rest[size:]
	}
	return rest
}
