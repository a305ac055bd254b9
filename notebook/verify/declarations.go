package verify

import (
	"strings"

	"bellhop/internal/lazyregexp"
)

// declaration is a part of a file at its top level, without the comments and preprocessor lines before it. The contents
// of a namespace are at the top level, too.
type declaration struct {
	start, end int // bytes of the code
	net        int // braces that it opens and does not close; negative if it closes more
	directives bool
	scope      bool // only the begin or the end of a namespace
}

// source is code of a language with braces, divided into declarations.
type source struct {
	code string
	// text is the code with comments and the contents of strings blank.
	text string
	// reduced is the code without preprocessor lines and with one branch of each #if.
	reduced      string
	declarations []declaration
}

// divide finds the declarations of code. It reads no grammar, so a construct that a grammar does not know, or an error,
// spoils only the declaration that contains it. For that it relies on the usual layout where braces do not match.
func divide(code string, hasDirectives bool) *source {
	s := &source{code: code, text: blankLiterals(code), reduced: code}
	text, lines := s.text, map[int]bool{}
	if hasDirectives {
		removed := directives(code, s.text)
		for _, r := range removed {
			lines[r.start] = true
		}
		text, s.reduced = blank(s.text, removed), blank(code, removed)
	}
	d := &divider{source: s, text: text, directives: lines}
	d.run()
	d.join()
	s.declarations = d.found
	return s
}

type span struct{ start, end int }

// blank replaces all but line ends by spaces, so that offsets stay.
func blank(code string, spans []span) string {
	out := []byte(code)
	for _, s := range spans {
		for i := s.start; i < s.end; i++ {
			if out[i] != '\n' && out[i] != '\r' {
				out[i] = ' '
			}
		}
	}
	return string(out)
}

// blankLiterals blanks comments and the contents of strings and of character literals.
func blankLiterals(code string) string {
	var spans []span
	for i := 0; i < len(code); {
		length, inside := literal(code, i)
		if inside.end > inside.start {
			spans = append(spans, inside)
		}
		i += max(length, 1)
	}
	return blank(code, spans)
}

// literal returns the length of the comment or string that begins at i, 0 if none does, and what of it is blank.
func literal(code string, i int) (length int, inside span) {
	rest := code[i:]
	until := func(end string, open int) (int, span) {
		n := strings.Index(rest[open:], end)
		if n < 0 {
			return len(rest), span{i + open, len(code)}
		}
		return open + n + len(end), span{i + open, i + open + n}
	}
	switch {
	case strings.HasPrefix(rest, "//"):
		end := strings.IndexByte(rest, '\n')
		if end < 0 {
			end = len(rest)
		}
		return end, span{i, i + end}
	case strings.HasPrefix(rest, "/*"):
		n, _ := until("*/", len("/*"))
		return n, span{i, i + n}
	case strings.HasPrefix(rest, `"""`):
		return until(`"""`, len(`"""`))
	case strings.HasPrefix(rest, `R"`) && (i == 0 || !isWord(code[i-1])):
		if open := strings.IndexByte(rest, '('); open >= 0 && open <= len(`R"`)+16 { // the longest delimiter of C++
			return until(")"+rest[len(`R"`):open]+`"`, open+1)
		}
	case rest[0] == '"', rest[0] == '\'' && (i == 0 || !isWord(code[i-1])): // not in a number such as 1'000
		n := quoted(rest, rest[0])
		return n, span{i + 1, i + max(n-1, 1)}
	}
	return 0, span{}
}

