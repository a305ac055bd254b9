package policy

import "strings"

// Bounds of a script. The parser is recursive: what is beyond them is not parsed.
const (
	maxScript  = 64 << 10
	maxNesting = 500
)

// tooDeep says whether a script nests deeper than maxNesting, without parsing it.
// Where it cannot tell it counts too much rather than too little; maxScript
// bounds what it misses.
func tooDeep(script string) bool {
	n := nesting{text: script}
	n.scan()
	return n.most > maxNesting || n.row > maxNesting
}

// nesting follows quotes, brackets and here-documents.
type nesting struct {
	text string
	at   int

	open  []byte // ( { [ " ` and k, a keyword
	heres []here // whose bodies begin at the next line
	most  int

	run, row int // opening brackets in a row, now and at most
}

type here struct {
	end  string
	tabs bool
}

func (n *nesting) push(c byte) {
	n.open = append(n.open, c)
	n.most = max(n.most, len(n.open))
}

func (n *nesting) top() byte {
	if len(n.open) == 0 {
		return 0
	}
	return n.open[len(n.open)-1]
}

func (n *nesting) pop(c byte) {
	if n.top() == c {
		n.open = n.open[:len(n.open)-1]
	}
}

func (n *nesting) scan() {
	for n.at < len(n.text) && n.most <= maxNesting && n.row <= maxNesting {
		c := n.text[n.at]
		n.count(c)
		if n.top() == '"' {
			n.quoted(c)
		} else {
			n.plain(c)
		}
		n.at++
	}
}

// count is the last resort against what the rest takes for quoted.
func (n *nesting) count(c byte) {
	switch c {
	case '(', '[', '{':
		n.run++
		n.row = max(n.row, n.run)
	case ' ', '\t', '\n', '$', '<', '!', 'a', '-', '"', '`':
	default:
		n.run = 0
	}
}

func (n *nesting) quoted(c byte) {
	switch c {
	case '\\':
		n.at++
	case '"':
		n.pop('"')
	case '`':
		n.push('`')
	case '$':
		n.dollar()
	}
}

func (n *nesting) dollar() {
	if next := n.peek(1); next == '(' || next == '{' || next == '[' {
		n.at++
		n.push(next)
	}
}

func (n *nesting) peek(by int) byte {
	if n.at+by < len(n.text) {
		return n.text[n.at+by]
	}
	return 0
}

func (n *nesting) plain(c byte) {
	switch c {
	case '\\':
		n.at++
	case '\'':
		if end := strings.IndexByte(n.text[n.at+1:], '\''); end >= 0 {
			n.at += end + 1
		}
	case '"':
		n.push('"')
	case '`':
		if n.top() == '`' {
			n.pop('`')
		} else {
			n.push('`')
		}
	case '(', '{', '[':
		n.push(c)
	case ')':
		n.pop('(')
	case '}':
		n.pop('{')
	case ']':
		n.pop('[')
	case '#':
		n.comment()
	case '<':
		n.document()
	case '\n':
		n.bodies()
	default:
		n.keyword()
	}
}

func (n *nesting) startsWord() bool {
	return n.at == 0 || strings.IndexByte(" \t\n;|&(", n.text[n.at-1]) >= 0
}

func (n *nesting) comment() {
	if !n.startsWord() {
		return
	}
	if end := strings.IndexByte(n.text[n.at:], '\n'); end >= 0 {
		n.at += end - 1
	} else {
		n.at = len(n.text)
	}
}

func (n *nesting) keyword() {
	if !n.startsWord() {
		return
	}
	word := n.text[n.at:min(len(n.text), n.at+8)]
	if end := strings.IndexAny(word, " \t\n;|&()"); end >= 0 {
		word = word[:end]
	}
	switch word {
	case "if", "while", "until", "for", "case", "select":
		n.push('k')
	case "fi", "done", "esac":
		n.pop('k')
	}
}

// document notes a here-document; its body is skipped as far as it is text.
func (n *nesting) document() {
	if n.peek(1) != '<' || n.peek(2) == '<' {
		if n.peek(1) == '<' {
			n.at += 2 // <<< is a string
		}
		return
	}
	n.at += 2
	h := here{}
	if n.peek(0) == '-' {
		h.tabs = true
		n.at++
	}
	for n.peek(0) == ' ' || n.peek(0) == '\t' {
		n.at++
	}
	begin := n.at
	for n.at < len(n.text) && strings.IndexByte(" \t\n;|&<>()", n.text[n.at]) < 0 {
		n.at++
	}
	h.end = strings.NewReplacer(`'`, "", `"`, "", `\`, "").Replace(n.text[begin:n.at])
	n.at--
	if h.end != "" {
		n.heres = append(n.heres, h)
	}
}

// bodies skips the here-documents that begin after this line end. What is opened
// in one counts on top of what is open outside.
func (n *nesting) bodies() {
	for _, h := range n.heres {
		depth := 0
		for n.at < len(n.text) {
			line, _, more := strings.Cut(n.text[n.at+1:], "\n")
			n.at += len(line) + 1
			if h.tabs {
				line = strings.TrimLeft(line, "\t")
			}
			if line == h.end {
				break
			}
			in, out := expansions(line)
			n.most = max(n.most, len(n.open)+depth+in)
			depth = max(0, depth+in-out)
			if !more {
				n.at = len(n.text)
			}
		}
	}
	n.heres = nil
}

// expansions are the openings and closings in a line of text.
func expansions(line string) (in, out int) {
	in = strings.Count(line, "$(") + strings.Count(line, "${") + strings.Count(line, "$[")
	return in, strings.Count(line, ")") + strings.Count(line, "}") + strings.Count(line, "]")
}
