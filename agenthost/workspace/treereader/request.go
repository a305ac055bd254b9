package treereader

import "errors"

// Request says what to read.
type Request struct {
	Root     string // the work tree
	HashSize int    // bytes of the ids of git's objects: 20 or 32
	Exclude  string // rules of ignored files beside those in the tree, in the form of .git/info/exclude
	Limits   Limits

	// Submodules are the paths, in order, of the commits of other repositories in the tree that the workspace began with. Such
	// a directory, and one that the index and .gitmodules name, is told as a commit. The files of every other repository
	// inside are told as those of any directory.
	Submodules []string

	// Fresh is when the host had written the known files into the tree, in nanoseconds since 1970; 0 = it is not known.
	// Of those that were not modified since then, only the signatures are read. No program of the session may have run
	// yet, for it could set times, nor run before the answer has ended: the state of a file is settled however young it is.
	Fresh int64

	// Skipped asks for all entries that a sparse checkout leaves without files, also for those that are known.
	Skipped bool

	// NamesOnly asks for a Name for each file, link and repository inside, and for nothing else of them.
	NamesOnly bool

	// Ignored asks with NamesOnly also for the names of ignored files, and for those in repositories inside.
	Ignored bool

	// Unkept asks, instead of all else, for what no snapshot has: a Name for each ignored file that no tool makes again, an
	// Inner for each directory that is a repository of its own, and a Staged for each entry of the index.
	Unkept bool
}

// Limits bound what one reading takes.
type Limits struct {
	Files    int   // that are new or changed
	Bytes    int64 // of their content
	FileSize int64 // of one of them
	Large    int64 // bytes that are read of larger files, to see whether these have changed
	Entries  int   // of all directories
	Depth    int   // of directories
}

// Errors of a reading that takes more than its limits.
var (
	errFiles   = errors.New("too many files are new or changed")
	errBytes   = errors.New("the new and changed files are too large")
	errEntries = errors.New("the work tree has too many files")
)

// LimitError means that a reading would take more than a limit of its request allows.
type LimitError struct{ Err error }

func (e *LimitError) Error() string { return e.Err.Error() }
func (e *LimitError) Unwrap() error { return e.Err }