// quoted returns the length of a string of one line, without its end if that is missing.
func quoted(rest string, quote byte) int {
	for n := 1; n < len(rest); n++ {
		switch rest[n] {
		case '\\':
			n++
		case '\n':
			return n
		case quote:
			return n + 1
		}
	}
	return len(rest)
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

var directive = lazyregexp.New(`\A[ \t]*#[ \t]*(\w*)[ \t]*(\S*)`)

// directives returns the preprocessor lines of code, whose literals are blank in text, each with its continuations, and the branches of #if that are not
// read: all but the first, or all but the second if the first is "#if 0".
func directives(code, text string) []span {
	var removed []span
	var taken, reading []bool // of each open #if: whether a branch was read, whether this one is
	isRead := func() bool { return len(reading) == 0 || reading[len(reading)-1] }
	for start := 0; start < len(text); {
		end := lineEnd(text, start)
		match := directive.FindStringSubmatch(text[start:end])
		if match == nil {
			if !isRead() {
				removed = append(removed, span{start, end})
			}
			start = end
			continue
		}
		for end < len(text) && strings.HasSuffix(strings.TrimRight(code[start:end], "\r\n"), `\`) {
			end = lineEnd(text, end)
		}
		if comment := strings.LastIndex(code[start:end], "/*"); comment >= 0 && strings.TrimSpace(text[start+comment:end]) == "" &&
			!strings.Contains(code[start+comment:end], "*/") {
			if rest := strings.Index(code[end:], "*/"); rest >= 0 {
				end = lineEnd(text, end+rest)
			}
		}
		removed = append(removed, span{start, end})
		top := len(reading) - 1
		switch word := match[1]; {
		case word == "if" || word == "ifdef" || word == "ifndef":
			outer := isRead()
			first := outer && (word != "if" || match[2] != "0")
			taken, reading = append(taken, first || !outer), append(reading, first)
		case strings.HasPrefix(word, "el") && top >= 0:
			reading[top] = !taken[top]
			taken[top] = true
		case word == "endif" && top >= 0:
			taken, reading = taken[:top], reading[:top]
		}
		start = end
	}
	return removed
}

func lineEnd(text string, start int) int {
	if n := strings.IndexByte(text[start:], '\n'); n >= 0 {
		return start + n + 1
	}
	return len(text)
}

// divider goes through a text line by line.
type divider struct {
	*source
	text       string       // without comments, contents of strings and preprocessor lines
	directives map[int]bool // lines that are blank in text because of the preprocessor, by their offset
	open       declaration
	isOpen     bool
	depth      int
	found      []declaration
}

var (
	scopeBegin = lazyregexp.New(`\A(inline\s+|export\s+)*(namespace\b[^;={}()]*|extern\s*"[^"]*"\s*)\z`)
	// A line that continues a declaration although it begins at the first column.
	continuation = lazyregexp.New(`\A(\w+\s*:([^:]|\z)|(else|catch|finally|case|default|public|private|protected|extends|with|derives)\b)`)
)

func (d *divider) run() {
	blankBefore := true
	for start := 0; start < len(d.text); {
		end := lineEnd(d.text, start)
		line := d.text[start:end]
		switch {
		case d.directives[start]:
			d.open.directives = d.open.directives || d.isOpen
			blankBefore = true
		case strings.TrimSpace(line) == "":
			blankBefore = true
		default:
			if d.isOpen && blankBefore && isWord(line[0]) && !continuation.MatchString(line) {
				d.close(start) // the declaration before lacks its end
			}
			blankBefore = false
			d.line(start, line)
		}
		start = end
	}
	d.close(len(d.text))
}

func (d *divider) line(start int, line string) {
	for i := range len(line) {
		c, at := line[i], start+i
		if c == ' ' || c == '\t' || c == '\r' || c == '\n' {
			continue
		}
		if !d.isOpen {
			d.open, d.isOpen, d.depth = declaration{start: at}, true, 0
		}
		switch c {
		case '{':
			d.open.net++
			if d.depth == 0 && scopeBegin.MatchString(d.text[d.open.start:at]) {
				d.open.scope = true
				d.close(at + 1)
				continue
			}
			d.depth++
		case '}':
			d.open.net--
			d.depth--
			switch {
			case d.depth < 0: // the end of a namespace, or one too many
				if d.open.start < at {
					d.open.net++
					d.close(at)
				}
				d.open, d.isOpen = declaration{start: at, net: -1, scope: true}, true
				d.close(at + 1)
			case d.depth == 0 || i == 0:
				if rest := strings.TrimSpace(d.text[at+1:]); rest == "" || !strings.ContainsAny(rest[:1], ";,=)") &&
					!hasWord(line[i+1:]) {
					d.close(at + 1)
				} else {
					d.depth = 0
				}
			}
		case ';':
			if d.depth == 0 {
				d.close(at + 1)
			}
		}
	}
}

func hasWord(line string) bool {
	return strings.ContainsFunc(line, func(r rune) bool { return r > ' ' && r != '}' })
}

// close ends the open declaration, if there is one.
func (d *divider) close(end int) {
	if d.isOpen {
		d.open.end = end
		d.found = append(d.found, d.open)
		d.isOpen = false
	}
}

// join puts declarations together that were divided in the midst of their braces. If there are as many ends of
// namespaces as begins, what lacks a brace is wrong and stays as it is.
func (d *divider) join() {
	begins, ends := 0, 0
	for _, u := range d.found {
		if u.scope && u.net > 0 {
			begins++
		} else if u.net < 0 {
			ends++
		}
	}
	var joined []declaration
	var unclosed []int // in joined: begins of namespaces, and declarations that lack a brace
	for _, u := range d.found {
		joined = append(joined, u)
		last := len(joined) - 1
		if u.net > 0 && (u.scope || begins != ends) {
			unclosed = append(unclosed, last)
			continue
		}
		for net := u.net; net < 0 && len(unclosed) > 0; net++ {
			opener := unclosed[len(unclosed)-1]
			unclosed = unclosed[:len(unclosed)-1]
			if joined[opener].scope {
				continue
			}
			for _, part := range joined[opener+1:] {
				joined[opener].net += part.net
				joined[opener].end = part.end
				joined[opener].directives = joined[opener].directives || part.directives
			}
			joined = joined[:opener+1]
		}
	}
	d.found = joined
}
