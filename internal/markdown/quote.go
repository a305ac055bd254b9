package markdown

import (
	"strings"

	"bellhop/internal/lazyregexp"
)

// Quote returns a text that is Markdown itself as a quote that ends with a line feed. Fenced code gets fences that it
// cannot close, and that are closed at its end. Elsewhere HTML becomes text, images become links, and links to other
// than web pages, files and mail become text. The quote ends where the text ends, whatever the text has opened.
func Quote(text string) string {
	var b strings.Builder
	lines := strings.Split(strings.TrimRight(Plain(text), "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		info, body, next := fenced(lines, i)
		if next == i {
			quoteLine(&b, neutral(lines[i]))
			continue
		}
		for line := range strings.SplitSeq(strings.TrimRight(Fence(info, strings.Join(body, "\n")), "\n"), "\n") {
			quoteLine(&b, line)
		}
		i = next - 1
	}
	return b.String()
}

func quoteLine(b *strings.Builder, line string) {
	if line == "" {
		b.WriteString(">\n")
		return
	}
	b.WriteString("> " + line + "\n")
}

// fenced returns the fenced code that begins on a line, and the index behind it; next is i if none begins there.
// Only fences at the beginning of a line count: others belong to a list or a quote, whose end also ends them, and
// neutral makes them text.
func fenced(lines []string, i int) (info string, body []string, next int) {
	open := lines[i]
	mark := rune('`')
	if strings.HasPrefix(open, "~") {
		mark = '~'
	}
	length := len(open) - len(strings.TrimLeft(open, string(mark)))
	info = strings.TrimSpace(open[length:])
	if length < 3 || mark == '`' && strings.Contains(info, "`") {
		return "", nil, i
	}
	for at := i + 1; at < len(lines); at++ {
		if closes(lines[at], mark, length) {
			return firstWord(info), lines[i+1 : at], at + 1
		}
	}
	return firstWord(info), lines[i+1:], len(lines)
}

func closes(line string, mark rune, length int) bool {
	inside := strings.TrimLeft(line, " ")
	if len(line)-len(inside) > 3 {
		return false
	}
	rest := strings.TrimLeft(inside, string(mark))
	return len(inside)-len(rest) >= length && strings.TrimSpace(rest) == ""
}

func firstWord(info string) string {
	word, _, _ := strings.Cut(info, " ")
	return word
}

var (
	// tag begins HTML, a comment, a declaration or an address in angle brackets.
	tag = lazyregexp.New(`<([A-Za-z/!?])`)
	// fence would begin code that a list or a quote contains.
	fence = lazyregexp.New("`{3,}|~{3,}")
	// target is behind the text of a link, and behind a reference's name.
	target = lazyregexp.New(`\][(:]`)
	// harmless are targets of a link and of a reference: a web page, a mail address, or a file beside the document.
	harmless = map[byte]*lazyregexp.Regexp{
		'(': lazyregexp.New(`^[ \t]*(?:https?://|mailto:|[\w./#-]*[)#])`),
		':': lazyregexp.New(`^[ \t]*(?:https?://|mailto:|[\w./#-]+[ \t]*$)`),
	}
)

// neutral returns a line outside of fenced code without what reaches beyond the text.
func neutral(line string) string {
	line = tag.ReplaceAllString(line, "&lt;$1")
	line = fence.ReplaceAllStringFunc(line, func(marks string) string { return strings.Repeat(`\`+marks[:1], len(marks)) })
	line = strings.ReplaceAll(line, "![", "&#33;[") // a backslash could meet another one before it
	var b strings.Builder
	for {
		at := target.FindStringIndex(line)
		if at == nil {
			return b.String() + line
		}
		behind := at[0] + 2
		b.WriteString(line[:at[0]])
		if harmless[line[behind-1]].MatchString(line[behind:]) {
			b.WriteString(line[at[0]:behind])
		} else {
			b.WriteString(`]\` + line[at[0]+1:behind])
		}
		line = line[behind:]
	}
}
