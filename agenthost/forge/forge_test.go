package forge

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bellhop/crypto/seal"
	"bellhop/internal/testenv/fakeforge"
	"bellhop/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// site is a forge of tests, and a set that knows it.
type site struct {
	*testing.T
	*fakeforge.Forge
	*Set
	address string // of the repository, for git
	own     *protocol.ForgeCredential
}

var start = time.Unix(1_800_000_000, 0)

func open(t *testing.T, kind protocol.ForgeKind) *site {
	t.Helper()
	fake := &fakeforge.Forge{Kind: kind, Repository: "ada/shop"}
	server := httptest.NewServer(fake)
	t.Cleanup(server.Close)
	return &site{t, fake, setOf(t, kind, server.URL, fake.Suffix()), server.URL + "/ada/shop.git", nil}
}

func setOf(t *testing.T, kind protocol.ForgeKind, address, suffix string) *Set {
	t.Helper()
	_, name, _ := strings.Cut(address, "://")
	set, err := New(map[string]Config{
		name: {Kind: kind, API: address + suffix, Token: seal.NewSecret(fakeforge.Token)},
	}, func() time.Time { return start })
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func (s *site) request(title string) (*protocol.PullRequest, bool, error) {
	want := &protocol.PullRequestRequest{Title: title, Body: "Why.\n\n<b>"}
	return s.Request(s.Context(), s.address, "bellhop/1", "main", want, s.own)
}

func eachKind(t *testing.T, run func(t *testing.T, s *site)) {
	t.Helper()
	for _, kind := range protocol.ForgeKinds() {
		t.Run(string(kind), func(t *testing.T) { run(t, open(t, kind)) })
	}
}

func TestAPullRequestIsOpenedAndFoundAgain(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, s *site) {
		s.Add(fakeforge.Request{Title: "closed", Head: "bellhop/1", Base: "main", Closed: true})
		s.Add(fakeforge.Request{Title: "of a fork", Head: "bellhop/1", Base: "main", Fork: "eve/shop"})
		for i := range pageSize + 5 {
			s.Add(fakeforge.Request{Title: "another", Head: "other/" + strconv.Itoa(i), Base: "main"})
		}
		number := pageSize + 8
		done, created, err := s.request("Open the shop")
		if err != nil || !created || done.Number != number || !strings.HasSuffix(done.URL, "/"+strconv.Itoa(number)) {
			t.Fatalf("%+v %v %v", done, created, err)
		}
		again, created, err := s.request("Open the shop at nine")
		if err != nil || created || again.Number != number || again.URL != done.URL {
			t.Fatalf("%+v %v %v", again, created, err)
		}
		all := s.Requests()
		want := fakeforge.Request{
			Number: number, Title: "Open the shop at nine", Body: "Why.\n\n<b>", Head: "bellhop/1", Base: "main",
		}
		if len(all) != number || all[number-1] != want || all[0].Title != "closed" || all[1].Title != "of a fork" {
			t.Errorf("%+v", all[number-1])
		}
	})
}

// Another program opens the request between the question and the call that opens it.
func TestARequestThatWasJustOpenedIsChanged(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, s *site) {
		s.Fault = func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPost {
				s.Add(fakeforge.Request{Title: "mine", Head: "bellhop/1", Base: "main"})
				s.Fault = nil
			}
			return false
		}
		done, created, err := s.request("Open the shop")
		if err != nil || created || done.Number != 1 || s.Requests()[0].Title != "Open the shop" {
			t.Errorf("%+v %v %v", done, created, err)
		}
	})
}

// answering is a fault.
func answering(status int, body string, headers ...string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
		return true
	}
}

