package app

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"bellhop/agenthost/sandbox"
	"bellhop/agenthost/workspace"
	"bellhop/internal/app/agents"
	"bellhop/internal/owner"
	"bellhop/protocol"
)

func ownerOf(t *testing.T, path string) owner.ID {
	t.Helper()
	id, err := owner.OfPath(path)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func writeAs(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// What the host made belongs to root. A session's programs get it at its first start.
func TestASessionsProgramsHaveAUserOfTheirOwn(t *testing.T) {
	t.Parallel()
	h := newConfinedHost(t, nil)
	users := h.Users()
	if users == nil {
		t.Fatal(h.Level().Summary())
	}
	secret, login := filepath.Join(h.data, "journal.db"), filepath.Join(h.stateDir, ".login")
	writeAs(t, secret)
	writeAs(t, login)
	if err := os.Symlink(secret, filepath.Join(h.workspace, "link")); err != nil {
		t.Fatal(err)
	}
	if !h.shell("", `test $(id -u) != 0 && echo y >"$HOME/.login" && test -O "$HOME" && test -O . && test -O .git/config
		echo x >f && git add f && git -c user.name=A -c user.email=a@b commit -qm f && git log main --oneline`) {
		t.Error("it cannot work")
	}
	id := ownerOf(t, h.stateDir)
	for _, path := range []string{
		login, h.workspace, filepath.Join(h.workspace, ".git", "config"), filepath.Join(h.workspace, "f"),
	} {
		if got := ownerOf(t, path); got != id || !users.Has(got) {
			t.Errorf("%s belongs to %v, and the session to %v", path, got, id)
		}
	}
	if got := ownerOf(t, secret); got != owner.Self() {
		t.Errorf("a link was followed: %v", got)
	}
	if !h.shell("", "test $(id -u) = "+strconv.Itoa(id.UID)) || ownerOf(t, h.stateDir) != id {
		t.Error("the second start has another user")
	}
	h.openSession("s2")
	if !h.shell("", "test $(id -u) != "+strconv.Itoa(id.UID)) {
		t.Error("another session has the same user")
	}
}

// openSession makes the session the one whose programs the test starts.
func (h *confinedHost) openSession(session string) {
	h.t.Helper()
	var err error
	if h.workspace, h.stateDir, err = h.workspaces.Dir(h.t.Context(), session, "shop"); err != nil {
		h.t.Fatal(err)
	}
	h.session = session
}

// A project that is used in place, and a login, stay root's.
func TestFilesOutsideOfTheDataKeepTheirOwner(t *testing.T) {
	t.Parallel()
	login := filepath.Join(directory(t), "auth.json")
	writeAs(t, login)
	h := newConfinedHost(t, func(c *HostConfig) {
		no := false
		project := c.File.Projects["shop"]
		project.Worktree = &no
		c.File.Projects["shop"] = project
		c.File.Agents["one"] = agents.Entry{Login: login}
	})
	if h.workspace != h.shop || h.Users() == nil {
		t.Fatalf("%s, %s", h.workspace, h.Level().Summary())
	}
	if !h.shell("one", `test $(id -u) != 0 && echo y >`+login+` && test -O "$HOME"
		echo x >f && git add f && git -c user.name=A -c user.email=a@b commit -qm f`) {
		t.Error("it cannot work")
	}
	for _, path := range []string{login, h.shop, filepath.Join(h.shop, "f"), filepath.Join(h.shop, ".git", "HEAD")} {
		if got := ownerOf(t, path); got != owner.Self() {
			t.Errorf("%s belongs to %v", path, got)
		}
	}
}

func TestWithoutNamespacesProgramsReachTheirSessionAlone(t *testing.T) {
	t.Parallel()
	openLauncher(t)
	h := newConfinedHost(t, func(c *HostConfig) {
		off := false
		c.File.Sandbox.Namespaces, c.AgentsDir = &off, filepath.Join(filepath.Dir(c.Data), "agents")
		openTo(t, filepath.Dir(c.Data))
	})
	if h.Users() == nil {
		t.Fatal(h.Level().Summary())
	}
	if !h.shell("", `test $(id -u) != 0 && echo x >f && git add f && git -c user.name=A -c user.email=a@b commit -qm f`) {
		t.Error("it cannot work")
	}
	if h.shell("", `ls "$DATA"`) || h.shell("", `ls "$DATA/workspaces"`) {
		t.Error("the data can be listed")
	}
	for _, name := range []string{"", "state", "workspaces"} {
		info, err := os.Stat(filepath.Join(h.data, name))
		if err != nil || info.Mode().Perm() != 0o710 || owner.Of(info) != (owner.ID{UID: 0, GID: h.Users().GID}) {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

func openTo(t *testing.T, dir string) {
	t.Helper()
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // other users must be able to enter it
		t.Fatal(err)
	}
}

// openLauncher lets other users run the tests' binary, which go test puts into a directory of its user.
func openLauncher(t *testing.T) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for dir := filepath.Dir(self); dir != os.TempDir() && strings.HasPrefix(dir, os.TempDir()); dir = filepath.Dir(dir) {
		openTo(t, dir)
	}
}

func TestTheFileNamesAUser(t *testing.T) {
	t.Parallel()
	h := newConfinedHost(t, func(c *HostConfig) {
		c.File.Sandbox.User = "daemon"
		openTo(t, filepath.Dir(c.Data))
	})
	if !h.shell("", "test $(id -un) = daemon") || h.Level().User != "daemon" {
		t.Error(h.Level().Summary())
	}
	h = newConfinedHost(t, func(c *HostConfig) { c.File.Sandbox.User = sandbox.UsersHost })
	if !h.shell("", "test $(id -u) = 0") || h.Level().User != "" || h.Level().NoUser != "" {
		t.Error(h.Level().Summary())
	}
	for name, c := range map[string]struct{ content, want string }{
		"an unknown user":   {"sandbox: {user: no-such-user}", `no user "no-such-user"`},
		"root":              {"sandbox: {user: root}", `no user "root"`},
		"a range with root": {"sandbox: {user: 0-9}", `no user "0-9"`},
		"no sandbox":        {"sandbox: {mode: off, user: daemon}", "needs the sandbox"},
	} {
		if _, err := readHostFile(t, c.content); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if file, err := readHostFile(t, "sandbox: {user: 1234}"); err != nil || file.Sandbox.User != "1234" {
		t.Errorf("a number: %+v, %v", file.Sandbox, err)
	}
}

func TestUserIDsAreGivenOnceUntilNoneIsLeft(t *testing.T) {
	t.Parallel()
	manager, err := workspace.New(workspace.Options{Data: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = manager.Close() })
	users := &sandbox.Users{First: 300_000, Last: 300_002, GID: 300_000}
	open := func(session string) (*owner.ID, error) {
		dir, _, err := manager.Dir(t.Context(), session, "")
		if err != nil {
			t.Fatal(err)
		}
		// A new one each time, as after a restart of the host.
		return (&sessionUsers{workspaces: manager, users: users}).open(session, dir)
	}
	for i, session := range []string{"one", "two", "one"} {
		id, err := open(session)
		if want := []int{300_001, 300_002, 300_001}[i]; err != nil || id.UID != want {
			t.Errorf("%s: %v, %v", session, id, err)
		}
	}
	if _, err := open("three"); protocol.CodeOf(err) != protocol.CodeUnavailable {
		t.Errorf("the third of two: %v", err)
	}
	if kept, err := manager.Remove(t.Context(), "one", ""); kept.Exist() || err != nil {
		t.Fatal(kept, err)
	}
	if id, err := open("three"); err != nil || id.UID != 300_001 {
		t.Errorf("after one was deleted: %v, %v", id, err)
	}
}

// A workspace that was created by name belongs to the session that works in it.
func TestTheUserOfAWorkspaceIsThatOfItsSession(t *testing.T) {
	t.Parallel()
	h := newConfinedHost(t, nil)
	info, err := h.workspaces.Create(t.Context(), "shop", "room", "owner")
	if err != nil {
		t.Fatal(err)
	}
	if !h.shellIn("", info.Path, "test -O . && echo x >of-s1") {
		t.Error("its creator cannot work there")
	}
	if _, err := h.workspaces.Use(t.Context(), "s2", "room", "owner", func(string) bool { return true }); err != nil {
		t.Fatal(err)
	}
	h.openSession("s2")
	if !h.shell("", "test -O . && test -O of-s1") {
		t.Error("the next session cannot work there")
	}
	h.session = "s1"
	if _, err := h.start("", info.Path, "true", io.Discard); protocol.CodeOf(err) != protocol.CodeConflict {
		t.Errorf("the creator, while another session works there: %v", err)
	}
	if out, err := exec.Command("stat", "-c", "%u", info.Path).Output(); err != nil ||
		strings.TrimSpace(string(out)) != fmt.Sprint(ownerOf(t, h.stateDir).UID) {
		t.Errorf("%s, %v", out, err)
	}
}
