package workspace

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bellhop/internal/testenv"
	"bellhop/protocol"
)

// withRemote returns a session with a commit, whose project has a bare repository as its remote.
func withRemote(t *testing.T) (k *kit, bare, dir string) {
	t.Helper()
	shop := newRepository(t)
	bare = bareOf(t, shop)
	addOrigin(t, shop, bare)
	k = open(t, map[string]Project{"shop": {Path: shop}})
	dir = k.session(uuid, "shop")
	commitIn(t, dir)
	return k, bare, dir
}

func bareOf(t *testing.T, shop string) string {
	t.Helper()
	bare := filepath.Join(t.TempDir(), "origin.git")
	copyTree(t, filepath.Join(shop, ".git"), bare)
	must(t, os.Remove(filepath.Join(bare, "index")))
	must(t, os.RemoveAll(filepath.Join(bare, "logs")))
	must(t, writeRepositoryConfig(bare, true))
	return bare
}

// addOrigin does what "git remote add origin" does.
func addOrigin(t *testing.T, shop, address string) {
	t.Helper()
	config := filepath.Join(shop, ".git", "config")
	text := string(mustRead(t, config)) + formatSetting("remote.origin.url", address) +
		formatSetting("remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*")
	must(t, os.WriteFile(config, []byte(text), 0o600))
}

func (k *kit) tryPush(replaces string) (*protocol.PushResponse, error) {
	return k.Push(k.Context(), uuid, "shop", &protocol.PushRequest{Replaces: replaces}, nil)
}

func (k *kit) remoteState() string {
	k.Helper()
	text, err := json.Marshal(k.Remote(k.Context(), uuid, "shop"))
	must(k.T, err)
	return string(text)
}

// pushedByOthers adds a commit to a branch of a remote.
func pushedByOthers(t *testing.T, bare, branch string) string {
	t.Helper()
	other := filepath.Join(t.TempDir(), "other")
	run(t, filepath.Dir(other), "clone", "--quiet", "--branch", branch, bare, other)
	write(t, other, "theirs.txt", "theirs\n")
	run(t, other, "add", ".")
	run(t, other, "commit", "--quiet", "-m", "theirs")
	run(t, other, "push", "--quiet", "origin", branch)
	return run(t, other, "rev-parse", "HEAD")
}

func TestPushSendsTheBranchToTheRemoteOfTheProject(t *testing.T) {
	t.Parallel()
	k, bare, dir := withRemote(t)
	tip, branch := run(t, dir, "rev-parse", "HEAD"), run(t, dir, "symbolic-ref", "--short", "HEAD")
	equal(t, "before", k.remoteState(), fmt.Sprintf(`{"address":%q,"base":"main","ahead":1}`, bare))
	before := run(t, bare, "for-each-ref", "--format=%(refname) %(objectname)")
	done, err := k.tryPush("")
	must(t, err)
	if *done != (protocol.PushResponse{Success: true, SessionID: uuid, Commit: tip, Branch: branch, Remote: bare}) {
		t.Errorf("%+v", done)
	}
	equal(t, "at the remote", run(t, bare, "for-each-ref", "--format=%(refname) %(objectname)"),
		"refs/heads/"+branch+" "+tip+"\n"+before)
	equal(t, "after", k.remoteState(), fmt.Sprintf(`{"address":%q,"base":"main","pushed":%q,"ahead":0}`, bare, tip))
	equal(t, "git in the workspace", run(t, dir, "rev-parse", "refs/remotes/origin/"+branch), tip)

	again, err := k.tryPush("")
	must(t, err)
	if *again != *done {
		t.Errorf("repeated: %+v", again)
	}
	write(t, dir, "more.txt", "more\n")
	k.commit(uuid, "shop", "More")
	if state := k.remoteState(); !strings.Contains(state, `"ahead":1`) {
		t.Error(state)
	}
	must1(t)(k.tryPush(""))
	equal(t, "the next", run(t, bare, "rev-parse", branch), run(t, dir, "rev-parse", "HEAD"))
	reopened := openOn(t, k.data, k.projects)
	if state := reopened.remoteState(); !strings.Contains(state, `"ahead":0`) {
		t.Errorf("after a restart: %s", state)
	}
}