func TestFailuresOfAForgeAreExplained(t *testing.T) {
	t.Parallel()
	reset := strconv.FormatInt(start.Add(90*time.Second).Unix(), 10)
	for name, c := range map[string]struct {
		fault         func(http.ResponseWriter, *http.Request) bool
		code          protocol.Code
		message, hint string
	}{
		"5xx": {answering(503, "<html>"), protocol.CodeRemoteFailed, "failed with status 503", "Try again later"},
		"expired token": {
			answering(401, `{"message":"Bad credentials"}`), protocol.CodeRemoteFailed, "refused the token", "replaces",
		},
		"weak token": {
			answering(403, `{"message":"Resource not accessible"}`), protocol.CodeRemoteFailed, "may not open", "Resource not",
		},
		"no repository": {
			answering(404, `{"message":"Not Found"}`), protocol.CodeRemoteFailed, "no such repository", "ada/shop",
		},
		"rate limit of GitHub": {
			answering(403, `{"message":"API rate limit"}`, "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", reset),
			protocol.CodeTooManyRequests, "no more requests", "1m30s",
		},
		"second rate limit": {
			answering(403, `{"message":"secondary"}`, "Retry-After", "30"), protocol.CodeTooManyRequests, "no more", "30s",
		},
		"rate limit": {answering(429, ``, "RateLimit-Reset", reset), protocol.CodeTooManyRequests, "no more", "1m30s"},
		"refused": {
			answering(422, `{"message":"Validation Failed","errors":[{"message":"No commits between main and x\u001b[31m"}]}`),
			protocol.CodeConflict, "refused the pull request", "Validation Failed No commits between main and x\uFFFD[31m",
		},
		"a list": {
			answering(409, `{"message":["Another one exists"]}`), protocol.CodeConflict, "refused", "Another one",
		},
		"an echo":        {answering(400, `{"message":"`+fakeforge.Token+`"}`), protocol.CodeConflict, "refused", "[redacted]"},
		"a web page":     {answering(200, "<html>"), protocol.CodeRemoteFailed, "another form", "kind and url"},
		"another object": {answering(200, `{"message":"hi"}`), protocol.CodeRemoteFailed, "another form", "kind"},
		"too much": {
			answering(200, "["+strings.Repeat(" ", maxAnswer)+"]"), protocol.CodeRemoteFailed, "another form", "",
		},
		"a cut": {func(w http.ResponseWriter, _ *http.Request) bool {
			panic(http.ErrAbortHandler)
		}, protocol.CodeRemoteFailed, "cannot be reached", "network"},
	} {
		t.Run(name, func(t *testing.T) {
			eachKind(t, func(t *testing.T, s *site) {
				s.Fault = c.fault
				_, _, err := s.request("Open the shop")
				failed := (*protocol.Error)(nil)
				if !errors.As(err, &failed) || failed.Code != c.code || !strings.Contains(failed.Message, c.message) ||
					!strings.Contains(failed.Hint, c.hint) {
					t.Errorf("%#v", failed)
				}
				if strings.Contains(err.Error()+failed.Hint, fakeforge.Token) {
					t.Error("the token is in the error")
				}
				if c.code == protocol.CodeTooManyRequests && (failed.RetryAfter < 30 || failed.RetryAfter > 90) {
					t.Errorf("retry after %d s", failed.RetryAfter)
				}
			})
		})
	}
}

func TestATokenGoesToItsForgeOnly(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 100)
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.RequestURI }))
	defer other.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		eachKind(t, func(t *testing.T, s *site) {
			s.Fault = answering(status, "", "Location", other.URL+"/api")
			_, _, err := s.request("Open the shop")
			if protocol.CodeOf(err) != protocol.CodeRemoteFailed || !strings.Contains(err.Error(), "redirect") {
				t.Error(err)
			}
		})
	}
	s := open(t, protocol.ForgeGitHub)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, other.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := s.find(s.address, nil).client.Do(req); err == nil {
		_ = resp.Body.Close()
		t.Error("the client reaches other servers")
	}
	if len(asked) > 0 {
		t.Errorf("asked %s", <-asked)
	}
}

func TestAForgeWithAWrongCertificateGetsNothing(t *testing.T) {
	t.Parallel()
	fake := &fakeforge.Forge{Kind: protocol.ForgeGitea, Repository: "ada/shop"}
	server := httptest.NewTLSServer(fake)
	defer server.Close()
	server.Config.ErrorLog = nil
	set := setOf(t, protocol.ForgeGitea, server.URL, fake.Suffix())
	s := &site{t, fake, set, server.URL + "/ada/shop.git", nil}
	_, _, err := s.request("Open the shop")
	if protocol.CodeOf(err) != protocol.CodeRemoteFailed || !strings.Contains(err.Error(), "certificate") {
		t.Error(err)
	}
	if calls := s.Calls(); len(calls) > 0 {
		t.Errorf("calls %v", calls)
	}
}

