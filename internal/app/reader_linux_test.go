package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bellhop/agenthost/sandbox"
	"bellhop/internal/owner"
	"bellhop/internal/process"
	"bellhop/internal/testenv"
	"bellhop/protocol"
)

// readerHosts are hosts on which agents have their own user ids, or the host's, and hosts without a sandbox.
var readerHosts = map[string]func(c *HostConfig){
	"user ids of sessions": nil,
	"the host's user id":   func(c *HostConfig) { c.File.Sandbox.User = sandbox.UsersHost },
	"no sandbox":           func(c *HostConfig) { c.NoSandbox = true },
}

const outsideSecret = "SECRET-5d1f"

// TestRacedDiffsCommitsAndDiscardsStayInside takes diffs and commits, and discards changes, while a program exchanges
// directories, files and lists of ignored files for links to what only the host can read and write, and for FIFOs.
func TestRacedDiffsCommitsAndDiscardsStayInside(t *testing.T) {
	t.Parallel()
	rounds := testenv.Rounds(t)
	for name, change := range readerHosts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newConfinedHost(t, change)
			outside := directory(t)
			if !h.shell("", "mkdir -p d e; for i in $(seq 100); do echo inside >d/f$i; done; echo f >f; echo g >g; echo x >.gitignore; "+
				"ln -s "+outside+" l; ln -s "+outside+"/f1 k; ln -s "+outside+"/f2 m; ln -s "+outside+"/f3 i; mkfifo p; "+
				"git add d f .gitignore; git -c user.name=A -c user.email=a@b commit -qm start") {
				t.Fatal("the agent cannot work")
			}
			for i := range 100 {
				if err := os.WriteFile(filepath.Join(outside, fmt.Sprint("f", i+1)), []byte(outsideSecret+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			exchange(t, h.workspace, [][2]string{{"d", "l"}, {"f", "k"}, {"g", "m"}, {".gitignore", "i"}, {"f", "p"}})
			inside, err := os.OpenRoot(h.workspace)
			if err != nil {
				t.Fatal(err)
			}
			defer inside.Close()
			defer func() {
				for i := range 100 {
					content, err := os.ReadFile(filepath.Join(outside, fmt.Sprint("f", i+1)))
					if err != nil || string(content) != outsideSecret+"\n" {
						t.Errorf("outside, f%d is %q, %v", i+1, content, err)
					}
				}
				if entries, err := os.ReadDir(outside); err != nil || len(entries) != 100 {
					t.Errorf("outside are %d files, %v", len(entries), err)
				}
			}()
			for i := range rounds {
				diff, err := h.workspaces.Diff(t.Context(), "s1", "shop")
				if err != nil {
					t.Fatalf("diff %d: %v", i, err)
				}
				if strings.Contains(diff.Patch, outsideSecret) {
					t.Fatalf("diff %d has the secret", i)
				}
				h.showFiles(i)
				if i%5 != 0 {
					_, err := h.workspaces.Discard(t.Context(), "s1", "shop", &protocol.DiscardRequest{
						Paths: []string{"d/f1", "d/f2", "f", "g", ".gitignore"}, Snapshot: diff.Snapshot,
					})
					if err != nil && protocol.CodeOf(err) != protocol.CodeConflict {
						t.Fatalf("discard %d: %v", i, err)
					}
					for _, name := range []string{"d/f1", "d/f2", "f"} { // for the next discard, if the names are there now
						if file, err := inside.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE|unix.O_NONBLOCK, 0o666); err == nil {
							_, _ = file.WriteString("more\n")
							_ = file.Close()
						}
					}
					continue
				}
				done, err := h.workspaces.Commit(t.Context(), "s1", "shop", &protocol.CommitRequest{
					Message: fmt.Sprint("round ", i), Author: protocol.CommitAuthor{Name: "A", Email: "a@b"},
					Snapshot: diff.Snapshot, Head: diff.Head,
				})
				if err != nil {
					if code := protocol.CodeOf(err); code != protocol.CodeConflict && code != protocol.CodeNothingToCommit {
						t.Fatalf("commit %d: %v", i, err)
					}
					continue
				}
				out, err := exec.CommandContext(t.Context(), "git", "-c", "safe.directory=*", "-C", h.shop, "grep", outsideSecret, done.Commit).Output()
				if err == nil || len(out) > 0 {
					t.Fatalf("commit %d has the secret: %s", i, out)
				}
			}
		})
	}
}