// must1 checks the error of a call with one result.
func must1(t *testing.T) func(any, error) {
	t.Helper()
	return func(_ any, err error) { t.Helper(); must(t, err) }
}

func TestAPushRemovesCommitsOnlyIfTheyAreNamed(t *testing.T) {
	t.Parallel()
	k, bare, dir := withRemote(t)
	branch, pushed := run(t, dir, "symbolic-ref", "--short", "HEAD"), run(t, dir, "rev-parse", "HEAD")
	must1(t)(k.tryPush(""))
	theirs := pushedByOthers(t, bare, branch)
	commitIn2(t, dir)
	_, err := k.tryPush("")
	if hint := errorHint(t, err, protocol.CodeDivergedBranch); !strings.Contains(hint, theirs) {
		t.Error(hint)
	}
	if state := k.remoteState(); !strings.Contains(state, `"pushed":"`+pushed+`","ahead":1,"diverged":"`+theirs+`"`) {
		t.Error(state)
	}
	_, err = k.tryPush(run(t, dir, "rev-parse", "HEAD~1")) // not what the remote has now
	errorHint(t, err, protocol.CodeDivergedBranch)
	_, err = k.tryPush("main")
	errorHint(t, err, protocol.CodeInvalid)
	equal(t, "at the remote", run(t, bare, "rev-parse", branch), theirs)

	done, err := k.tryPush(theirs)
	must(t, err)
	equal(t, "replaced", done.Replaced, theirs)
	equal(t, "at the remote", run(t, bare, "rev-parse", branch), run(t, dir, "rev-parse", "HEAD"))
	if state := k.remoteState(); strings.Contains(state, "diverged") {
		t.Error(state)
	}
}

func commitIn2(t *testing.T, dir string) {
	t.Helper()
	write(t, dir, "second.txt", "second\n")
	run(t, dir, "add", ".")
	run(t, dir, "commit", "--quiet", "-m", "second")
}

func TestAMovedBaseIsReportedUntilItIsMerged(t *testing.T) {
	t.Parallel()
	k, bare, dir := withRemote(t)
	theirs := pushedByOthers(t, bare, "main")
	must1(t)(k.tryPush(""))
	if state := k.remoteState(); !strings.Contains(state, `"baseMoved":true`) {
		t.Error(state)
	}
	run(t, dir, "fetch", "--quiet", bare, theirs)
	run(t, dir, "merge", "--quiet", "--no-edit", "FETCH_HEAD")
	if state := k.remoteState(); strings.Contains(state, "baseMoved") {
		t.Error(state)
	}
}

func TestPushRefusesWhatItMustNotPush(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		work func(k *kit, bare, dir string)
		want protocol.Code
	}{
		"the base": {func(k *kit, _, dir string) { run(k.T, dir, "checkout", "--quiet", "main") }, protocol.CodeConflict},
		"no branch": {
			func(k *kit, _, dir string) { run(k.T, dir, "checkout", "--quiet", "--detach") }, protocol.CodeNoBranch,
		},
		"no remote": {
			func(k *kit, _, _ string) { run(k.T, k.shop(), "remote", "remove", "origin") }, protocol.CodeNoRemote,
		},
		"a remote helper":    {setOrigin("ext::touch mark"), protocol.CodeNoRemote},
		"another protocol":   {setOrigin("git://127.0.0.1:9/shop.git"), protocol.CodeNoRemote},
		"an option":          {setOrigin("--upload-pack=touch"), protocol.CodeNoRemote},
		"a missing one":      {setOrigin("/no/such/repository.git"), protocol.CodeRemoteFailed},
		"a closed port":      {setOrigin("http://127.0.0.1:1/shop.git"), protocol.CodeRemoteFailed},
		"an ssh option":      {setOrigin("ssh://-oProxyCommand=touch/x"), protocol.CodeNoRemote},
		"an agent's own":     {func(k *kit, _, dir string) { setOrigin(dir)(k, "", "") }, protocol.CodeNoRemote},
		"a removed bare one": {func(k *kit, bare, _ string) { must(k.T, os.RemoveAll(bare)) }, protocol.CodeRemoteFailed},
	} {
		t.Run(name, func(t *testing.T) {
			k, bare, dir := withRemote(t)
			before := run(t, bare, "for-each-ref")
			c.work(&kit{t, k.Manager, k.log}, bare, dir)
			_, err := k.tryPush("")
			errorHint(t, err, c.want)
			if exists(bare) {
				equal(t, "at the remote", run(t, bare, "for-each-ref"), before)
			}
		})
	}
	k := open(t, nil)
	k.session("s1", "")
	_, err := k.Push(t.Context(), "s1", "", &protocol.PushRequest{}, nil)
	errorHint(t, err, protocol.CodeNoRemote)
}

