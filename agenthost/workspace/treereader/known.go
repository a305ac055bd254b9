package treereader

import (
	"errors"
	"sort"
	"strings"
)

// Mode is a file's mode in a tree of git.
type Mode uint32

// The modes that git knows.
const (
	ModeTree    Mode = 0o040000
	ModeFile    Mode = 0o100644
	ModeProgram Mode = 0o100755
	ModeLink    Mode = 0o120000
	ModeCommit  Mode = 0o160000 // a repository inside the tree
)

// Known is a file of the host's last snapshot, or of the tree that a workspace began with. Of the latter only path,
// mode and id are known.
type Known struct {
	Path      string
	Mode      Mode
	ID        string // of git's object, in hexadecimal
	Sum       Sum
	Signature Signature // zero, or only a size, if the state that was read is not settled
}

// Files is what is known of a tree, in the order of git's index: by the bytes of the paths.
type Files []Known

var errOrder = errors.New("the known files are not in the order of their paths")

func (f Files) check() error {
	for i := 1; i < len(f); i++ {
		if f[i-1].Path >= f[i].Path {
			return errOrder
		}
	}
	return nil
}

// span is a part of a sorted list: the entries below one directory.
type span struct{ from, to int }

// below returns the part of a span with the paths below a directory, which ends in a slash.
func below(s span, dir string, path func(int) string) span {
	from := s.from + sort.Search(s.to-s.from, func(i int) bool { return path(s.from+i) >= dir })
	to := from + sort.Search(s.to-from, func(i int) bool { return !strings.HasPrefix(path(from+i), dir) })
	return span{from, to}
}

// find returns the index of a path in a span, or -1.
func find(s span, name string, path func(int) string) int {
	i := s.from + sort.Search(s.to-s.from, func(i int) bool { return path(s.from+i) >= name })
	if i < s.to && path(i) == name {
		return i
	}
	return -1
}
