package workspace

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// redirects are settings that lead git to another repository or server, or send something else there. EVIL
// stands for another repository, PROXY for a server, URL for the remote's address.
var redirects = []string{
	"remote.origin.url=EVIL", "remote.origin.pushurl=EVIL", "remote.pushDefault=evil", "url.EVIL.insteadOf=URL",
	"remote.URL.url=EVIL", "remote.URL.pushurl=EVIL", "branch.main.remote=EVIL", "branch.main.pushRemote=EVIL",
	"http.proxy=PROXY", "http.URL.proxy=PROXY", "remote.URL.proxy=PROXY", "remote.origin.proxy=PROXY",
	"http.extraHeader=X-Evil: 1", "http.URL.extraHeader=X-Evil: 1", "http.userAgent=X-Evil", "http.cookieFile=COOKIES",
	"http.curloptResolve=127.0.0.1:80:127.0.0.2", "fetch.bundleURI=PROXY", "bundle.evil.uri=PROXY",
	"http.URL.saveCookies=true", "protocol.allow=always", "protocol.ext.allow=always", "protocol.file.allow=never",
}

// The remote's address is one that an agent can read in its clone, so it can name it in the settings of
// a clone that is used in place.
func TestNoSettingLeadsAFetchElsewhere(t *testing.T) {
	t.Parallel()
	cases := map[string][]string{}
	for _, setting := range redirects {
		cases[setting] = []string{setting}
	}
	for _, h := range dangers {
		if strings.Contains(strings.Join(h.settings, " "), "URL") {
			cases[h.settings[0]] = h.settings
		}
	}
	for name, settings := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fetchMisled(t, settings)
		})
	}
}

var evilRepository = template{name: "evil", fill: func(t *testing.T, dir string) {
	t.Helper()
	must(t, os.Remove(dir))
	copyTree(t, newRepository(t), dir)
	write(t, dir, "evil.txt", "evil\n")
	run(t, dir, "add", ".")
	run(t, dir, "commit", "--quiet", "-m", "evil")
}}

// fetchMisled fetches a project whose clone has the settings.
func fetchMisled(t *testing.T, settings []string) {
	shop, evil := newRepository(t), evilRepository.copy(t)
	var misled atomic.Value
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		misled.Store("a request to the proxy: " + r.RequestURI)
		http.NotFound(w, r)
	}))
	defer proxy.Close()
	server := serveRepository(t, filepath.Join(shop, ".git"), func(r *http.Request) {
		if r.Header.Get("X-Evil") != "" || r.UserAgent() == "X-Evil" || r.Header.Get("Cookie") != "" {
			misled.Store("other headers")
		}
	})
	tr := newTraps(t, server)
	write(t, tr.dir, "cookies", "127.0.0.1\tFALSE\t/\tFALSE\t0\tevil\t1\n")
	words := strings.NewReplacer("EVIL", "file://"+evil, "PROXY", proxy.URL, "COOKIES", filepath.Join(tr.dir, "cookies"))
	k := open(t, map[string]Project{"shop": {Clone: server, InPlace: true}})
	dir := k.session("s1", "shop")
	var armed []string
	for _, setting := range settings {
		armed = append(armed, words.Replace(setting))
	}
	tr.config(filepath.Join(dir, ".git", "config"), []danger{{settings: armed}})
	run(t, shop, "commit", "--quiet", "--allow-empty", "-m", "later")
	run(t, shop, "update-server-info")
	k.session("s2", "shop")
	must(t, os.WriteFile(filepath.Join(dir, ".git", "config"), nil, 0o600))
	equal(t, "fetched", run(t, dir, "rev-parse", "refs/remotes/origin/main"), run(t, shop, "rev-parse", "main"))
	if what, sprung := misled.Load(), tr.sprung(); what != nil || sprung != "" {
		t.Errorf("misled: %v, started: %s", what, sprung)
	}
}

// serveRepository serves a git directory over HTTP, and returns its address.
func serveRepository(t *testing.T, gitDir string, see func(r *http.Request)) string {
	t.Helper()
	run(t, gitDir, "update-server-info")
	files := http.FileServer(http.Dir(gitDir))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		see(r)
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// A remote names another server for its objects: git asks for none there.
func TestAlternatesOfARemoteAreNotFollowed(t *testing.T) {
	t.Parallel()
	shop := newRepository(t)
	asked := make(chan string, 100)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.RequestURI
		http.NotFound(w, r)
	}))
	defer other.Close()
	blob := run(t, shop, "rev-parse", "HEAD:README")
	must(t, os.Remove(filepath.Join(shop, ".git", "objects", blob[:2], blob[2:])))
	write(t, shop, ".git/objects/info/http-alternates", other.URL+"/objects\n")
	write(t, shop, ".git/objects/info/alternates", other.URL+"/objects\n")
	server := serveRepository(t, filepath.Join(shop, ".git"), func(*http.Request) {})
	k := open(t, map[string]Project{"shop": {Clone: server}})
	if _, _, err := k.Dir(t.Context(), "s1", "shop"); err == nil {
		t.Error("a repository without one of its objects was cloned")
	}
	if len(asked) > 0 {
		t.Errorf("asked the other server for %s", <-asked)
	}
}

