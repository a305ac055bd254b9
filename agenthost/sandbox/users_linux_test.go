package sandbox

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"bellhop/internal/owner"
	"bellhop/protocol"
)

// newUserMachine returns a machine whose programs run under another user id. Everything that a user without
// a file system of its own needs can be reached by all.
func newUserMachine(t *testing.T, options Options) *machine {
	t.Helper()
	dir, binary := newSharedDirectory(t)
	options.Self = binary
	if options.Users == nil {
		options.Users = &Users{}
	}
	m := newMachineIn(t, dir, options)
	if m.sandbox.Users() == nil {
		t.Fatal(m.sandbox.Level().Summary())
	}
	m.program = binary
	m.session.User = &owner.ID{UID: m.sandbox.Users().Last, GID: m.sandbox.Users().GID}
	for _, path := range []string{m.Workspace, m.Home} {
		must(t, owner.Give(path, *m.session.User))
	}
	return m
}

// newSharedDirectory returns a directory that every user can enter, and the tests' binary in it.
func newSharedDirectory(t *testing.T) (dir, binary string) {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "bellhop-")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755)) //nolint:gosec // as it says
	binary = filepath.Join(dir, "program")
	copyProgram(t, os.Args[0], binary)
	return dir, binary
}

// bothViews runs a test with namespaces and without.
func bothViews(t *testing.T, test func(t *testing.T, options Options)) {
	t.Helper()
	for name, options := range map[string]Options{"namespaces": {}, "Landlock alone": {NoNamespaces: true}} {
		t.Run(name, func(t *testing.T) { test(t, options) })
	}
}

func TestProgramsRunAsTheirSessionsUser(t *testing.T) {
	t.Parallel()
	bothViews(t, func(t *testing.T, options Options) {
		m := newUserMachine(t, options)
		out, err := m.run("sh", "-e", "-c", `id -u; id -g; id -G; echo x >f; mkdir d; git init -q d; echo y >"$HOME/g"
			mktemp >/dev/null; ln f h; test -r /proc/self/environ; sleep 0 & wait $!; stat -c %u f`)
		id := *m.session.User
		want := fmt.Sprintf("%d\n%d\n%d\n%d\n", id.UID, id.GID, id.GID, id.UID)
		if err != nil || out != want {
			t.Errorf("%q, %v, want %q", out, err, want)
		}
		if at, err := owner.OfPath(m.Workspace + "/f"); at != id || err != nil {
			t.Errorf("the file belongs to %v, %v", at, err)
		}
	})
}

func TestTheUserIsPartOfTheLevel(t *testing.T) {
	t.Parallel()
	bothViews(t, func(t *testing.T, options Options) {
		options.Users, options.NeedsUsers = &Users{First: 250_001, Last: 250_009, GID: 250_001}, true
		level := newUserMachine(t, options).sandbox.Level()
		if level.User != "250001-250009" || level.NoUser != "" || !level.IsEnough() ||
			!strings.Contains(level.Summary(), "as user 250001-250009") {
			t.Errorf("%+v", level)
		}
	})
}

// A login and a configuration of root are shown to the program as its own, and stay root's.
func TestFilesOfRootAreShownAsTheProgramsOwn(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("/var/tmp", "bellhop-")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	must(t, os.MkdirAll(filepath.Join(dir, "project", ".git"), 0o700))
	for _, name := range []string{"login", "config", "project/file"} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600))
	}
	path := func(name string) string { return filepath.Join(dir, name) }
	m := newUserMachine(t, Options{
		Others: []string{path("config")}, OthersWrite: []string{path("login"), path("project")},
	})
	m.session.Write, m.session.Read = []string{path("login"), path("project")}, []string{path("config")}
	for script, want := range map[string]bool{
		"cat " + path("config"): true, "echo y >" + path("login"): true, "echo y >" + path("config"): false,
		"echo y >" + path("project/file") + " && echo z >" + path("project/new"):            true,
		"test $(stat -c %u " + path("project") + ") = $(id -u) && test -O " + path("login"): true,
	} {
		if out, err := m.run("sh", "-c", script); (err == nil) != want {
			t.Errorf("%s: %s, %v", script, out, err)
		}
	}
	for _, name := range []string{"login", "project/file", "project/new"} {
		if at, err := owner.OfPath(path(name)); at != owner.Self() || err != nil {
			t.Errorf("%s belongs to %v, %v", name, at, err)
		}
	}
}

