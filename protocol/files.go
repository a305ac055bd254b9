package protocol

import (
	"regexp"
	"strings"
)

// FileKind is the kind of an entry of a directory.
type FileKind string

// Kinds of entries.
const (
	FileRegular   FileKind = "file"
	FileDirectory FileKind = "directory"
	FileLink      FileKind = "link"  // a symbolic link, which is never followed
	FileOther     FileKind = "other" // a FIFO, a socket or a device, which is never opened
)

// FileEntry is an entry of a directory of a workspace.
type FileEntry struct {
	Name    string   `json:"name"`
	Kind    FileKind `json:"kind"`
	Size    int64    `json:"size,omitempty"`    // bytes of a file
	Target  string   `json:"target,omitempty"`  // where a link leads
	Ignored bool     `json:"ignored,omitempty"` // git ignores it
}

// FileList is the response to GET /session/:id/files of an agent host, and to GET /api/tasks/:id/files of a
// broker: a page of a directory, directories first.
type FileList struct {
	Path    string      `json:"path"` // of the directory; "" is the workspace
	Entries []FileEntry `json:"entries"`
	Total   int         `json:"total"`             // entries of the whole directory
	Next    string      `json:"next,omitempty"`    // "after" of the next page
	Unnamed int         `json:"unnamed,omitempty"` // entries that are left out because their names are no UTF-8
	Cut     bool        `json:"cut,omitempty"`     // the directory has more than MaxDirectory entries
}

// ContentKind says how the content of a file can be shown.
type ContentKind string

// Kinds of content. A binary one has neither Text nor Data.
const (
	ContentText   ContentKind = "text"
	ContentImage  ContentKind = "image"
	ContentBinary ContentKind = "binary"
)

// ImageTypes lists the media types of images that are shown. SVG is text: a browser could run its scripts.
func ImageTypes() []string { return []string{"image/png", "image/jpeg", "image/gif", "image/webp"} }

// FileContent is the response to GET /session/:id/file of an agent host, and to GET /api/tasks/:id/file of a broker:
// a file of a workspace, or a piece of a long text.
type FileContent struct {
	Path      string      `json:"path"`
	Kind      ContentKind `json:"kind"`
	MediaType string      `json:"mediaType"`
	Size      int64       `json:"size"`           // bytes of the whole file
	Text      string      `json:"text,omitempty"` // with the session's secrets masked
	Data      string      `json:"data,omitempty"` // of an image, in base64
	Offset    int64       `json:"offset"`         // the byte with which Text begins
	End       int64       `json:"end"`            // the offset of the next piece
	More      bool        `json:"more,omitempty"` // the text continues at End
	Note      string      `json:"note,omitempty"` // why an image is not shown
}

// FileSearch is a search in the texts of a workspace's files.
type FileSearch struct {
	Query  string // a text, or a regular expression in the syntax of RE2
	Regexp bool
	Case   bool // upper and lower case differ
}

// FileMatch is a line that a search found. Before, Match and After are parts of the line.
type FileMatch struct {
	Path   string `json:"path"`
	Line   int    `json:"line"` // from 1
	Before string `json:"before,omitempty"`
	Match  string `json:"match"`
	After  string `json:"after,omitempty"`
}

// FileMatches is the response to GET /session/:id/search of an agent host, and to GET /api/tasks/:id/search of a
// broker.
type FileMatches struct {
	Matches []FileMatch `json:"matches"`           // at most MaxMatches
	Files   int         `json:"files"`             // that were searched
	Skipped int         `json:"skipped,omitempty"` // files that are binary, or longer than MaxSearched
	More    bool        `json:"more,omitempty"`    // further lines may match: the search reached a limit
}

// Limits of files.
const (
	MaxDirectory   = 200_000   // entries of a directory that are read
	DirectoryPage  = 500       // entries of a FileList
	TextPiece      = 256 << 10 // bytes of the text of a FileContent
	MaxImage       = 5 << 20   // bytes of an image that is shown
	MaxPixels      = 64 << 20  // of an image that is shown
	MaxSearched    = 4 << 20   // bytes of a file that is searched
	MaxMatches     = 500
	MaxMatchText   = 200 // bytes of each part of a FileMatch
	MaxSearchQuery = 256 // bytes
)

// CheckFilePath returns CodeInvalid for a path that cannot be one of a file or directory of a workspace. Files of
// git directories are none.
func CheckFilePath(path string) error {
	if isTreePath(path) {
		return nil
	}
	return &Error{
		Code: CodeInvalid, Message: "path is not the path of a file in the workspace",
		Hint: "Give it relative to the workspace, with / between names, and without . and .. ; files of git are not shown",
	}
}

// Compile returns the expression that finds the lines of a search. CodeInvalid: it is empty, too long or no
// regular expression.
func (s FileSearch) Compile() (*regexp.Regexp, error) {
	if strings.TrimSpace(s.Query) == "" || len(s.Query) > MaxSearchQuery {
		return nil, Errorf(CodeInvalid, "q must have 1 to %d bytes", MaxSearchQuery)
	}
	pattern := s.Query
	if !s.Regexp {
		pattern = regexp.QuoteMeta(pattern)
	}
	if !s.Case {
		pattern = "(?i)" + pattern
	}
	compiled, err := regexp.Compile(pattern)
	if err != nil {
		return nil, &Error{
			Code:    CodeInvalid,
			Message: "q is no regular expression: " + strings.TrimPrefix(err.Error(), "error parsing regexp: "),
			Hint:    "The syntax is that of RE2, without backreferences and lookaround",
		}
	}
	return compiled, nil
}
