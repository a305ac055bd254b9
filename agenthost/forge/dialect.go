package forge

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"bellhop/protocol"
)

// dialect is what differs between the APIs.
type dialect struct {
	suffix string // path of the API below the address of the forge
	public string // base URL of the API of the public forge publicName
	depth  int    // most segments of a repository's path
	user   string // with which a token is a password for git

	publicName string

	authorize func(h http.Header, token string)
	requests  func(repository string) string // path of the open requests of a repository
	search    func(repository, head string) url.Values
	update    string // method that changes a request
	texts     texts
}

// texts are the names of members in the body of a request.
type texts struct{ head, base, body string }

func (d *dialect) apiOf(name string) string {
	if name == d.publicName {
		return d.public
	}
	return "https://" + name + d.suffix
}

const pageSize = 50

// dialects are those of GitHub's REST API 2022-11-28, GitLab's API v4 and Gitea's API v1.
var dialects = map[protocol.ForgeKind]*dialect{
	protocol.ForgeGitHub: {
		suffix: "/api/v3", publicName: "github.com", public: "https://api.github.com", depth: 2, user: "x-access-token",
		authorize: func(h http.Header, token string) {
			h.Set("Authorization", "Bearer "+token)
			h.Set("Accept", "application/vnd.github+json")
			h.Set("X-GitHub-Api-Version", "2022-11-28")
		},
		requests: ofRepos,
		search: func(repository, head string) url.Values {
			owner, _, _ := strings.Cut(repository, "/")
			return url.Values{
				"state": {"open"}, "head": {owner + ":" + head}, "per_page": {strconv.Itoa(pageSize)},
			}
		},
		update: http.MethodPatch, texts: texts{"head", "base", "body"},
	},
	protocol.ForgeGitLab: {
		suffix: "/api/v4", depth: 20, user: "oauth2",
		authorize: func(h http.Header, token string) { h.Set("PRIVATE-TOKEN", token) },
		requests:  func(repository string) string { return "/projects/" + url.PathEscape(repository) + "/merge_requests" },
		search: func(_, head string) url.Values {
			return url.Values{"state": {"opened"}, "source_branch": {head}, "per_page": {strconv.Itoa(pageSize)}}
		},
		update: http.MethodPut, texts: texts{"source_branch", "target_branch", "description"},
	},
	protocol.ForgeGitea: {
		suffix: "/api/v1", depth: 2, user: "oauth2",
		authorize: func(h http.Header, token string) { h.Set("Authorization", "token "+token) },
		requests:  ofRepos,
		search: func(_, _ string) url.Values { // it cannot search by branch
			return url.Values{"state": {"open"}, "limit": {strconv.Itoa(pageSize)}}
		},
		update: http.MethodPatch, texts: texts{"head", "base", "body"},
	},
}

func ofRepos(repository string) string { return "/repos/" + repository + "/pulls" }

// item is a pull request as one of the APIs has it.
type item struct {
	Number int    `json:"number"`
	IID    int    `json:"iid"` // GitLab's number
	Page   string `json:"html_url"`
	WebURL string `json:"web_url"` // GitLab's page
	State  string `json:"state"`

	Head struct {
		Ref  string `json:"ref"`
		Repo *struct {
			FullName string `json:"full_name"`
		} `json:"repo"`
	} `json:"head"`
	SourceBranch  string `json:"source_branch"` // GitLab's head
	SourceProject int    `json:"source_project_id"`
	TargetProject int    `json:"target_project_id"`
}

func (i *item) number() int { return max(i.Number, i.IID) }

func (i *item) page() string {
	if i.WebURL != "" {
		return i.WebURL
	}
	return i.Page
}