func (k *kit) shop() string { return k.projects["shop"].Path }

func setOrigin(address string) func(k *kit, bare, dir string) {
	return func(k *kit, _, _ string) { run(k.T, k.shop(), "config", "remote.origin.url", address) }
}

func TestTheMessageOfAHookThatRejectsIsShownAndHarmless(t *testing.T) {
	t.Parallel()
	k, bare, _ := withRemote(t)
	hook := "#!/bin/sh\n" +
		"printf 'Ask \\033[31mAda\\033[0m first \\342\\200\\256 http://ada:hunter2@example.org/x\\n' >&2\n" +
		"exit 1\n"
	must(t, testenv.WriteProgram(filepath.Join(bare, "hooks", "pre-receive"), []byte(hook), 0o700)) //nolint:gosec // a program
	_, err := k.tryPush("")
	hint := errorHint(t, err, protocol.CodePushRejected)
	equal(t, "hint", hint, "Ask \uFFFD[31mAda\uFFFD[0m first \uFFFD http://example.org/x")
	if !strings.Contains(err.Error(), "pre-receive hook declined") || strings.Contains(err.Error(), "hunter2") {
		t.Error(err)
	}
}

func TestAgentsDoNotChooseWhereAPushGoes(t *testing.T) {
	t.Parallel()
	evil := newRepository(t)
	for name, settings := range map[string][]string{
		"other addresses": {
			"remote.origin.url=" + evil, "remote.origin.pushurl=" + evil, "branch.main.pushRemote=" + evil,
		},
		"rewritten":  {"url." + evil + ".insteadOf=/", "url." + evil + ".pushInsteadOf=/"},
		"other refs": {"remote.origin.push=refs/heads/*:refs/heads/evil/*", "push.default=matching"},
		"tags":       {"push.followTags=true", "remote.origin.tagOpt=--tags"},
		"forced":     {"remote.origin.mirror=true", "remote.origin.push=+HEAD:main"},
	} {
		t.Run(name, func(t *testing.T) {
			k, bare, dir := withRemote(t)
			tip, branch := run(t, dir, "rev-parse", "HEAD"), run(t, dir, "symbolic-ref", "--short", "HEAD")
			run(t, dir, "tag", "-a", "-m", "x", "v1")
			before := run(t, bare, "for-each-ref")
			for _, setting := range settings {
				key, value, _ := strings.Cut(setting, "=")
				run(t, dir, "config", key, value)
			}
			must1(t)(k.tryPush(""))
			run(t, bare, "update-ref", "-d", "refs/heads/"+branch, tip)
			equal(t, "at the remote", run(t, bare, "for-each-ref"), before)
			equal(t, "elsewhere", run(t, evil, "for-each-ref", "--format=%(refname)"), "refs/heads/main")
		})
	}
}

