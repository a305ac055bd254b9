package policy

import (
	"encoding/json"
	"unicode/utf8"
)

// members splits an object into its members like json.Unmarshal into a map, but in
// one pass and without copying values that most rules never read. If it returns
// false, the caller must use json.Unmarshal: the text may be an object that members
// cannot split.
func members(text []byte) (map[string]json.RawMessage, bool) {
	s := scan{text: text, found: make(map[string]json.RawMessage)}
	if !s.object(0) || s.at != len(text) {
		return nil, false
	}
	return s.found, true
}

// scan is a position in a JSON text. Each method reads the element that it is named after
// and returns false if the text has another element there. All but string and word also
// read the space after it.
type scan struct {
	text  []byte
	at    int
	found map[string]json.RawMessage // members of the outermost object
}

const maxScan = 100 // nesting levels

// next returns the byte at the position, or 0 at the end.
func (s *scan) next() byte {
	if s.at < len(s.text) {
		return s.text[s.at]
	}
	return 0
}

// sign reads one of the characters {}[]:, and returns false if it is not c.
func (s *scan) sign(c byte) bool {
	if s.next() != c {
		return false
	}
	s.at++
	s.space()
	return true
}

func (s *scan) space() {
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return
		}
	}
}

func (s *scan) object(depth int) bool {
	if !s.sign('{') {
		return false
	}
	if s.sign('}') {
		return true
	}
	for {
		name, ok := s.string()
		if s.space(); !ok || !s.sign(':') {
			return false
		}
		value, ok := s.value(depth + 1)
		if !ok {
			return false
		}
		if depth == 0 {
			key, ok := plain(name)
			if !ok {
				return false
			}
			s.found[key] = value
		}
		if s.sign('}') {
			return true
		}
		if !s.sign(',') {
			return false
		}
	}
}

func (s *scan) list(depth int) bool {
	if !s.sign('[') {
		return false
	}
	if s.sign(']') {
		return true
	}
	for {
		if _, ok := s.value(depth + 1); !ok {
			return false
		}
		if s.sign(']') {
			return true
		}
		if !s.sign(',') {
			return false
		}
	}
}

// value returns the value's text without the space after it.
func (s *scan) value(depth int) (text []byte, ok bool) {
	if depth > maxScan {
		return nil, false
	}
	from := s.at
	switch s.next() {
	case '{':
		ok = s.object(depth)
	case '[':
		ok = s.list(depth)
	case '"':
		_, ok = s.string()
	default:
		ok = s.word()
	}
	end := s.at
	for end > from && (s.text[end-1] == ' ' || s.text[end-1] == '\t' || s.text[end-1] == '\n' || s.text[end-1] == '\r') {
		end--
	}
	s.space()
	return s.text[from:end:end], ok
}

// string returns the string with its quotes.
func (s *scan) string() ([]byte, bool) {
	from := s.at
	if s.next() != '"' {
		return nil, false
	}
	for i := from + 1; i < len(s.text); i++ {
		switch c := s.text[i]; {
		case c == '"':
			s.at = i + 1
			return s.text[from : i+1], true
		case c < ' ':
			return nil, false
		case c == '\\':
			n := escape(s.text[i+1:])
			if n == 0 {
				return nil, false
			}
			i += n
		}
	}
	return nil, false
}

// escape returns the length of the escape sequence after a backslash, or 0 if it is
// invalid.
func escape(text []byte) int {
	if len(text) == 0 {
		return 0
	}
	switch text[0] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 1
	case 'u':
		for i := 1; i <= 4; i++ {
			if i >= len(text) || !hexadecimal(text[i]) {
				return 0
			}
		}
		return 5
	}
	return 0
}

func hexadecimal(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// word reads a number, true, false or null.
func (s *scan) word() bool {
	from := s.at
	for c := s.next(); hexadecimal(c) || c >= 'a' && c <= 'z' || c == '+' || c == '-' || c == '.'; c = s.next() {
		s.at++
	}
	return s.at > from && json.Valid(s.text[from:s.at])
}

// plain returns the content of a JSON string. It returns false if the string has an
// escape, because decoding escapes is left to json.Unmarshal.
func plain(raw []byte) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' || raw[len(raw)-1] != '"' {
		return "", false
	}
	content := raw[1 : len(raw)-1]
	for _, c := range content {
		if c < ' ' || c == '"' || c == '\\' {
			return "", false
		}
	}
	if !utf8.Valid(content) {
		return "", false
	}
	return string(content), true
}
