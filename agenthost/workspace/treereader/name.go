package treereader

import "strings"

// maxPath is the longest path that git can use, in bytes.
const maxPath = 4095

// IsPath reports whether a file of git can have this path.
func IsPath(path string) bool {
	if path == "" || len(path) > maxPath || strings.IndexByte(path, 0) >= 0 {
		return false
	}
	for element := range strings.SplitSeq(path, "/") {
		if element == "" || element == "." || element == ".." || isRefused(element) {
			return false
		}
	}
	return true
}

// isRefused reports whether git refuses an element of a path because a file system could take it for ".git". It is
// git's verify_path with core.protectNTFS, which is on everywhere.
func isRefused(element string) bool {
	for part := range strings.SplitSeq(element, "\\") {
		if isGitOfNTFS(part) {
			return true
		}
	}
	return false
}

func isGitOfNTFS(name string) bool {
	rest, ok := cutPrefixFold(name, ".git")
	if !ok {
		if rest, ok = cutPrefixFold(name, "git~1"); !ok {
			return false
		}
	}
	rest, _, _ = strings.Cut(rest, ":")
	return strings.Trim(rest, ". ") == ""
}

// isRefusedLink reports whether git refuses a link of this name: a link as .gitmodules could lead it outside.
func isRefusedLink(element string) bool {
	for part := range strings.SplitSeq(element, "\\") {
		rest, ok := cutPrefixFold(part, ".gitmodules")
		if !ok {
			if rest, ok = cutPrefixFold(part, "gitmod~"); ok && rest != "" && rest[0] >= '1' && rest[0] <= '4' {
				rest = rest[1:]
			} else {
				continue
			}
		}
		rest, _, _ = strings.Cut(rest, ":")
		if strings.Trim(rest, ". ") == "" {
			return true
		}
	}
	return false
}

func cutPrefixFold(s, prefix string) (rest string, ok bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return s[len(prefix):], true
}