// gitServer serves a bare repository by git's own program, to one user.
func gitServer(t *testing.T, bare, user, password string) *httptest.Server {
	t.Helper()
	path, err := exec.LookPath("git")
	must(t, err)
	run(t, bare, "config", "http.receivepack", "true")
	backend := backendOf(path, filepath.Dir(bare))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if u, p, ok := r.BasicAuth(); !ok || u != user || p != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			http.Error(w, "not you: "+password, http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server
}

func TestThePasswordOfARemoteIsShownNowhere(t *testing.T) {
	t.Parallel()
	k, bare, dir := withRemote(t)
	server := gitServer(t, bare, "ada", "hunter%2")
	address := strings.Replace(server.URL, "://", "://ada:hunter%252@", 1) + "/origin.git"
	setOrigin(address)(k, "", "")
	argv := filepath.Join(t.TempDir(), "argv")
	k.git.program = recorded(t, k.git.program, argv)
	done, err := k.tryPush("")
	must(t, err)
	equal(t, "remote", done.Remote, server.URL+"/origin.git")
	equal(t, "pushed", run(t, bare, "rev-parse", done.Branch), run(t, dir, "rev-parse", "HEAD"))

	setOrigin(strings.Replace(address, "ada", "eve", 1))(k, "", "")
	_, err = k.tryPush("")
	hint := errorHint(t, err, protocol.CodeRemoteFailed)
	if !strings.Contains(err.Error(), "refused the credentials") || !strings.Contains(hint, "forges:") {
		t.Errorf("%v: %s", err, hint)
	}
	record, readErr := os.ReadFile(k.recordPath(uuid))
	must(t, readErr)
	for place, text := range map[string]string{
		"error": err.Error(), "hint": hint, "state": k.remoteState(), "log": k.log.String(), "record": string(record),
		"workspace": run(t, dir, "config", "--list"), "command line": string(mustRead(t, argv)),
	} {
		if strings.Contains(text, "hunter") {
			t.Errorf("the password is in the %s: %s", place, text)
		}
	}
}

// recorded returns a program that runs git and leaves its arguments in a file.
func recorded(t *testing.T, git, file string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "git")
	script := "#!/bin/sh\necho \"$*\" >> '" + file + "'\nexec '" + git + "' \"$@\"\n"
	must(t, testenv.WriteProgram(path, []byte(script), 0o700)) //nolint:gosec // a program
	return path
}

func TestAPasswordDoesNotFollowARedirect(t *testing.T) {
	t.Parallel()
	k, bare, _ := withRemote(t)
	before := run(t, bare, "for-each-ref")
	asked := make(chan string, 100)
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.RequestURI }))
	defer other.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+r.RequestURI, http.StatusFound)
	}))
	defer server.Close()
	setOrigin(strings.Replace(server.URL, "://", "://ada:hunter2@", 1)+"/origin.git")(k, "", "")
	_, err := k.tryPush("")
	errorHint(t, err, protocol.CodeRemoteFailed)
	if len(asked) > 0 {
		t.Errorf("followed to %s", <-asked)
	}
	equal(t, "at the remote", run(t, bare, "for-each-ref"), before)
}

// hangs gives a project a remote that accepts connections and never answers, and returns the error of an act whose time
// ends while it waits for the remote. On a busy machine a short time ends before that, so it is repeated with more.
func hangs(t *testing.T, k *kit, act func() error) error {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer listener.Close()
	setOrigin("http://"+listener.Addr().String()+"/shop.git")(k, "", "")
	for k.pushTimeout = 300 * time.Millisecond; k.pushTimeout < pushTimeout; k.pushTimeout *= 3 {
		err = act()
		must(t, listener.(*net.TCPListener).SetDeadline(time.Now().Add(100*time.Millisecond))) // a connection waits already
		if connection, none := listener.Accept(); none == nil {
			must(t, connection.Close())
			return err
		}
	}
	t.Fatal("the remote was never asked: ", err)
	return nil
}

func TestARemoteThatHangsEndsAPush(t *testing.T) {
	t.Parallel()
	k, _, dir := withRemote(t)
	err := hangs(t, k, func() error { _, err := k.tryPush(""); return err })
	errorHint(t, err, protocol.CodeRemoteFailed)
	if !strings.Contains(err.Error(), "did not answer in time") {
		t.Error(err)
	}
	k.pushTimeout = pushTimeout
	write(t, dir, "later.txt", "later\n")
	k.commit(uuid, "shop", "The workspace is free again")
}

func TestPushedCommitsAreNoUnfinishedWork(t *testing.T) {
	t.Parallel()
	k, _, dir := withRemote(t)
	info, err := k.Info(t.Context(), dir)
	must(t, err)
	equal(t, "before", fmt.Sprint(info.Unpushed), "1")
	must1(t)(k.tryPush(""))
	info, err = k.Info(t.Context(), dir)
	must(t, err)
	equal(t, "after", fmt.Sprint(info.Unpushed), "0")
}

func TestARelativeRemoteIsBelowTheProject(t *testing.T) {
	t.Parallel()
	k, bare, dir := withRemote(t)
	relative, err := filepath.Rel(k.shop(), bare)
	must(t, err)
	setOrigin(relative)(k, "", "")
	done, err := k.tryPush("")
	must(t, err)
	equal(t, "pushed", run(t, bare, "rev-parse", done.Branch), run(t, dir, "rev-parse", "HEAD"))
}
