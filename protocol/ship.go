package protocol

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// ShipStep is something that a host does with the work of a session.
type ShipStep string

// Steps of shipping.
const (
	ShipCommit      ShipStep = "commit"
	ShipDiscard     ShipStep = "discard"
	ShipDiscardHunk ShipStep = "discard-hunk" // discards a part of a file
	ShipFetch       ShipStep = "fetch"
	ShipPush        ShipStep = "push"
	ShipRequest     ShipStep = "pull-request"
)

// ShipSteps lists every step.
func ShipSteps() []ShipStep {
	return []ShipStep{ShipCommit, ShipDiscard, ShipDiscardHunk, ShipFetch, ShipPush, ShipRequest}
}

// Limits of commits.
const (
	MaxCommitMessage = 64 << 10  // bytes
	MaxAuthorName    = 200       // bytes of an author's name or e-mail address
	MaxDiscardPaths  = 500       // paths in one DiscardRequest
	MaxHunk          = 256 << 10 // bytes of a DiscardHunk
)

// CommitAuthor is the author of a commit.
type CommitAuthor struct {
	Name  string `json:"name"`
	Email string `json:"email"`
}

// CommitRequest is the body of POST /session/:id/commit of an agent host.
type CommitRequest struct {
	Message string       `json:"message"`
	Author  CommitAuthor `json:"author"`

	Snapshot string `json:"snapshot"` // of the diff that was shown
	Head     string `json:"head"`     // of the same diff: the parent of the new commit

	At time.Time `json:"-"` // of the commit; a repeated request has that of the first one. Zero = now
}

// CommitTaskRequest is the body of POST /api/tasks/:id/commit of a broker, which adds the author.
type CommitTaskRequest struct {
	Message  string `json:"message"`
	Snapshot string `json:"snapshot"` // of the diff that was shown
	Head     string `json:"head"`     // of the same diff: the parent of the new commit
}

// CommitResponse is the response to POST /session/:id/commit of an agent host, and to POST
// /api/tasks/:id/commit of a broker. A repeated request gets the commit that the first one made.
type CommitResponse struct {
	Success   bool   `json:"success"`
	SessionID string `json:"sessionId"`
	Commit    string `json:"commit"` // its id
	Branch    string `json:"branch"`
	Files     int    `json:"files"` // that the commit changes
	Additions int    `json:"additions"`
	Deletions int    `json:"deletions"`

	// InnerRepositories are repositories inside whose files the commit has, and whose own history it does not have, as in a
	// Diff.
	InnerRepositories    []string `json:"innerRepositories,omitempty"`
	InnerRepositoryCount int      `json:"innerRepositoryCount,omitempty"`
}

// Check trims the message and checks the request. CodeInvalid: it is empty, or has characters that
// a commit cannot have. CodeTooLarge: it is too long.
func (r *CommitRequest) Check() (err error) {
	if r.Message, err = CheckCommitMessage(r.Message); err != nil {
		return err
	}
	for name, text := range map[string]string{"author.name": r.Author.Name, "author.email": r.Author.Email} {
		if text == "" || len(text) > MaxAuthorName || !utf8.ValidString(text) || strings.ContainsAny(text, "<>") ||
			strings.ContainsFunc(text, unicode.IsControl) || strings.Trim(text, " .,:;\"'") == "" {
			return &Error{
				Code: CodeInvalid, Message: name + " cannot be the author of a commit",
				Hint: "Use 1 to 200 bytes of text without control characters, < and >",
			}
		}
	}
	return nil
}

// CheckCommitMessage returns a message as it is committed: with one line end at its end.
func CheckCommitMessage(message string) (string, error) {
	message = strings.ReplaceAll(message, "\r\n", "\n")
	message = strings.TrimRightFunc(strings.Trim(message, "\n"), unicode.IsSpace)
	switch {
	case len(message) > MaxCommitMessage:
		return "", &Error{
			Code: CodeTooLarge, Message: "The commit message is too long", Hint: "It may have up to 64 KiB: shorten it",
		}
	case strings.TrimSpace(message) == "":
		return "", &Error{
			Code: CodeInvalid, Message: "The commit message is empty", Hint: "Say in one line what the changes do",
		}
	case !utf8.ValidString(message), strings.ContainsFunc(message, IsCommandCharacter):
		return "", &Error{
			Code: CodeInvalid, Message: "The commit message has control characters", Hint: "Use text, line ends and tabs only",
		}
	}
	return message + "\n", nil
}

// IsCommandCharacter reports whether a character of a text could change a terminal or the order of a text.
func IsCommandCharacter(char rune) bool {
	return unicode.IsControl(char) && char != '\n' && char != '\t' || unicode.Is(unicode.Bidi_Control, char)
}

// DiscardRequest is the body of POST /session/:id/discard of an agent host, and of POST
// /api/tasks/:id/discard of a broker. It has either paths or a hunk.
type DiscardRequest struct {
	Paths []string     `json:"paths,omitempty"` // of files, as a diff has them; see ShownPath
	Hunk  *DiscardHunk `json:"hunk,omitempty"`  // a part of one file

	Snapshot string `json:"snapshot"` // of the diff that was shown
}

// DiscardHunk is a part of the changes of a file, as the patch of a diff has it.
type DiscardHunk struct {
	Path string `json:"path"` // of the file as it is now
	Text string `json:"text"` // from the line that begins with @@ to the last line of the hunk
}

// DiscardResponse is the response to a DiscardRequest.
type DiscardResponse struct {
	Success   bool   `json:"success"`
	SessionID string `json:"sessionId"`
	Files     int    `json:"files"` // that the request names, each once, one of them in part for a hunk
}

// Check returns CodeInvalid unless the request has either a hunk or paths, and all paths can be those of files in
// a work tree.
func (r *DiscardRequest) Check() error {
	if r.Hunk != nil {
		return r.Hunk.check(len(r.Paths))
	}
	if len(r.Paths) == 0 || len(r.Paths) > MaxDiscardPaths {
		return Errorf(CodeInvalid, "paths must have 1 to %d entries", MaxDiscardPaths)
	}
	for _, path := range r.Paths {
		if !isTreePath(path) {
			return errNoTreePath("paths has an entry that")
		}
	}
	return nil
}

func (h *DiscardHunk) check(paths int) error {
	switch {
	case paths > 0:
		return &Error{
			Code: CodeInvalid, Message: "A request discards either paths or a hunk", Hint: "Send two requests",
		}
	case !isTreePath(h.Path):
		return errNoTreePath("hunk.path")
	case len(h.Text) > MaxHunk, !utf8.ValidString(h.Text), !strings.HasPrefix(h.Text, "@@ -"),
		!strings.HasSuffix(h.Text, "\n"):
		return &Error{
			Code: CodeInvalid, Message: "hunk.text is no hunk of a patch",
			Hint: "Copy it from the patch of the diff: from its line @@ to the end of its last line, at most 256 KiB",
		}
	}
	return nil
}

func errNoTreePath(subject string) error {
	return &Error{
		Code: CodeInvalid, Message: subject + " is not the path of a file",
		Hint: "Name files as the diff does: relative to the top of the workspace, without . and .., and not in .git",
	}
}

func isTreePath(path string) bool {
	if len(path) > MaxPath || !utf8.ValidString(path) || strings.Contains(path, "\x00") {
		return false
	}
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == "." || part == ".." || strings.EqualFold(part, ".git") {
			return false
		}
	}
	return true
}
