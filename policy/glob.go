package policy

import "strings"

// glob matches a text: * matches any run of characters, ? matches one character.
// All others, brackets included, match themselves. Matching takes at most
// len(pattern) × len(text) steps.
type glob struct {
	text string
	wild bool // it contains * or ?
}

func newGlob(pattern string) glob { return glob{pattern, strings.ContainsAny(pattern, "*?")} }

func (g *glob) match(text string) bool {
	if !g.wild {
		return g.text == text
	}
	return g.matchWild(text)
}

// matchWild lets the last * match as little as possible. When the pattern after that * does
// not fit, the * takes one more character. star is the index of the * in the pattern; mark
// is where its match ends in the text.
func (g *glob) matchWild(text string) bool {
	p := g.text
	if p == "*" {
		return true
	}
	i, j, star, mark := 0, 0, -1, 0
	for j < len(text) {
		switch {
		case i < len(p) && p[i] == '*':
			star, mark = i, j
			i++
		case i < len(p) && (p[i] == '?' || p[i] == text[j]):
			i, j = i+1, j+1
		case star >= 0:
			mark++
			i, j = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(p[i:], "*") == ""
}

// globs matches a text if one of them does; an empty list matches every text.
type globs []glob

func newGlobs(patterns []string) globs {
	out := make(globs, len(patterns))
	for i, p := range patterns {
		out[i] = newGlob(p)
	}
	return out
}

func (g globs) match(text string) bool {
	for i := range g {
		if g[i].match(text) {
			return true
		}
	}
	return len(g) == 0
}

// matchPath matches the elements of a path one by one; ** matches any number of them. It
// proceeds like matchWild.
func matchPath(pattern []glob, path []string) bool {
	return matchElements(pattern, path, (*glob).match)
}

func matchElements(pattern []glob, path []string, match func(*glob, string) bool) bool {
	i, j, star, mark := 0, 0, -1, 0
	for j < len(path) {
		switch {
		case i < len(pattern) && pattern[i].text == "**":
			star, mark = i, j
			i++
		case i < len(pattern) && match(&pattern[i], path[j]):
			i, j = i+1, j+1
		case star >= 0:
			mark++
			i, j = star+1, mark
		default:
			return false
		}
	}
	for i < len(pattern) && pattern[i].text == "**" {
		i++
	}
	return i == len(pattern)
}

// maxAlternatives limits the expansion of the braces of one pattern.
const maxAlternatives = 256

// alternatives expands {a,b} in a pattern; it returns false when there are too
// many. Braces without a comma or without their end match themselves.
func alternatives(pattern string) ([]string, bool) {
	out := []string{""}
	for pattern != "" {
		head, choices, rest := cutBraces(pattern)
		var next []string
		for _, before := range out {
			for _, choice := range choices {
				next = append(next, before+head+choice)
			}
		}
		if len(next) > maxAlternatives {
			return nil, false
		}
		out, pattern = next, rest
	}
	return out, true
}

func cutBraces(pattern string) (head string, choices []string, rest string) {
	for from := 0; ; {
		begin := strings.IndexByte(pattern[from:], '{')
		if begin < 0 {
			return pattern, []string{""}, ""
		}
		begin += from
		end := strings.IndexByte(pattern[begin:], '}')
		if end < 0 {
			return pattern, []string{""}, ""
		}
		if inner := pattern[begin+1 : begin+end]; strings.Contains(inner, ",") {
			return pattern[:begin], strings.Split(inner, ","), pattern[begin+end+1:]
		}
		from = begin + end + 1
	}
}
