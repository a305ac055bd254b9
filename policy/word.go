package policy

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// word is one word of a command. In its text, the constant unknown stands for each part
// whose value is not known before the call runs.
type word struct {
	text string
	glob bool // it has an unquoted * ? or [ and stands for file names

	split bool // an expansion may make it several words, or none
}

func (w word) unknown() bool { return hasUnknown(w.text) }

func hasUnknown(text string) bool { return strings.Contains(text, unknown) }

// isShort reports whether a word is a group of short options: -x, but not --x.
func isShort(text string) bool { return len(text) > 1 && text[0] == '-' && text[1] != '-' }

// literalWords returns words for texts that no shell expands.
func literalWords(list []string) []word {
	out := make([]word, len(list))
	for i, text := range list {
		out[i].text = strings.ReplaceAll(text, unknown, "\uFFFD")
	}
	return out
}

func texts(list []word) []string {
	out := make([]string, len(list))
	for i := range list {
		out[i] = list[i].text
	}
	return out
}

// word reads a word of a script. It expands ~, $HOME and $PWD; every other
// expansion is unknown.
func (w *walker) word(in *syntax.Word) word {
	if in == nil {
		return word{}
	}
	if len(in.Parts) == 1 {
		if lit, ok := in.Parts[0].(*syntax.Lit); ok && !strings.ContainsAny(lit.Value, "\\*?[{~"+unknown) {
			return word{text: lit.Value}
		}
	}
	var b strings.Builder
	out := word{split: braces(in)}
	if out.split {
		out.text = unknown
		return out
	}
	for i, part := range in.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			w.literal(&b, &out, part.Value, i == 0)
		case *syntax.SglQuoted:
			if part.Dollar && strings.Contains(part.Value, `\`) {
				b.WriteString(unknown)
			} else {
				b.WriteString(clean(part.Value))
			}
		case *syntax.DblQuoted:
			w.doubleQuoted(&b, &out, part)
		case *syntax.ParamExp:
			value := w.parameter(part)
			out.split = out.split || strings.ContainsAny(value, unknown+" \t\n*?[")
			b.WriteString(value)
		case *syntax.ProcSubst: // one word: the name of a pipe
			b.WriteString(unknown)
		default:
			out.split = true
			b.WriteString(unknown)
		}
	}
	out.text = b.String()
	return out
}

// clean replaces NUL bytes of a script, which would otherwise count as unknown.
func clean(text string) string { return strings.ReplaceAll(text, unknown, "\uFFFD") }

func (w *walker) literal(b *strings.Builder, out *word, value string, first bool) {
	if first && strings.HasPrefix(value, "~") {
		name, _, _ := strings.Cut(value[1:], "/")
		if name != "" || w.home == "" {
			b.WriteString(unknown)
		} else {
			b.WriteString(w.home)
		}
		value = value[1+len(name):]
	}
	value = clean(value)
	for i := 0; i < len(value); i++ {
		switch c := value[i]; c {
		case '\\':
			if i++; i < len(value) && value[i] != '\n' {
				b.WriteByte(value[i])
			}
		case '*', '?', '[':
			out.glob = true
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
}

// braces reports whether one word may become several: {a,b} and {1..9}. A quoted part may
// be between the signs.
func braces(in *syntax.Word) bool {
	var unquoted strings.Builder
	for _, part := range in.Parts {
		if lit, ok := part.(*syntax.Lit); ok {
			unquoted.WriteString(lit.Value)
		} else {
			unquoted.WriteByte('x')
		}
	}
	text := unquoted.String()
	begin := strings.IndexByte(text, '{')
	return begin >= 0 && (strings.Contains(text[begin:], ",") || strings.Contains(text[begin:], ".."))
}

func (w *walker) doubleQuoted(b *strings.Builder, out *word, q *syntax.DblQuoted) {
	for _, part := range q.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			b.WriteString(unescape(clean(part.Value)))
		case *syntax.ParamExp:
			out.split = out.split || part.Index != nil || part.Param == nil || part.Param.Value == "@" || part.Names != 0
			b.WriteString(w.parameter(part))
		default:
			b.WriteString(unknown)
		}
	}
}

// unescape removes the backslashes that are special in double quotes.
func unescape(value string) string {
	if strings.IndexByte(value, '\\') < 0 {
		return value
	}
	var b strings.Builder
	for i := 0; i < len(value); i++ {
		if value[i] == '\\' && i+1 < len(value) {
			switch value[i+1] {
			case '\n':
				i++
				continue
			case '$', '`', '"', '\\':
				i++
			}
		}
		b.WriteByte(value[i])
	}
	return b.String()
}

// parameter returns the value of $HOME or $PWD, and unknown for all others.
func (w *walker) parameter(p *syntax.ParamExp) string {
	plain := p.Param != nil && p.Exp == nil && p.Index == nil && p.Slice == nil && p.Repl == nil && p.Names == 0 &&
		!p.Excl && !p.Length && !p.Width && !p.IsSet && p.Flags == nil && p.NestedParam == nil && len(p.Modifiers) == 0
	switch {
	case !plain || w.set[p.Param.Value]:
	case p.Param.Value == "HOME" && w.home != "":
		return w.home
	case p.Param.Value == "PWD" && len(w.dirs) == 1 && w.dirs[0] != "":
		return w.dirs[0]
	}
	return unknown
}

// fixed returns a word's text; false when a part of it is unknown.
func (w *walker) fixed(in *syntax.Word) (string, bool) {
	out := w.word(in)
	return out.text, !out.unknown()
}

// document returns the text of a here-document; false when a part of it is unknown.
func (w *walker) document(in *syntax.Word) (string, bool) {
	if in == nil {
		return "", true
	}
	var b strings.Builder
	for _, part := range in.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			return "", false
		}
		b.WriteString(unescape(clean(lit.Value)))
	}
	return b.String(), true
}
