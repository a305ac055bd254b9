package fakeforge

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/cgi"
	"net/url"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"bellhop/protocol"
)

// Token is the one that the forge accepts.
const Token = "forge-token-of-tests"

// Request is a pull request at the forge.
type Request struct {
	Number                  int
	Title, Body, Head, Base string
	Closed                  bool
	Fork                    string // repository that Head is in; "" = the forge's own
}

// Forge is the handler of a forge.
type Forge struct {
	Kind       protocol.ForgeKind
	Repository string // "owner/name"
	Root       string // directory with <Repository>.git, a bare repository; "" = none
	Page       string // base of the pages of pull requests; "" = the address that was asked

	// Fault answers a call of the API in the forge's place; it may be nil. false: it did not answer.
	Fault func(w http.ResponseWriter, r *http.Request) bool

	mu       sync.Mutex
	requests []*Request
	calls    []string
}

// Requests returns the pull requests.
func (f *Forge) Requests() []Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([]Request, len(f.requests))
	for i, r := range f.requests {
		out[i] = *r
	}
	return out
}

// Add adds a pull request, as another person would.
func (f *Forge) Add(r Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r.Number = len(f.requests) + 1
	f.requests = append(f.requests, &r)
}

// Calls returns method and path of the API's calls, and forgets them.
func (f *Forge) Calls() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	calls := f.calls
	f.calls = nil
	return calls
}

// Suffix is the path of the API below the forge's address.
func (f *Forge) Suffix() string {
	return map[protocol.ForgeKind]string{
		protocol.ForgeGitHub: "/api/v3", protocol.ForgeGitLab: "/api/v4", protocol.ForgeGitea: "/api/v1",
	}[f.Kind]
}

// list is the path of the pull requests, escaped as it is in a request.
func (f *Forge) list() string {
	if f.Kind == protocol.ForgeGitLab {
		return f.Suffix() + "/projects/" + url.PathEscape(f.Repository) + "/merge_requests"
	}
	return f.Suffix() + "/repos/" + f.Repository + "/pulls"
}

// ServeHTTP answers calls of the API, and serves the repository to git.
func (f *Forge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.EscapedPath()
	if !strings.HasPrefix(path, f.Suffix()+"/") {
		f.serveGit(w, r)
		return
	}
	f.mu.Lock()
	f.calls = append(f.calls, r.Method+" "+path)
	f.mu.Unlock()
	if f.Fault != nil && f.Fault(w, r) {
		return
	}
	if !f.knows(r) {
		f.fail(w, http.StatusUnauthorized, map[protocol.ForgeKind]string{
			protocol.ForgeGitHub: "Bad credentials", protocol.ForgeGitLab: "401 Unauthorized",
			protocol.ForgeGitea: "user does not exist [uid: 0, name: ]",
		}[f.Kind])
		return
	}
	number, isItem := strings.CutPrefix(path, f.list()+"/")
	update := http.MethodPatch
	if f.Kind == protocol.ForgeGitLab {
		update = http.MethodPut
	}
	switch {
	case path == f.list() && r.Method == http.MethodGet:
		f.search(w, r)
	case path == f.list() && r.Method == http.MethodPost:
		f.create(w, r)
	case isItem && r.Method == update:
		f.change(w, r, number)
	default:
		f.fail(w, http.StatusNotFound, "Not Found")
	}
}

// knows reports whether the request has the token, in the header of the API.
func (f *Forge) knows(r *http.Request) bool {
	switch f.Kind {
	case protocol.ForgeGitLab:
		return r.Header.Get("PRIVATE-TOKEN") == Token
	case protocol.ForgeGitHub:
		return r.Header.Get("Authorization") == "Bearer "+Token && r.Header.Get("X-GitHub-Api-Version") == "2022-11-28" &&
			r.UserAgent() != ""
	default:
		return r.Header.Get("Authorization") == "token "+Token
	}
}

func (f *Forge) search(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	owner, _, _ := strings.Cut(f.Repository, "/")
	size, _ := strconv.Atoi(query.Get("per_page") + query.Get("limit"))
	page, _ := strconv.Atoi(query.Get("page"))
	f.mu.Lock()
	defer f.mu.Unlock()
	found := []any{}
	for _, request := range f.requests {
		isWanted := !request.Closed && query.Get("state") == f.stateOf(request)
		if f.Kind == protocol.ForgeGitHub {
			isWanted = isWanted && query.Get("head") == owner+":"+request.Head && request.Fork == ""
		}
		if f.Kind == protocol.ForgeGitLab {
			isWanted = isWanted && query.Get("source_branch") == request.Head
		}
		if isWanted {
			found = append(found, f.shape(request, r))
		}
	}
	from := min(max(page-1, 0)*size, len(found))
	f.answer(w, http.StatusOK, found[from:min(from+size, len(found))])
}

