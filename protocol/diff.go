package protocol

import "strings"

// Diff is what a session changed since it began: commits, what is staged, what
// is not, and new files. It is the answer of a host's GET /session/:id/diff and,
// without Base, the content of a DIFF artifact.
type Diff struct {
	Base  string     `json:"base,omitempty"` // commit or tree the session began with
	Files []DiffFile `json:"files"`
	Patch string     `json:"patch"` // unified, whole files only; at most MaxPatch bytes

	// Truncated says that Patch or Files lack something.
	Truncated bool `json:"truncated,omitempty"`
}

// DiffFile is one changed file. Binary ones count no lines.
type DiffFile struct {
	Path      string     `json:"path"`
	OldPath   string     `json:"oldPath,omitempty"` // of a renamed one
	Status    DiffStatus `json:"status"`
	Additions int        `json:"additions"`
	Deletions int        `json:"deletions"`
	Binary    bool       `json:"binary,omitempty"`
}

// DiffStatus is what became of a file.
type DiffStatus string

// Diff states. A file that became a symbolic link, or the reverse, has another
// type; one with another mode alone is modified.
const (
	DiffAdded       DiffStatus = "added"
	DiffModified    DiffStatus = "modified"
	DiffDeleted     DiffStatus = "deleted"
	DiffRenamed     DiffStatus = "renamed"
	DiffTypeChanged DiffStatus = "type-changed"
)

// DiffResponse is the broker's answer to POST /api/agent/diff. Message holds the
// diff as its DIFF artifact; NoDiffs says that nothing has changed.
type DiffResponse struct {
	Success bool     `json:"success"`
	NoDiffs bool     `json:"noDiffs,omitempty"`
	Message *Message `json:"message,omitempty"`
}

// Fit cuts Patch to MaxPatch before a file's header.
func (d *Diff) Fit() {
	if len(d.Patch) <= MaxPatch {
		return
	}
	// Lines of content begin with a sign or a space, so none looks like a header.
	d.Patch, d.Truncated = d.Patch[:strings.LastIndex(d.Patch[:MaxPatch], "\ndiff --git ")+1], true
}
