package protocol

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// ShownPath returns a path of a work tree as requests and answers have it. An element that is not UTF-8 or has a control
// character is quoted as git does it ("caf\351"). So is one that reads like a quoted element, and no two paths are shown alike.
// Other paths stay as they are.
func ShownPath(path string) string { return eachElement(path, shownElement) }

// PathShown returns the path that ShownPath shows as a text.
func PathShown(shown string) string {
	return eachElement(shown, func(element string) string {
		if name, ok := unquote(element); ok && mustQuote(name) {
			return name
		}
		return element
	})
}

func eachElement(path string, change func(element string) string) string {
	if !strings.Contains(path, "/") {
		return change(path)
	}
	elements := strings.Split(path, "/")
	for i := range elements {
		elements[i] = change(elements[i])
	}
	return strings.Join(elements, "/")
}

func shownElement(name string) string {
	if mustQuote(name) {
		return quoteName(name)
	}
	return name
}

// mustQuote reports whether a name has no text of its own.
func mustQuote(name string) bool {
	if !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return true
	}
	inner, ok := unquote(name)
	return ok && mustQuote(inner)
}

// quotedLetters are the letters that stand for control characters, and for themselves, after a backslash.
const quotedLetters = "a\ab\bt\tn\nv\vf\fr\r\"\"\\\\"

func quoteName(name string) string {
	out := []byte{'"'}
	for len(name) > 0 {
		char, size := utf8.DecodeRuneInString(name)
		switch letter := letterOf(name[0]); {
		case letter != 0:
			out = append(out, '\\', letter)
		case char == utf8.RuneError && size == 1, unicode.IsControl(char):
			for _, b := range []byte(name[:size]) {
				out = append(out, '\\', '0'+b>>6, '0'+b>>3&7, '0'+b&7)
			}
		default:
			out = append(out, name[:size]...)
		}
		name = name[size:]
	}
	return string(append(out, '"'))
}

// letterOf returns the letter that stands for a character after a backslash, 0 for none.
func letterOf(char byte) byte {
	for i := 0; i < len(quotedLetters); i += 2 {
		if quotedLetters[i+1] == char {
			return quotedLetters[i]
		}
	}
	return 0
}

// unquote returns the name that a quoted one stands for; false if the text is no quoted name.
func unquote(text string) (name string, ok bool) {
	if len(text) < 2 || text[0] != '"' || text[len(text)-1] != '"' {
		return "", false
	}
	text = text[1 : len(text)-1]
	var out []byte
	for len(text) > 0 {
		used := 1
		switch char := text[0]; {
		case char == '"':
			return "", false
		case char != '\\':
			out = append(out, char)
		case len(text) >= 4 && isOctal(text[1:4]):
			out = append(out, (text[1]-'0')<<6|(text[2]-'0')<<3|(text[3]-'0'))
			used = 4
		default:
			at := -1
			for i := 0; i < len(quotedLetters) && len(text) > 1; i += 2 {
				if quotedLetters[i] == text[1] {
					at = i
				}
			}
			if at < 0 {
				return "", false
			}
			out = append(out, quotedLetters[at+1])
			used = 2
		}
		text = text[used:]
	}
	name = string(out)
	return name, !strings.ContainsAny(name, "/\x00")
}

// isOctal reports whether three digits are those of a byte.
func isOctal(digits string) bool {
	return digits[0] >= '0' && digits[0] <= '3' && digits[1] >= '0' && digits[1] <= '7' && digits[2] >= '0' && digits[2] <= '7'
}
