package treereader

import (
	"slices"
	"strings"
)

const modulesFile = ".gitmodules"

// isSubmodule reports whether a directory is told as the commit of another repository. One that the workspace did not begin
// with must be in the index and in .gitmodules: "git add" takes any repository inside into the index, and then nobody
// else could fetch its commit.
func (w *walker) isSubmodule(path string, isInIndex bool) bool {
	if isInIndex && w.modules[path] {
		return true
	}
	_, ok := slices.BinarySearch(w.request.Submodules, path)
	return ok
}

// readModules returns the paths that .gitmodules names. One that is no regular file names none, as for git.
func (w *walker) readModules() map[string]bool {
	content, err := w.root.read(modulesFile, maxRules)
	if err != nil {
		return nil
	}
	return parseModules(string(content))
}

// parseModules returns the paths of the submodules in a file of git's settings.
func parseModules(content string) map[string]bool {
	paths := map[string]bool{}
	isModule := false
	for line := range strings.Lines(content) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			head, rest, _ := strings.Cut(line, "]")
			name, _, _ := strings.Cut(strings.TrimPrefix(head, "["), " ")
			isModule = strings.EqualFold(strings.TrimSpace(name), "submodule")
			line = strings.TrimSpace(rest)
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok || !isModule || !strings.EqualFold(strings.TrimSpace(key), "path") {
			continue
		}
		if path := strings.TrimSuffix(settingOf(strings.TrimSpace(value)), "/"); IsPath(path) {
			paths[path] = true
		}
	}
	return paths
}

// settingOf returns the value of a setting on one line: without quotes, escapes, and what follows a comment's sign.
func settingOf(text string) string {
	var value strings.Builder
	end, isQuoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			isQuoted = !isQuoted
		case !isQuoted && (c == '#' || c == ';'):
			return value.String()[:end]
		case c == '\\' && i+1 < len(text):
			i++
			value.WriteByte(escaped(text[i]))
		default:
			value.WriteByte(c)
		}
		if isQuoted || text[i] != ' ' && text[i] != '\t' {
			end = value.Len()
		}
	}
	return value.String()[:end]
}

// escaped returns the character for which a letter stands after a backslash.
func escaped(letter byte) byte {
	switch letter {
	case 'n':
		return '\n'
	case 't':
		return '\t'
	case 'b':
		return '\b'
	}
	return letter
}