// The host's agents stay usable where other users cannot run them, and the level describes what to do.
func TestTheLevelNamesTheReasonForTheHostsUser(t *testing.T) {
	t.Parallel()
	private := t.TempDir() // its parent is for this user alone
	file := filepath.Join(private, "file")
	must(t, os.WriteFile(file, nil, 0o600))
	launcher := filepath.Join(private, "launcher")
	copyProgram(t, os.Args[0], launcher)
	for name, c := range map[string]struct {
		options Options
		want    string
	}{
		"a launcher in a home of root's": {Options{NoNamespaces: true, Self: launcher}, "permission denied"},
		"a path that is root's": {
			Options{NoNamespaces: true, Read: []string{file}}, "cannot enter " + filepath.Dir(private),
		},
		"a data directory below a home": {
			Options{NoNamespaces: true, Data: filepath.Join(private, "data")}, "cannot enter ",
		},
		"a file system without owners": {Options{OthersWrite: []string{"/sys/kernel"}}, "its file system cannot show it"},
		"ids that a container lacks": {
			Options{Users: &Users{First: 1 << 33, Last: 1<<33 + 5, GID: 1}}, "does not have the user ids",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, err := os.MkdirTemp("/var/tmp", "bellhop-")
			must(t, err)
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			must(t, os.Chmod(dir, 0o755)) //nolint:gosec // as above
			binary := filepath.Join(dir, "program")
			copyProgram(t, os.Args[0], binary)
			o := c.options
			if o.Users == nil {
				o.Users = &Users{}
			}
			if o.Self == "" {
				o.Self = binary
			}
			if o.Data == "" {
				o.Data = filepath.Join(dir, "data")
			}
			must(t, os.MkdirAll(o.Data, 0o700))
			s, err := Open(t.Context(), o)
			must(t, err)
			level := s.Level()
			if s.Users() != nil || level.User != "" || !strings.Contains(level.NoUser, c.want) || !level.IsEnough() ||
				!strings.Contains(level.Summary(), "as the host's user (") {
				t.Errorf("%s", level.Summary())
			}
			o.NeedsUsers = true
			if _, err := Open(t.Context(), o); protocol.CodeOf(err) != protocol.CodeUnavailable ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("required: %v", err)
			}
		})
	}
}

// A host without root runs programs with its own id, and reports that.
func TestAHostWithoutRootReportsItsOwnUser(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("/var/tmp", "bellhop-")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	binary := filepath.Join(dir, "program")
	copyProgram(t, os.Args[0], binary)
	must(t, os.Chown(dir, 65534, 65534))
	cmd := exec.CommandContext(t.Context(), binary, "level", dir)
	cmd.Env = []string{"HOME=" + dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "as the host's user (the host runs as user 65534 and not as root)") {
		t.Errorf("%s, %v", out, err)
	}
}

// printLevel measures as a host with this data directory does.
func printLevel(data string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	s, err := Open(context.Background(), Options{Self: self, Data: data, Users: &Users{}})
	if err != nil {
		return err
	}
	fmt.Println(s.Level().Summary())
	return nil
}

func TestParseUsers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Users{
		"auto": {}, "": {}, "1234": {First: 1234, Last: 1234, GID: 1234},
		"300000-300010": {First: 300000, Last: 300010, GID: 300000},
		"daemon":        {First: 1, Last: 1, GID: 1, Name: "daemon"},
	} {
		if got, err := ParseUsers(text); err != nil || *got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	if got, err := ParseUsers("host"); got != nil || err != nil {
		t.Errorf("host: %v, %v", got, err)
	}
	for _, text := range []string{
		"0", "root", "no-such-user", "5-1", "0-9", "1-", "1-x", "-1", "4294967295", "99999999999",
	} {
		if got, err := ParseUsers(text); protocol.CodeOf(err) != protocol.CodeInvalid {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}
