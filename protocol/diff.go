package protocol

import "strings"

// Diff holds the changes of a session since it began: commits, staged and unstaged
// changes, and new files. It is the response of a host's GET /session/:id/diff and,
// without Base, the content of a DIFF artifact.
type Diff struct {
	Base  string     `json:"base,omitempty"` // commit or tree the session began with
	Files []DiffFile `json:"files"`
	Patch string     `json:"patch"` // unified, complete files only; at most MaxPatch bytes

	// Truncated reports that Patch or Files are incomplete.
	Truncated bool `json:"truncated,omitempty"`

	// Total counts all changes if Files is incomplete.
	Total *DiffTotal `json:"total,omitempty"`

	Snapshot string `json:"snapshot,omitempty"` // names the state of the files: the same state has the same id
	Head     string `json:"head,omitempty"`     // commit that is checked out, "" before the first one

	// LeftOut is what the host did not read, at most MaxLeftOut of LeftOutCount: what Files and Patch say of it can be
	// of an earlier state.
	LeftOut      []LeftOut `json:"leftOut,omitempty"`
	LeftOutCount int       `json:"leftOutCount,omitempty"`

	// InnerRepositories are directories with changes that are repositories of their own, but no submodules, at most MaxInner
	// of InnerRepositoryCount. Their files count as those of any directory, and their history is no part of the changes.
	InnerRepositories    []string `json:"innerRepositories,omitempty"`
	InnerRepositoryCount int      `json:"innerRepositoryCount,omitempty"`
}

// MaxInner bounds the names of InnerRepositories.
const MaxInner = 50

// DiffTotal counts the changes of a diff.
type DiffTotal struct {
	Files     int `json:"files"`
	Additions int `json:"additions"`
	Deletions int `json:"deletions"`
}

// LeftOut is a file or directory that the host did not read. Path and Reason together are a sentence.
type LeftOut struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// Limits of what a diff names as left out: entries, and bytes of a path.
const (
	MaxLeftOut     = 50
	MaxLeftOutPath = 512
)

// Counts counts all changes, also those that Files does not have.
func (d *Diff) Counts() DiffTotal {
	if d.Total != nil {
		return *d.Total
	}
	total := DiffTotal{Files: len(d.Files)}
	for i := range d.Files {
		total.Additions += d.Files[i].Additions
		total.Deletions += d.Files[i].Deletions
	}
	return total
}

// DiffFile is one changed file. Binary files have no line counts.
type DiffFile struct {
	Path      string     `json:"path"`              // as ShownPath shows it
	OldPath   string     `json:"oldPath,omitempty"` // of a renamed file
	Status    DiffStatus `json:"status"`
	Additions int        `json:"additions"`
	Deletions int        `json:"deletions"`
	Binary    bool       `json:"binary,omitempty"`
}

// DiffStatus is the kind of change of a file.
type DiffStatus string

// Diff states. A file that became a symbolic link, or the reverse, is type-changed;
// a file that changed only its mode is modified.
const (
	DiffAdded       DiffStatus = "added"
	DiffModified    DiffStatus = "modified"
	DiffDeleted     DiffStatus = "deleted"
	DiffRenamed     DiffStatus = "renamed"
	DiffTypeChanged DiffStatus = "type-changed"
)

// DiffResponse is the broker's response to POST /api/agent/diff. Message has the
// diff as its DIFF artifact. NoDiffs means that there is no new diff: with
// UnchangedSince nothing changed since the diff in the message of that seq, without it
// there are no changes at all.
type DiffResponse struct {
	Success bool     `json:"success"`
	NoDiffs bool     `json:"noDiffs,omitempty"`
	Message *Message `json:"message,omitempty"`

	UnchangedSince int64 `json:"unchangedSince,omitempty"`

	// Snapshot and Head are those of the diff as it is now, for a commit or a discard of what is shown. A message of before
	// can have others.
	Snapshot string `json:"snapshot,omitempty"`
	Head     string `json:"head,omitempty"`
}

// Fit cuts Patch to MaxPatch at the end of a file.
func (d *Diff) Fit() {
	if len(d.Patch) <= MaxPatch {
		return
	}
	// Lines of content begin with a sign or a space, so none can pass for a header.
	d.Patch, d.Truncated = d.Patch[:strings.LastIndex(d.Patch[:MaxPatch], "\ndiff --git ")+1], true
}
