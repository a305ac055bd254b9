package treereader

import "strings"

// outcome is the result of a comparison. The last two end the search of the stars before them, so that a hostile
// pattern does not take exponential time.
type outcome uint8

const (
	matched outcome = iota
	differs
	ended      // the text ended before the pattern
	endsAtStar // a single star met a slash: only "**" could go on
)

// wild reports whether a text matches a pattern, as git's wildmatch.c has it. With paths a single star and a question
// mark match no slash.
func wild(pattern, text string, paths bool) bool { return compare(pattern, text, paths) == matched }

func compare(p, t string, paths bool) outcome {
	i, j := 0, 0
	for ; i < len(p); i, j = i+1, j+1 {
		if j >= len(t) && p[i] != '*' {
			return ended
		}
		switch p[i] {
		case '\\':
			if i++; i >= len(p) || t[j] != p[i] {
				return differs
			}
		case '?':
			if paths && t[j] == '/' {
				return differs
			}
		case '[':
			in, end := inClass(p, i+1, t[j])
			if end < 0 {
				return ended
			}
			if !in || paths && t[j] == '/' {
				return differs
			}
			i = end
		case '*':
			s := readStar(p, i, paths)
			if s.matchesNothing {
				if o := compare(p[s.end+1:], t[j:], paths); o == matched || o == ended {
					return o
				}
			}
			if s.crossesSlashes || s.end == len(p) || p[s.end] != '/' {
				return compareStar(p[s.end:], t[j:], s.crossesSlashes, paths)
			}
			slash := strings.IndexByte(t[j:], '/') // a single star before a slash takes one whole element
			if slash < 0 {
				return differs
			}
			i, j = s.end, j+slash
		default:
			if t[j] != p[i] {
				return differs
			}
		}
	}
	if j < len(t) {
		return differs
	}
	return matched
}

// star is what some stars of a pattern mean.
type star struct {
	end            int // index after the stars
	crossesSlashes bool
	matchesNothing bool // it is "**/", which also stands for no directory
}

func readStar(p string, start int, paths bool) star {
	s := star{end: start}
	for s.end < len(p) && p[s.end] == '*' {
		s.end++
	}
	rest := p[s.end:]
	switch {
	case !paths:
		s.crossesSlashes = true
	case s.end-start == 1, start > 0 && p[start-1] != '/':
	case rest == "", rest[0] == '/', strings.HasPrefix(rest, `\/`):
		s.crossesSlashes, s.matchesNothing = true, strings.HasPrefix(rest, "/")
	}
	return s
}

// compareStar compares the rest of a pattern after stars with every end of the text that they leave.
func compareStar(rest, t string, crossesSlashes, paths bool) outcome {
	if rest == "" {
		if !crossesSlashes && strings.Contains(t, "/") {
			return endsAtStar
		}
		return matched
	}
	isPlain := strings.IndexByte(special, rest[0]) < 0
	for j := range len(t) {
		if !isPlain || t[j] == rest[0] {
			if o := compare(rest, t[j:], paths); o != differs && (!crossesSlashes || o != endsAtStar) {
				return o
			}
		}
		if !crossesSlashes && t[j] == '/' {
			return endsAtStar
		}
	}
	return ended
}

// inClass reports whether a bracket expression that begins before i has a character, and returns the index of its
// closing bracket, or -1 if it has none or names an unknown class.
func inClass(p string, i int, c byte) (in bool, end int) {
	isNegated := i < len(p) && (p[i] == '!' || p[i] == '^')
	if isNegated {
		i++
	}
	previous := byte(0) // begins a range, if "-" follows
	for first := i; i < len(p) && (p[i] != ']' || i == first); i++ {
		b := p[i]
		switch {
		case b == '\\':
			if i++; i >= len(p) {
				return false, -1
			}
			b = p[i]
			in = in || c == b
		case b == '-' && previous != 0 && i+1 < len(p) && p[i+1] != ']':
			if i++; p[i] == '\\' {
				i++
			}
			if i >= len(p) {
				return false, -1
			}
			in = in || previous <= c && c <= p[i]
			b = 0
		case b == '[' && strings.HasPrefix(p[i+1:], ":"):
			length := strings.IndexByte(p[i+2:], ']')
			if length < 0 {
				return false, -1
			}
			name, ok := strings.CutSuffix(p[i+2:i+2+length], ":")
			if !ok { // the bracket stands for itself
				in = in || c == '['
				break
			}
			has := classes[name]
			if has == nil {
				return false, -1
			}
			in = in || has(c)
			i, b = i+2+length, 0
		default:
			in = in || c == b
		}
		previous = b
	}
	if i >= len(p) {
		return false, -1
	}
	return in != isNegated, i
}

// classes are the named classes of characters, all of them of ASCII.
var classes = map[string]func(byte) bool{
	"alnum":  func(c byte) bool { return isLetter(c) || isDigit(c) },
	"alpha":  isLetter,
	"blank":  func(c byte) bool { return c == ' ' || c == '\t' },
	"cntrl":  func(c byte) bool { return c < 0x20 || c == 0x7f },
	"digit":  isDigit,
	"graph":  isGraph,
	"lower":  func(c byte) bool { return 'a' <= c && c <= 'z' },
	"print":  func(c byte) bool { return isGraph(c) || c == ' ' },
	"punct":  func(c byte) bool { return isGraph(c) && !isLetter(c) && !isDigit(c) },
	"space":  func(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' },
	"upper":  func(c byte) bool { return 'A' <= c && c <= 'Z' },
	"xdigit": func(c byte) bool { return isDigit(c) || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F' },
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isGraph(c byte) bool  { return 0x21 <= c && c <= 0x7e }