// Git before 2.45 fetches objects that a partial clone lacks, with the program that its settings name.
func TestMissingObjectsAreNotFetched(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]Project{"the project of a clone": {}, "a directory in place": {InPlace: true}} {
		t.Run(name, func(t *testing.T) {
			shop := remote(t)
			p.Path = shop
			s := begun(t, map[string]Project{"shop": p}, "shop")
			s.git.env = append(s.git.env, "GIT_NO_LAZY_FETCH=0")
			tr := newTraps(t, "")
			tr.config(filepath.Join(shop, ".git", "config"), []danger{{settings: []string{
				"remote.evil.uploadpack=TRAP", "remote.evil.url=/", "remote.evil.promisor=true", "core.repositoryFormatVersion=1",
				"extensions.partialClone=evil",
			}}})
			loose, err := filepath.Glob(filepath.Join(shop, ".git", "objects", "[0-9a-f][0-9a-f]"))
			must(t, err)
			for _, dir := range loose {
				must(t, os.RemoveAll(dir))
			}
			for _, step := range steps {
				_ = step.do(s) // without objects most steps fail
			}
			if sprung := tr.sprung(); sprung != "" {
				t.Errorf("started: %s", sprung)
			}
		})
	}
}

// What a program of the session writes into the settings of a directory's repository after the check-in starts nothing.
func TestAFilterThatComesLateIsNotStarted(t *testing.T) {
	t.Parallel()
	shop := remote(t)
	run(t, shop, "worktree", "add", "--quiet", shop+"-two", "HEAD")
	k := open(t, map[string]Project{
		"shop": {Path: shop, InPlace: true}, "a worktree of it": {Path: shop + "-two", InPlace: true},
	})
	for project, id := range map[string]string{"shop": "s1", "a worktree of it": "s2"} {
		dir := k.session(id, project)
		tr := newTraps(t, "")
		tr.set(filepath.Join(shop, ".git"))
		write(t, dir, "x.ab", "changed\n")
		equal(t, project, fileLines(k.diff(id, project)), "modified x.ab")
		must1(t)(k.Info(t.Context(), dir))
		must1(t)(k.Paths(t.Context(), id, project, ""))
		if sprung := tr.sprung(); sprung != "" {
			t.Errorf("%s started: %s", project, sprung)
		}
		must(t, os.WriteFile(filepath.Join(shop, ".git", "config"), nil, 0o600))
	}
}

// A work tree that the settings of its repository name is neither read nor written.
func TestAnotherWorkTreeIsNotRead(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]Project{"a clone": {}, "a directory in place": {InPlace: true}} {
		t.Run(name, func(t *testing.T) {
			shop, elsewhere := newRepository(t), t.TempDir()
			write(t, elsewhere, "secret.txt", "canary\n")
			p.Path = shop
			k := open(t, map[string]Project{"shop": p})
			dir := k.session("s1", "shop")
			write(t, dir, ".git/config", "[core]\n\tworktree = "+elsewhere+"\n")
			write(t, dir, "new.txt", "new\n")
			equal(t, "compared", fileLines(k.diff("s1", "shop")), "added new.txt")
			_, err := k.Info(t.Context(), dir)
			must(t, err)
			names, err := os.ReadDir(elsewhere)
			must(t, err)
			if len(names) != 1 {
				t.Errorf("%d files are there", len(names))
			}
		})
	}
}

// The files that a repository's history brings name programs and other repositories too.
func TestModulesOfARepositoryAreNotFilled(t *testing.T) {
	t.Parallel()
	shop, tr := remote(t), newTraps(t, "")
	trap := tr.program(filepath.Join(tr.dir, "trap"), "of a module")
	write(t, shop, ".gitmodules", "[submodule \"inner\"]\n\tpath = inner\n\turl = ext::"+trap+
		"\n\tupdate = !"+trap+"\n\tactive = true\n\tfetchRecurseSubmodules = true\n")
	must(t, os.Mkdir(filepath.Join(shop, "inner"), 0o700))
	run(t, shop, "update-index", "--add", "--cacheinfo", "160000,"+run(t, shop, "rev-parse", "HEAD")+",inner")
	run(t, shop, "add", ".gitmodules")
	run(t, shop, "commit", "--quiet", "-m", "inner")
	for name, p := range map[string]Project{
		"a clone": {Path: shop}, "the host's clone": {Clone: "file://" + shop},
		"in place": {Clone: "file://" + shop, InPlace: true},
	} {
		t.Run(name, func(t *testing.T) {
			begun(t, map[string]Project{"shop": p}, "shop").tryAll(tr)
		})
	}
}
