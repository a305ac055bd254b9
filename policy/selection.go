package policy

import (
	"path"
	"strings"
)

// A selection is a pattern by which a search picks files, such as the "glob" of Grep. It is a place like a path, and
// rules that deny or confirm also cover it if it picks names that they are about: "*.p*m" picks x.pem.

// hasWildcard reports whether a text stands for several names.
func hasWildcard(text string) bool { return strings.ContainsAny(text, "*?[") }

// selections returns the places of a pattern, one for each choice of its braces. A pattern that only leaves files out
// has none.
func (r *pathResolver) selections(from, pattern string) []place {
	if pattern == "" || pattern[0] == '!' {
		return nil
	}
	choices, ok := alternatives(pattern)
	if !ok {
		return []place{{text: pattern}}
	}
	out := make([]place, 0, len(choices))
	for _, choice := range choices {
		p := place{text: choice}
		if _, err := path.Match(choice, ""); err == nil {
			p = r.place(from, choice)
		}
		p.written.selects, p.real.selects = hasWildcard(choice), hasWildcard(choice)
		out = append(out, p)
	}
	return out
}

// matchElement matches one element of a selection. A pattern that allows must match every name that the element picks,
// which is certain only if both are the same. Any other pattern matches if it is about names that the element picks.
func (g *glob) matchElement(element string, allows bool) bool {
	switch {
	case !hasWildcard(element):
		return g.match(element)
	case allows:
		return g.text == element
	}
	if g.match(element) {
		return true
	}
	for _, part := range exampleParts {
		if picks(element, strings.NewReplacer("*", part, "?", "x").Replace(g.text)) {
			return !picks(element, "x") && !picks(element, "x.x") // "*" and "*.*" pick names of every kind
		}
	}
	return false
}

// exampleParts make an example of a pattern: a name that it matches.
var exampleParts = []string{"x", "local", "production"}

// picks reports whether an element of a selection matches a name. Searches may ignore case.
func picks(element, name string) bool {
	exact, _ := path.Match(element, name)
	folded, _ := path.Match(strings.ToLower(element), strings.ToLower(name))
	return exact || folded
}

// folders returns the places of a search as directories, for the patterns that are relative to them.
func (r *pathResolver) folders(paths []string) []string {
	var out []string
	for _, path := range paths {
		if p := r.place(r.dir, path); p.written.abs != nil {
			out = append(out, "/"+strings.Join(p.written.abs, "/"))
		}
	}
	return out
}
