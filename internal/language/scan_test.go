package language

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"strings"
	"unicode"
)

// text is a piece of a file that is checked.
type text struct {
	line  int
	place place
	words string // names: the identifier; otherwise running text
}

// texts takes a file apart, by its kind.
func texts(name string, source []byte) ([]text, error) {
	list := []text{{line: 1, place: names, words: strings.TrimSuffix(path.Base(name), path.Ext(name))}}
	switch path.Ext(name) {
	case ".go":
		found, err := goTexts(name, source)
		return append(list, found...), err
	case ".ts", ".tsx", ".mjs":
		return append(list, scriptTexts(string(source))...), nil
	case ".sql":
		return append(list, lineComments(string(source), "--")...), nil
	case ".md":
		return append(list, markdownTexts(string(source))...), nil
	default: // make, shell
		return append(list, lineComments(string(source), "#")...), nil
	}
}

// goTexts returns the comments and every distinct identifier of a Go file.
func goTexts(name string, source []byte) ([]text, error) {
	files := token.NewFileSet()
	tree, err := parser.ParseFile(files, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var list []text
	for _, group := range tree.Comments {
		list = append(list, text{files.Position(group.Pos()).Line, comments, group.Text()})
	}
	seen := map[string]bool{}
	ast.Inspect(tree, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && !seen[id.Name] {
			seen[id.Name] = true
			list = append(list, text{files.Position(id.Pos()).Line, names, id.Name})
		}
		return true
	})
	return list, nil
}

// script splits TypeScript: comments, then strings and regular expressions (not
// checked), then identifiers. It is approximate inside template literals and JSX.
var script = regexp.MustCompile(`(?s)(//[^\n]*|/\*.*?\*/)` +
	`|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|` + "`(?:\\\\.|[^`\\\\])*`" +
	`|[(,=:\[!&|?{};]\s*/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n*])+/` +
	`|([A-Za-z_$][\w$]*)`)

func scriptTexts(source string) []text {
	var list []text
	line, at := 1, 0
	for _, m := range script.FindAllStringSubmatchIndex(source, -1) {
		line += strings.Count(source[at:m[0]], "\n")
		at = m[0]
		switch {
		case m[2] >= 0:
			list = append(list, text{line, comments, source[m[2]:m[3]]})
		case m[4] >= 0:
			list = append(list, text{line, names, source[m[4]:m[5]]})
		}
	}
	return joinLines(list)
}

// lineComments returns the comments that begin with mark and end with their line.
func lineComments(source, mark string) []text {
	var list []text
	for i, line := range strings.Split(source, "\n") {
		before, comment, found := strings.Cut(line, mark)
		if found && (before == "" || strings.TrimSpace(before) == "" || strings.HasSuffix(before, " ")) {
			list = append(list, text{i + 1, comments, comment})
		}
	}
	return joinLines(list)
}

// joinLines makes one text of comments on consecutive lines, so that a phrase
// across a line break is found.
func joinLines(list []text) []text {
	var joined []text
	next := 0
	for _, t := range list {
		if last := len(joined) - 1; last >= 0 && t.place == comments && joined[last].place == comments && t.line == next {
			joined[last].words += "\n" + strings.TrimPrefix(t.words, "//")
		} else {
			joined = append(joined, t)
		}
		next = t.line + strings.Count(t.words, "\n") + 1
	}
	return joined
}

var fenced = regexp.MustCompile("(?sm)^[ \t]*```.*?^[ \t]*```")

// markdownTexts returns the paragraphs without their code.
func markdownTexts(source string) []text {
	plain := fenced.ReplaceAllStringFunc(source, func(code string) string {
		return strings.Repeat("\n", strings.Count(code, "\n"))
	})
	var list []text
	line := 1
	for _, paragraph := range strings.SplitAfter(plain, "\n\n") {
		list = append(list, text{line, docs, paragraph})
		line += strings.Count(paragraph, "\n")
	}
	return list
}

var (
	code = regexp.MustCompile("`[^`\n]*`|https?://\\S+")
	word = regexp.MustCompile(`[A-Za-z]+`)
)

// proseWords returns the words of running text in lower case, without code and addresses.
func proseWords(s string) []string {
	return word.FindAllString(strings.ToLower(code.ReplaceAllString(s, " ; ")), -1)
}

// nameWords splits an identifier at underscores and capitals: HTTPError is http, error.
func nameWords(name string) []string {
	var list []string
	runes := []rune(name)
	start := 0
	flush := func(end int) {
		if end > start {
			list = append(list, strings.ToLower(string(runes[start:end])))
		}
		start = end
	}
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r):
			flush(i)
			start = i + 1
		case unicode.IsUpper(r) && i > start &&
			(unicode.IsLower(runes[i-1]) || (i+1 < len(runes) && unicode.IsLower(runes[i+1]))):
			flush(i)
		}
	}
	flush(len(runes))
	return list
}