func (f *Forge) create(w http.ResponseWriter, r *http.Request) {
	body := map[string]string{}
	_ = json.NewDecoder(r.Body).Decode(&body)
	made := &Request{Title: body["title"], Body: body["body"], Head: body["head"], Base: body["base"]}
	if f.Kind == protocol.ForgeGitLab {
		made.Body, made.Head, made.Base = body["description"], body["source_branch"], body["target_branch"]
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, other := range f.requests {
		if !other.Closed && other.Head == made.Head && other.Fork == "" {
			f.fail(w, http.StatusConflict, "Another open request already exists for this branch")
			return
		}
	}
	if made.Title == "" || !f.has(made.Head) || !f.has(made.Base) {
		f.fail(w, http.StatusUnprocessableEntity, "Validation Failed")
		return
	}
	made.Number = len(f.requests) + 1
	f.requests = append(f.requests, made)
	f.answer(w, http.StatusCreated, f.shape(made, r))
}

func (f *Forge) change(w http.ResponseWriter, r *http.Request, number string) {
	body := map[string]string{}
	_ = json.NewDecoder(r.Body).Decode(&body)
	f.mu.Lock()
	defer f.mu.Unlock()
	at, err := strconv.Atoi(number)
	if err != nil || at < 1 || at > len(f.requests) {
		f.fail(w, http.StatusNotFound, "Not Found")
		return
	}
	changed := f.requests[at-1]
	changed.Title, changed.Body = body["title"], body["body"]
	if f.Kind == protocol.ForgeGitLab {
		changed.Body = body["description"]
	}
	f.answer(w, http.StatusOK, f.shape(changed, r))
}

// has reports whether the repository has a branch; without a repository it has every one.
func (f *Forge) has(branch string) bool {
	if f.Root == "" {
		return branch != ""
	}
	return exec.Command("git", "-C", f.directory(), "rev-parse", "--verify", "--quiet", "refs/heads/"+branch).Run() == nil
}

func (f *Forge) directory() string {
	return filepath.Join(f.Root, filepath.FromSlash(f.Repository)+".git")
}

func (f *Forge) stateOf(request *Request) string {
	switch {
	case request.Closed:
		return "closed"
	case f.Kind == protocol.ForgeGitLab:
		return "opened"
	}
	return "open"
}

// shape returns a pull request as the API has it.
func (f *Forge) shape(request *Request, r *http.Request) map[string]any {
	base := f.Page
	if base == "" {
		base = "http://" + r.Host
	}
	if f.Kind == protocol.ForgeGitLab {
		source := 7
		if request.Fork != "" {
			source = 8
		}
		return map[string]any{
			"id": 1000 + request.Number, "iid": request.Number, "project_id": 7, "title": request.Title,
			"description": request.Body, "state": f.stateOf(request), "source_branch": request.Head,
			"target_branch": request.Base, "source_project_id": source, "target_project_id": 7,
			"web_url": fmt.Sprintf("%s/%s/-/merge_requests/%d", base, f.Repository, request.Number),
		}
	}
	of := f.Repository
	if request.Fork != "" {
		of = request.Fork
	}
	owner, _, _ := strings.Cut(of, "/")
	side := func(branch, repository string) map[string]any {
		return map[string]any{
			"label": owner + ":" + branch, "ref": branch, "sha": strings.Repeat("0", 40),
			"repo": map[string]any{"id": 7, "full_name": repository},
		}
	}
	page := "pull"
	if f.Kind == protocol.ForgeGitea {
		page = "pulls"
	}
	return map[string]any{
		"id": 1000 + request.Number, "number": request.Number, "state": f.stateOf(request), "title": request.Title,
		"body": request.Body, "head": side(request.Head, of), "base": side(request.Base, f.Repository),
		"html_url": fmt.Sprintf("%s/%s/%s/%d", base, f.Repository, page, request.Number),
	}
}

// fail answers with an error in the form of the API.
func (f *Forge) fail(w http.ResponseWriter, status int, message string) {
	switch {
	case f.Kind == protocol.ForgeGitHub && status == http.StatusUnprocessableEntity || status == http.StatusConflict &&
		f.Kind == protocol.ForgeGitHub:
		f.answer(w, http.StatusUnprocessableEntity, map[string]any{
			"message":           "Validation Failed",
			"status":            "422",
			"documentation_url": "https://docs.github.com/rest/pulls/pulls#create-a-pull-request",
			"errors":            []any{map[string]any{"resource": "PullRequest", "code": "custom", "message": message}},
		})
	case f.Kind == protocol.ForgeGitLab && status == http.StatusConflict:
		f.answer(w, status, map[string]any{"message": []string{message}})
	default:
		f.answer(w, status, map[string]any{"message": message})
	}
}

func (f *Forge) answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// serveGit serves the repository to clients with the token as their password.
func (f *Forge) serveGit(w http.ResponseWriter, r *http.Request) {
	if _, password, _ := r.BasicAuth(); password != Token || f.Root == "" {
		w.Header().Set("WWW-Authenticate", `Basic realm="forge"`)
		http.Error(w, "no access", http.StatusUnauthorized)
		return
	}
	git, err := exec.LookPath("git")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	(&cgi.Handler{Path: git, Args: []string{"http-backend"}, Root: "/", Env: []string{
		"GIT_PROJECT_ROOT=" + f.Root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=forge",
	}}).ServeHTTP(w, r)
}
