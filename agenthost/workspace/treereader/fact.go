package treereader

import "io"

// Fact is one thing that a reading tells of a tree: a File, Name, Inner, Staged, Same, Kept, Deleted, Attributes,
// LeftOut, MoreLeftOut or Head.
type Fact interface{ isFact() }

// File is a file or link that is new or has changed. The target of a link is its content.
type File struct {
	Path      string
	Mode      Mode
	Signature Signature
	Size      int64
	Content   io.Reader // of an Answer: to be read before the next fact
	content   []byte    // of a reading
}

// Name is a file, link or submodule that a snapshot would have, or an ignored file.
type Name struct {
	Path      string
	IsIgnored bool
}

// Inner is a directory below the work tree's with something of the name ".git", which is not told. What an Unkept reading
// finds below it is not told either.
type Inner struct {
	Path  string
	Files int // of an Unkept reading; those of its git directory do not count
}

// Staged is an entry of the index with a file's content, or a commit of a repository inside.
type Staged struct {
	Path     string
	Mode     Mode
	ID       string
	IsHidden bool // git passes over changes of the file
}

// Same is a known file whose content is what is known of it. Only its sum and signature are new.
type Same struct {
	Known     int // index of the known file
	Sum       Sum
	Signature Signature
}

// Kept is an entry without a file that can be read: a commit of a submodule, or what a sparse checkout leaves
// out. With ModeTree it is a directory of a sparse index: it holds what the tree of this id holds, and the files below
// it that other facts tell. The other known files below it do not count.
type Kept struct {
	Path string
	Mode Mode
	ID   string
}

// Deleted is a known file that is gone.
type Deleted struct{ Known int }

// Attributes is a file .gitattributes that git does not track but obeys.
type Attributes struct {
	Path    string
	Content []byte
}

// LeftOut is something that was not read. A known file of this path, or below it, keeps its content.
type LeftOut struct {
	Path   string // if it is longer than git allows, its beginning
	Reason Reason
}

// MoreLeftOut is how many more were not read: LeftOut names only the first ones.
type MoreLeftOut struct{ Count int }

// Head is what HEAD names, and what is open in the index.
type Head struct {
	Ref        string // "" if it names no branch
	Commit     string // "" if it has none
	IsUnmerged bool   // the index has conflicts of a merge
}

func (File) isFact()        {}
func (Name) isFact()        {}
func (Inner) isFact()       {}
func (Staged) isFact()      {}
func (Same) isFact()        {}
func (Kept) isFact()        {}
func (Deleted) isFact()     {}
func (Attributes) isFact()  {}
func (LeftOut) isFact()     {}
func (MoreLeftOut) isFact() {}
func (Head) isFact()        {}

// Reason says why something was left out.
type Reason uint8

// The reasons.
const (
	Unreadable Reason = iota
	IsFIFO
	IsSocket
	IsDevice
	TooLarge
	TooDeep
	PathTooLong
	RefusedName
	OtherFileSystem
	Unstable
	NoCommit
	RulesTooLarge
	ManyLarge
	NoObject // it is told by the host alone
	reasons  // their number
)

// String completes a sentence that begins with a path.
func (r Reason) String() string {
	switch r {
	case IsFIFO:
		return "is a FIFO"
	case IsSocket:
		return "is a socket"
	case IsDevice:
		return "is a device"
	case TooLarge:
		return "is too large"
	case TooDeep:
		return "is too deep"
	case PathTooLong:
		return "has a path that is longer than git allows"
	case RefusedName:
		return "has a name that git refuses"
	case OtherFileSystem:
		return "is on another file system"
	case Unstable:
		return "changes its kind again and again"
	case NoCommit:
		return "is a submodule without a readable commit"
	case RulesTooLarge:
		return "is too large as a list of ignored files"
	case ManyLarge:
		return "is one of too many large files"
	case NoObject:
		return "is left without a file by a sparse checkout, and its content is only in the workspace's own repository"
	default:
		return "cannot be read"
	}
}