func TestAForgeThatHangsEndsARequest(t *testing.T) {
	t.Parallel()
	s := open(t, protocol.ForgeGitHub)
	end := make(chan struct{})
	defer close(end)
	s.Fault = func(http.ResponseWriter, *http.Request) bool { <-end; return true }
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, _, err := s.Request(ctx, s.address, "bellhop/1", "main", &protocol.PullRequestRequest{Title: "x"}, nil)
	if protocol.CodeOf(err) != protocol.CodeRemoteFailed || !strings.Contains(err.Error(), "did not answer in time") {
		t.Error(err)
	}
}

func TestThePageOfAPullRequestIsALink(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"javascript:alert(1)//", "//example.org", "https://ada:x@example.org", "file:///etc"} {
		eachKind(t, func(t *testing.T, s *site) {
			s.Page = page
			if done, _, err := s.request("Open the shop"); protocol.CodeOf(err) != protocol.CodeRemoteFailed {
				t.Errorf("%s: %+v %v", page, done, err)
			}
		})
	}
}

func TestAddressesOfRepositories(t *testing.T) {
	t.Parallel()
	token := seal.NewSecret("t")
	set, err := New(map[string]Config{
		"github.com": {Token: token}, "gitlab.com": {Token: token},
		"git.example.org:8443": {Kind: protocol.ForgeGitea, API: "https://git.example.org:8443/sub/api/v1", Token: token},
		"ghe.example.org":      {Kind: protocol.ForgeGitHub, Token: token},
	}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]string{
		"https://github.com/ada/shop.git":              "https://api.github.com ada/shop",
		"https://GitHub.com/ada/shop/":                 "https://api.github.com ada/shop",
		"git@github.com:ada/shop.git":                  "https://api.github.com ada/shop",
		"ssh://git@github.com:22/ada/shop.git":         "https://api.github.com ada/shop",
		"https://ghe.example.org/ada/shop":             "https://ghe.example.org/api/v3 ada/shop",
		"https://gitlab.com/group/sub/shop.git":        "https://gitlab.com/api/v4 group/sub/shop",
		"https://git.example.org:8443/sub/ada/shop":    "https://git.example.org:8443/sub/api/v1 ada/shop",
		"https://git.example.org/ada/shop":             "",
		"https://github.com/ada":                       "",
		"https://github.com/ada/shop/x":                "",
		"https://github.com/ada/..":                    "",
		"https://github.com/ada/sh%2fop":               "",
		"https://github.com/ada/shop?x":                "https://api.github.com ada/shop",
		"https://github.com.evil.example.org/ada/shop": "",
		"/srv/github.com/ada/shop":                     "",
	} {
		got := ""
		if at := set.find(address, nil); at != nil {
			got = at.api.String() + " " + at.repository
		}
		if got != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
	for address, want := range map[string]string{
		"https://github.com/ada/shop": "x-access-token", "http://github.com/ada/shop": "",
		"git@github.com:ada/shop":      "",
		"https://example.org/ada/shop": "", "https://gitlab.com/ada/shop": "oauth2",
	} {
		if user, _ := set.Login(address, nil); user != want {
			t.Errorf("%s: signs in as %q, want %q", address, user, want)
		}
	}
}

func TestForgesThatCannotBeUsedAreRefused(t *testing.T) {
	t.Parallel()
	token := seal.NewSecret("t")
	for name, c := range map[string]struct {
		name   string
		config Config
		want   string
	}{
		"no token":       {"github.com", Config{}, "it has no token"},
		"no kind":        {"git.example.org", Config{Token: token}, "kind is one of"},
		"another kind":   {"github.com", Config{Kind: "svn", Token: token}, "kind is one of"},
		"an address":     {"https://github.com", Config{Token: token}, "the name is the host name"},
		"plain http":     {"github.com", Config{API: "http://github.com/api", Token: token}, "needs https"},
		"a password":     {"github.com", Config{API: "https://a:b@github.com", Token: token}, "is not the base address"},
		"another scheme": {"github.com", Config{API: "file:///etc", Token: token}, "is not the base address"},
	} {
		_, err := New(map[string]Config{c.name: c.config}, time.Now)
		if protocol.CodeOf(err) != protocol.CodeInvalid || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
