package protocol

import "strings"

// MaxBranch limits the name of a branch that a task starts from, in bytes.
const MaxBranch = 200

// CheckBranch returns CodeInvalid unless name can be the name of a branch. It refuses a little more
// than git does: no name that a program could take for an option, a revision or the full name of a ref.
func CheckBranch(name string) error {
	if len(name) <= MaxBranch && name != "HEAD" && name != "@" && !strings.HasPrefix(name, "refs/") &&
		IsRefName("refs/heads/"+name) {
		return nil
	}
	return &Error{
		Code: CodeInvalid, Message: "branch is not the name of a branch",
		Hint: "Name a branch of the project as git branch lists it, such as main. A tag, a commit or a range is none",
	}
}

// IsRefName reports whether git accepts name as the full name of a ref. It refuses
// a little more than git does.
func IsRefName(name string) bool {
	if !strings.HasPrefix(name, "refs/") || len(name) > 1024 || strings.Contains(name, "..") ||
		strings.Contains(name, "@{") || strings.ContainsAny(name, " ~^:?*[\\\x7f") {
		return false
	}
	for i := range len(name) {
		if name[i] < ' ' {
			return false
		}
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part[0] == '.' || part[0] == '-' || strings.HasSuffix(part, ".lock") ||
			strings.HasSuffix(part, ".") {
			return false
		}
	}
	return true
}
