package protocol

import (
	"strings"
	"unicode/utf8"
)

// ForgeKind is the kind of a forge: whose API it has.
type ForgeKind string

// Kinds of forges. Forgejo is of the kind gitea.
const (
	ForgeGitHub ForgeKind = "github"
	ForgeGitLab ForgeKind = "gitlab"
	ForgeGitea  ForgeKind = "gitea"
)

// ForgeKinds lists every kind.
func ForgeKinds() []ForgeKind { return []ForgeKind{ForgeGitHub, ForgeGitLab, ForgeGitea} }

// Limits of pull requests.
const (
	MaxPullRequestTitle = 250      // characters; GitLab takes 255
	MaxPullRequestBody  = 60 << 10 // bytes; GitHub takes 65 536 characters
)

// PullRequestRequest is the body of POST /session/:id/pull-request of an agent host, and of POST
// /api/tasks/:id/pull-request of a broker.
type PullRequestRequest struct {
	Title string `json:"title"`
	Body  string `json:"body"`
}

// PullRequest is a pull request of a task; at GitLab a merge request.
type PullRequest struct {
	URL    string `json:"url"` // http or https
	Number int    `json:"number"`
	Title  string `json:"title"` // title and body as the host has set them last
	Body   string `json:"body"`
}

// PullRequestResponse is the response to a PullRequestRequest.
type PullRequestResponse struct {
	Success   bool   `json:"success"`
	SessionID string `json:"sessionId"`
	URL       string `json:"url"`
	Number    int    `json:"number"`
	Created   bool   `json:"created"` // false: an open one of the branch was changed
	Branch    string `json:"branch"`
	Base      string `json:"base"`
}

// Check trims the texts and checks the request. CodeInvalid: no title, or characters that no text has.
// CodeTooLarge: a text is too long.
func (r *PullRequestRequest) Check() error {
	r.Title = strings.TrimSpace(r.Title)
	r.Body = strings.TrimSpace(strings.ReplaceAll(r.Body, "\r\n", "\n"))
	switch {
	case r.Title == "":
		return &Error{
			Code: CodeInvalid, Message: "The title of the pull request is empty", Hint: "Say in one line what the changes do",
		}
	case utf8.RuneCountInString(r.Title) > MaxPullRequestTitle, len(r.Body) > MaxPullRequestBody:
		return &Error{
			Code: CodeTooLarge, Message: "The pull request is too long",
			Hint: "The title may have up to 250 characters, the description up to 60 KiB",
		}
	case !utf8.ValidString(r.Title + r.Body), strings.ContainsAny(r.Title, "\n\t"),
		strings.ContainsFunc(r.Title+r.Body, IsCommandCharacter):
		return &Error{
			Code: CodeInvalid, Message: "The pull request has control characters",
			Hint: "Use one line for the title, and text, line ends and tabs only for the description",
		}
	}
	return nil
}
