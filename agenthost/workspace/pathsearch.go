package workspace

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"bellhop/protocol"
)

// How well a path matches a query, the best first.
const (
	nameBegins   = iota // the name of the file or directory begins with it
	pathBegins          // the path does
	nameContains        // the name contains it
	pathContains        // the path does
	pathScatters        // the path contains its letters in this order
	noMatch
)

// search returns the paths that match a query best. Upper and lower case are the same; among
// paths that match alike the shorter one is first.
func search(paths []string, query string) *protocol.PathList {
	query = strings.ToLower(strings.TrimPrefix(query, "./"))
	type match struct {
		rank int
		path string
	}
	better := func(a, b match) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(len(a.path), len(b.path)), cmp.Compare(a.path, b.path))
	}
	best, more := make([]match, 0, protocol.MaxPaths+1), false
	for _, path := range paths {
		found := match{rankOf(path, query), path}
		if found.rank == noMatch || len(best) == protocol.MaxPaths && better(found, best[len(best)-1]) > 0 {
			more = more || found.rank != noMatch
			continue
		}
		i, _ := slices.BinarySearchFunc(best, found, better)
		if best = slices.Insert(best, i, found); len(best) > protocol.MaxPaths {
			best, more = best[:protocol.MaxPaths], true
		}
	}
	list := &protocol.PathList{Paths: make([]string, len(best)), More: more}
	for i, m := range best {
		list.Paths[i] = m.path
	}
	return list
}

// rankOf compares a path with a query in lower case. Without a query, paths near the root are first.
func rankOf(path, query string) int {
	if query == "" {
		return min(strings.Count(strings.TrimSuffix(path, "/"), "/"), pathScatters)
	}
	path = strings.ToLower(path)
	name := path[strings.LastIndexByte(strings.TrimSuffix(path, "/"), '/')+1:]
	switch {
	case strings.HasPrefix(name, query):
		return nameBegins
	case strings.HasPrefix(path, query):
		return pathBegins
	case strings.Contains(name, query):
		return nameContains
	case strings.Contains(path, query):
		return pathContains
	case scatters(path, query):
		return pathScatters
	}
	return noMatch
}

// scatters reports whether path contains the characters of query in their order.
func scatters(path, query string) bool {
	for _, char := range query {
		i := strings.IndexRune(path, char)
		if i < 0 {
			return false
		}
		path = path[i+utf8.RuneLen(char):]
	}
	return true
}

// namesAndDirectories returns the names in git's output that a message can contain, and the directories of
// the files. Names outside of the prefix are left out, and the prefix is cut.
func namesAndDirectories(out, prefix string) []string {
	if prefix != "" {
		prefix += "/"
	}
	var paths []string
	directories := map[string]bool{}
	for name := range strings.SplitSeq(out, "\x00") {
		name, inside := strings.CutPrefix(name, prefix)
		if !inside || name == "" || len(name) > protocol.MaxPath || !utf8.ValidString(name) ||
			strings.ContainsFunc(name, unicode.IsControl) {
			continue
		}
		if !directories[name] { // git ends a nested repository with "/"
			paths = append(paths, name)
		}
		for i := strings.LastIndexByte(strings.TrimSuffix(name, "/"), '/'); i > 0; i = strings.LastIndexByte(name[:i], '/') {
			if directories[name[:i+1]] {
				break
			}
			directories[name[:i+1]] = true
			paths = append(paths, name[:i+1])
		}
	}
	return paths
}