// showFiles lists directories, reads files, searches and fetches. Nothing of it may be of outside, or an error of the host.
func (h *confinedHost) showFiles(round int) {
	h.t.Helper()
	plain := func(_, piece string, _ bool) (string, int) { return piece, len(piece) }
	list, errList := h.workspaces.Directory(h.t.Context(), "s1", "shop", []string{"", "d", "l"}[round%3], "")
	inside, errInside := h.workspaces.File(h.t.Context(), "s1", "shop", "d/f1", 0, plain)
	file, errFile := h.workspaces.File(h.t.Context(), "s1", "shop", "f", 0, plain)
	found, errFound := h.workspaces.Search(h.t.Context(), "s1", "shop", protocol.FileSearch{Query: outsideSecret},
		func(text string) string { return text })
	for _, answer := range []any{list, inside, file, found} {
		if strings.Contains(fmt.Sprintf("%+v", answer), outsideSecret) {
			h.t.Errorf("round %d shows the secret: %+v", round, answer)
		}
	}
	for _, err := range []error{errList, errInside, errFile, errFound, h.workspaces.Fetch(h.t.Context(), "s1", "shop")} {
		if code := protocol.CodeOf(err); err != nil && code != protocol.CodeConflict && code != protocol.CodeGone {
			h.t.Errorf("round %d: %v", round, err)
		}
	}
}

// exchange exchanges pairs of names in a directory until the test ends. Each exchange is undone by the next one.
func exchange(t *testing.T, dir string, pairs [][2]string) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i := 0; ctx.Err() == nil; i++ {
			pair := pairs[i/2%len(pairs)]
			_ = unix.Renameat2(unix.AT_FDCWD, filepath.Join(dir, pair[0]), unix.AT_FDCWD, filepath.Join(dir, pair[1]), unix.RENAME_EXCHANGE)
		}
	}()
	t.Cleanup(func() { stop(); <-ended })
}

// A writer can change the workspace, with the user id to which that belongs, and nothing else of the host.
func TestAWriterHasTheRightsOfTheSession(t *testing.T) {
	t.Parallel()
	h := newConfinedHost(t, nil)
	if !h.shell("", "echo x >x") {
		t.Fatal("the agent cannot work")
	}
	for script, want := range map[string]bool{
		"echo y >" + h.workspace + "/y; mv " + h.workspace + "/y " + h.workspace + "/x; chmod 700 " + h.workspace + "/x": true,
		"ls " + h.data + "/workspaces/.records": false,
		"echo x >>" + h.shop + "/README":        false,
		"echo x >" + h.data + "/workspaces/x":   false,
		"ls " + h.stateDir + "/.tmp":            false,
	} {
		c, err := h.confineReader("s1", h.workspace, true, process.Command{Args: []string{"/bin/sh", "-e", "-c", script}, Dir: "/"})
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), c.Args[0], c.Args[1:]...)
		cmd.Dir, cmd.Env = c.Dir, []string{"PATH=/usr/bin:/bin"}
		out, err := cmd.CombinedOutput()
		if got := err == nil; got != want {
			t.Errorf("%s: %v %s", script, err, out)
		}
	}
	at, err := owner.OfPath(filepath.Join(h.workspace, "x"))
	if of, wsErr := owner.OfPath(h.workspace); err != nil || wsErr != nil || at != of || at == owner.Self() {
		t.Errorf("the file belongs to %v, %v", at, err)
	}
}

// A reader sees the workspace, with the user id to which that belongs, and nothing else of the host.
func TestAReaderHasTheRightsOfTheSession(t *testing.T) {
	t.Parallel()
	h := newConfinedHost(t, nil)
	read := func(script string) bool {
		c, err := h.confineReader("s1", h.workspace, false, process.Command{Args: []string{"/bin/sh", "-e", "-c", script}, Dir: "/"})
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), c.Args[0], c.Args[1:]...)
		cmd.Dir, cmd.Env = c.Dir, []string{"PATH=/usr/bin:/bin"}
		out, err := cmd.CombinedOutput()
		t.Logf("%s: %v %s", script, err, out)
		return err == nil
	}
	if !read("test $(id -u) = 0; ls " + h.workspace + "/.git") {
		t.Error("it cannot read a workspace in which no program has worked")
	}
	if !h.shell("", "echo x >x; chmod 600 x") {
		t.Fatal("the agent cannot work")
	}
	id, err := owner.OfPath(h.workspace)
	if err != nil || id == owner.Self() {
		t.Fatalf("%v, %v", id, err)
	}
	for script, want := range map[string]bool{
		fmt.Sprintf("test $(id -u) = %d; cat %s/x", id.UID, h.workspace): true,
		"echo y >" + h.workspace + "/x":                                  false,
		"chmod 644 " + h.workspace + "/x":                                false,
		"ls " + h.data + "/workspaces/.records":                          false,
		"ls " + h.shop + "/.git":                                         false,
		"ls " + h.stateDir + "/.tmp":                                     false,
	} {
		if got := read(script); got != want {
			t.Errorf("%s: %v", script, got)
		}
	}
	diff, err := h.workspaces.Diff(t.Context(), "s1", "shop")
	if err != nil || len(diff.Files) != 1 || diff.Files[0].Path != "x" {
		t.Errorf("%+v, %v", diff, err)
	}
}

