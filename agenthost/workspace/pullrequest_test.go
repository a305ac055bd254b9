package workspace_test

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bellhop/agenthost/forge"
	"bellhop/agenthost/workspace"
	"bellhop/crypto/seal"
	"bellhop/internal/testenv/fakeforge"
	"bellhop/protocol"
)

// site is a manager whose project "shop" has its remote at a forge of tests.
type site struct {
	*workspace.Manager
	forge   *fakeforge.Forge
	options workspace.Options
	address string
	dir     string // of session s1
}

func atForge(t *testing.T, kind protocol.ForgeKind) *site {
	t.Helper()
	shop, root := filepath.Join(t.TempDir(), "shop"), t.TempDir()
	git(t, "", "init", "--quiet", "--initial-branch=main", shop)
	git(t, shop, "commit", "--quiet", "--allow-empty", "-m", "first")
	git(t, "", "clone", "--quiet", "--bare", shop, filepath.Join(root, "ada", "shop.git"))
	git(t, filepath.Join(root, "ada", "shop.git"), "config", "http.receivepack", "true")
	fake := &fakeforge.Forge{Kind: kind, Repository: "ada/shop", Root: root}
	server := httptest.NewServer(fake)
	t.Cleanup(server.Close)
	git(t, shop, "remote", "add", "origin", server.URL+"/ada/shop.git")
	forges, err := forge.New(map[string]forge.Config{
		strings.TrimPrefix(server.URL, "http://"): {
			Kind: kind, API: server.URL + fake.Suffix(), Token: seal.NewSecret(fakeforge.Token),
		},
	}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	s := &site{forge: fake, address: server.URL + "/ada/shop.git", options: workspace.Options{
		Data: filepath.Join(t.TempDir(), "data"), Projects: map[string]workspace.Project{"shop": {Path: shop}},
		Forges: forges, Patience: time.Minute,
	}}
	s.open(t)
	if s.dir, _, err = s.Dir(t.Context(), "s1", "shop"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "a.txt"), []byte("a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	git(t, s.dir, "add", ".")
	git(t, s.dir, "commit", "--quiet", "-m", "work")
	return s
}

// open opens the manager, as a host does at its start.
func (s *site) open(t *testing.T) {
	t.Helper()
	var err error
	if s.Manager, err = workspace.New(s.options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.org",
		"GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.org")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (s *site) request(t *testing.T, title string) (*protocol.PullRequestResponse, error) {
	t.Helper()
	return s.PullRequest(t.Context(), "s1", "shop", &protocol.PullRequestRequest{Title: title, Body: " Why. "}, nil)
}

// The host pushes with the token of its forge, and opens, changes and remembers the pull request.
func TestAPushedBranchGetsAPullRequest(t *testing.T) {
	t.Parallel()
	for _, kind := range protocol.ForgeKinds() {
		t.Run(string(kind), func(t *testing.T) {
			s := atForge(t, kind)
			if _, err := s.request(t, "Work"); protocol.CodeOf(err) != protocol.CodeConflict ||
				!strings.Contains(err.Error(), "not pushed") {
				t.Errorf("before the push: %v", err)
			}
			pushed, err := s.Push(t.Context(), "s1", "shop", &protocol.PushRequest{}, nil)
			if err != nil || pushed.Remote != s.address {
				t.Fatalf("%+v %v", pushed, err)
			}
			done, err := s.request(t, "Work")
			if err != nil || !done.Created || done.Branch != pushed.Branch || done.Base != "main" {
				t.Fatalf("%+v %v", done, err)
			}
			again, err := s.request(t, "Better work")
			if err != nil || again.Created || again.URL != done.URL {
				t.Fatalf("%+v %v", again, err)
			}
			want := fakeforge.Request{Number: 1, Title: "Better work", Body: "Why.", Head: pushed.Branch, Base: "main"}
			if all := s.forge.Requests(); len(all) != 1 || all[0] != want {
				t.Errorf("%+v", all)
			}
			s.open(t) // the host restarts
			state := s.Remote(t.Context(), "s1", "shop")
			known := protocol.PullRequest{URL: done.URL, Number: 1, Title: "Better work", Body: "Why."}
			if state == nil || state.Forge != kind || state.PullRequest == nil || *state.PullRequest != known {
				t.Errorf("%+v", state)
			}
			git(t, s.dir, "checkout", "--quiet", "-b", "another")
			if state = s.Remote(t.Context(), "s1", "shop"); state.PullRequest != nil {
				t.Errorf("another branch has the pull request: %+v", state)
			}
		})
	}
}

func TestPullRequestsAreChecked(t *testing.T) {
	t.Parallel()
	s := atForge(t, protocol.ForgeGitea)
	for name, c := range map[string]struct {
		title, body string
		want        protocol.Code
	}{
		"no title":       {" ", "", protocol.CodeInvalid},
		"two lines":      {"a\nb", "", protocol.CodeInvalid},
		"an escape":      {"a", "\x1b[31m", protocol.CodeInvalid},
		"an override":    {"a\u202eb", "", protocol.CodeInvalid},
		"a long title":   {strings.Repeat("ü", protocol.MaxPullRequestTitle+1), "", protocol.CodeTooLarge},
		"a long body":    {"a", strings.Repeat("a", protocol.MaxPullRequestBody+1), protocol.CodeTooLarge},
		"the whole size": {strings.Repeat("ü", protocol.MaxPullRequestTitle), "a\n\tb", protocol.CodeConflict}, // not pushed
	} {
		_, err := s.PullRequest(t.Context(), "s1", "shop", &protocol.PullRequestRequest{Title: c.title, Body: c.body}, nil)
		if protocol.CodeOf(err) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if calls := s.forge.Calls(); len(calls) > 0 {
		t.Errorf("calls %v", calls)
	}
	s.options.Forges = nil
	s.open(t)
	if _, err := s.request(t, "Work"); protocol.CodeOf(err) != protocol.CodeNoRemote {
		t.Errorf("without a forge: %v", err)
	}
}

// A pull request proposes no commit of a submodule that no remote is known to have.
func TestAPullRequestNamesCommitsOfSubmodulesThatNoRemoteHas(t *testing.T) {
	t.Parallel()
	s, lib := atForge(t, protocol.ForgeKinds()[0]), filepath.Join(t.TempDir(), "lib")
	git(t, "", "init", "--quiet", "--initial-branch=main", lib)
	git(t, lib, "commit", "--quiet", "--allow-empty", "-m", "lib")
	git(t, s.dir, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", lib, "lib")
	git(t, s.dir, "commit", "--quiet", "-m", "lib")
	if _, err := s.Push(t.Context(), "s1", "shop", &protocol.PushRequest{}, nil); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"refs/remotes", "packed-refs"} {
		if err := os.RemoveAll(filepath.Join(s.dir, ".git/modules/lib", name)); err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.request(t, "Work")
	if id := git(t, lib, "rev-parse", "HEAD"); protocol.CodeOf(err) != protocol.CodeConflict || !strings.Contains(err.Error(), id) {
		t.Error(err)
	}
}
