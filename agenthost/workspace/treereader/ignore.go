package treereader

import "strings"

// rule is one line of a list of ignored files.
type rule struct {
	text          string
	base          string // directory of the list: "" or with a slash at its end
	negative      bool   // it says that files are not ignored
	onlyDirectory bool
	onlyName      bool // it is compared with the last element of a path
	onlyEnd       bool // it is a star and plain text
	plain         int  // bytes before its first special character
}

// rules is a list of ignored files. The last rule that matches a path decides.
type rules []rule

const special = `*?[\`

// parseRules reads a list of ignored files as git does.
func parseRules(content, base string) rules {
	var all rules
	for line := range strings.SplitSeq(strings.TrimPrefix(content, "\xef\xbb\xbf"), "\n") {
		line, _, _ = strings.Cut(strings.TrimSuffix(line, "\r"), "\x00")
		if line = trimSpaces(line); line == "" || line[0] == '#' {
			continue
		}
		r := rule{base: base}
		r.text, r.negative = strings.CutPrefix(line, "!")
		r.text, r.onlyDirectory = strings.CutSuffix(r.text, "/")
		r.onlyName = !strings.Contains(r.text, "/")
		if r.plain = strings.IndexAny(r.text, special); r.plain < 0 {
			r.plain = len(r.text)
		}
		r.onlyEnd = strings.HasPrefix(r.text, "*") && !strings.ContainsAny(r.text[1:], special)
		all = append(all, r)
	}
	return all
}

// trimSpaces removes the spaces at the end of a line that no backslash protects.
func trimSpaces(line string) string {
	end := -1
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case ' ':
			if end < 0 {
				end = i
			}
		case '\\':
			i++
			end = -1
		default:
			end = -1
		}
	}
	if end >= 0 {
		return line[:end]
	}
	return line
}

// matches reports whether a rule is about a path, which has no slash at its end.
func (r *rule) matches(path string, isDirectory bool) bool {
	if r.onlyDirectory && !isDirectory || !strings.HasPrefix(path, r.base) {
		return false
	}
	if r.onlyName {
		return r.matchesName(path[strings.LastIndexByte(path, '/')+1:])
	}
	text, name, plain := r.text, path[len(r.base):], r.plain
	if text[0] == '/' {
		text, plain = text[1:], max(plain-1, 0)
	}
	if plain > len(name) || name[:plain] != text[:plain] {
		return false
	}
	if plain == len(text) && plain == len(name) {
		return true
	}
	// Like git, this matches only the rest, so that "**" at its beginning follows no slash.
	return wild(text[plain:], name[plain:], true)
}

func (r *rule) matchesName(name string) bool {
	switch {
	case r.plain == len(r.text):
		return name == r.text
	case r.onlyEnd:
		return strings.HasSuffix(name, r.text[1:])
	}
	return wild(r.text, name, false)
}

// ignores reports whether lists of ignored files, the outer ones first, say that a path is ignored.
func ignores(lists []rules, path string, isDirectory bool) bool {
	for i := len(lists) - 1; i >= 0; i-- {
		for j := len(lists[i]) - 1; j >= 0; j-- {
			if r := &lists[i][j]; r.matches(path, isDirectory) {
				return !r.negative
			}
		}
	}
	return false
}