// A project can belong to another user, who closes files of its repository to the users of sessions.
func TestAProjectOfAnotherUserIsReadAsItsOwner(t *testing.T) {
	t.Parallel()
	h := newConfinedHost(t, nil)
	exclude := filepath.Join(h.shop, ".git", "info", "exclude")
	if err := errors.Join(os.WriteFile(exclude, []byte("secret/\n"), 0o600), os.Chmod(exclude, 0o600)); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "chown", "-R", "54321:54321", h.shop).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	dir, _, err := h.workspaces.Dir(t.Context(), "s2", "shop")
	if err != nil {
		t.Fatal(err)
	}
	if content, err := os.ReadFile(filepath.Join(dir, ".git", "info", "exclude")); err != nil || string(content) != "secret/\n" {
		t.Errorf("%q, %v", content, err)
	}
}

// What an agent has made is removed with its rights, whatever the modes are. A person who is root may have made files, too.
func TestASessionIsRemovedWithTheRightsOfTheSession(t *testing.T) {
	t.Parallel()
	for name, change := range readerHosts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newConfinedHost(t, change)
			outside := directory(t)
			if err := os.WriteFile(filepath.Join(outside, "s"), []byte(outsideSecret), 0o644); err != nil { //nolint:gosec // the case
				t.Fatal(err)
			}
			const script = "mkdir -p a/b/c; touch a/b/c/f; ln -s %s l; ln -s %[1]s/s a/k; mkfifo p; chmod 500 a; chmod 0 a/b; " +
				"for i in 1 2 3; do d=deep; for j in $(seq 150); do d=$d/dddd; done; mkdir -p $d; cd $d; done; touch last"
			if !h.shell("", fmt.Sprintf(script, outside)) || !h.shell("", fmt.Sprintf("cd "+h.stateDir+"; "+script, outside)) {
				t.Fatal("the agent cannot work")
			}
			for _, dir := range []string{h.workspace, h.stateDir} {
				if err := os.MkdirAll(filepath.Join(dir, "roots", "d"), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if size, err := h.workspaces.DiskUse(t.Context()); err != nil || size == 0 {
				t.Errorf("%d bytes, %v", size, err)
			}
			if err := h.workspaces.Delete(t.Context(), h.workspace, true); err != nil {
				t.Error(err)
			}
			if _, err := h.workspaces.Remove(t.Context(), "s1", "shop"); err != nil {
				t.Error(err)
			}
			for _, dir := range []string{h.workspace, h.stateDir} {
				if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("%s stays: %v", dir, err)
				}
			}
			if content, err := os.ReadFile(filepath.Join(outside, "s")); err != nil || string(content) != outsideSecret {
				t.Errorf("outside is %q, %v", content, err)
			}
		})
	}
}

// The directory for temporary files is in the session's home. While a program of the session exchanges it for a link, no
// other program gets what the link leads to.
func TestTheDirectoryOfTemporaryFilesLeadsNowhere(t *testing.T) {
	t.Parallel()
	h := newConfinedHost(t, func(c *HostConfig) { c.File.Sandbox.User = sandbox.UsersHost })
	if !h.shell("", "true") {
		t.Fatal("the agent cannot work")
	}
	outside := directory(t)
	if err := errors.Join(
		os.WriteFile(filepath.Join(outside, "s"), []byte(outsideSecret), 0o600), os.Symlink(outside, filepath.Join(h.stateDir, "l")),
	); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		exchange(t, h.stateDir, [][2]string{{".tmp", "l"}})
	}
	for i := range testenv.Rounds(t) {
		if h.shell("", "test -e /tmp/s") {
			t.Fatalf("program %d has a directory of outside as /tmp", i)
		}
	}
}
