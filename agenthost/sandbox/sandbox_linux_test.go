package sandbox

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"bellhop/agenthost/sandbox/launch"
	"bellhop/internal/process"
	"bellhop/internal/testenv"
	"bellhop/protocol"
)

var update = flag.Bool("update", false, "write the matrix of docs/security.md")

// modes are what the tests' binary does with such a first argument. The init function of
// the package makes it the launcher, too.
var modes = map[string]func(argument string) error{
	"hostile": runHostile, "talk": talk, "echo": echo, "pair": pair,
	"level": printLevel,
}

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && modes[os.Args[1]] != nil {
		if err := modes[os.Args[1]](os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			launch.ExitNow(1)
		}
		launch.ExitNow(0)
	}
	goleak.VerifyTestMain(m)
}

// machine is a computer with a host, two sessions and another user, as a program in
// the sandbox sees it.
type machine struct {
	*testing.T
	target
	sandbox *Sandbox
	session Session             // beside its directories
	program string              // the hostile one
	user    *syscall.Credential // who runs the hostile program; nil = the test's user
}

func newMachine(t *testing.T, options Options) *machine {
	t.Helper()
	options.Self = os.Args[0]
	return newMachineIn(t, t.TempDir(), options)
}

func newMachineIn(t *testing.T, dir string, options Options) *machine {
	t.Helper()
	return newMachineOf(t, dir, options, nil)
}

// newOrdinaryMachine returns a machine whose host is an ordinary user. Its programs have the same user.
func newOrdinaryMachine(t *testing.T, options Options) *machine {
	t.Helper()
	dir, binary := newSharedDirectory(t)
	options.Self = binary
	m := newMachineOf(t, dir, options, &syscall.Credential{Uid: 65534, Gid: 65534})
	m.addOtherGroup() // of a host that is root, beside this one
	m.program, m.sandbox.groups = binary, nil
	tmp := filepath.Join(m.Home, temporary)
	must(t, os.Mkdir(tmp, 0o700))
	must(t, os.Chown(tmp, m.HostUser, m.HostUser))
	return m
}

// newMachineOf returns a machine whose host has a user; nil = the test's.
func newMachineOf(t *testing.T, dir string, options Options, user *syscall.Credential) *machine {
	t.Helper()
	m := &machine{T: t, user: user, target: target{
		Host: filepath.Join(dir, "host"), Other: filepath.Join(dir, "workspaces", "other"),
		Workspace: filepath.Join(dir, "workspaces", "own"), OtherHome: filepath.Join(dir, "state", "other"),
		Home: filepath.Join(dir, "state", "own"), User: filepath.Join(dir, "home", "ada"),
	}}
	for path, content := range map[string]string{
		m.Host + "/journal.db": "journal", m.Host + "/keyset": "keys", m.Host + "/removable": "",
		m.Other + "/secret": "secret", m.OtherHome + "/login": "login", m.User + "/.ssh/id_ed25519": "key",
		m.Workspace + "/README": "own", m.Home + "/.profile": "own",
	} {
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(content), 0o644)) //nolint:gosec // only the sandbox protects it
	}
	must(t, os.WriteFile(m.Host+"/private", []byte("private"), 0o600))
	m.HostUser, m.Setuid = os.Geteuid(), filepath.Join(dir, "tools", "id")
	if user != nil {
		m.HostUser = int(user.Uid)
		must(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.Name() == "program" || path == dir {
				return err
			}
			return os.Lchown(path, m.HostUser, m.HostUser)
		}))
	}
	must(t, os.Mkdir(filepath.Dir(m.Setuid), 0o755))
	copyProgram(t, "/usr/bin/id", m.Setuid)
	must(t, os.Chmod(m.Setuid, 0o755|os.ModeSetuid))
	m.session.Read = []string{filepath.Dir(m.Setuid)}
	if mount, _ := groupMount(readAll("/proc/self/mountinfo")); mount != "" {
		m.Groups = filepath.Join(mount, groupOf(readAll("/proc/self/cgroup")))
	}
	m.program = os.Args[0]
	m.serve()
	options.Data, options.Processes = m.Host, cmp.Or(options.Processes, 256)
	var err error
	m.sandbox, err = Open(t.Context(), options)
	must(t, err)
	return m
}

// addOtherGroup makes the control group of another session, if the host has groups.
func (m *machine) addOtherGroup() {
	m.Helper()
	if m.sandbox.groups == nil || m.OtherGroup != "" {
		return
	}
	group, err := m.sandbox.groups.add("other")
	must(m.T, err)
	m.Cleanup(func() { process.RemoveGroup(group) })
	m.OtherGroup = filepath.Dir(group)
}

// serve starts what a host has: a process, listeners, a terminal, shared memory.
func (m *machine) serve() {
	m.Helper()
	host := exec.CommandContext(m.Context(), "/bin/sleep", "1000")
	host.SysProcAttr = &syscall.SysProcAttr{Credential: m.user}
	must(m.T, host.Start())
	m.Cleanup(func() { _ = host.Process.Kill(); _ = host.Wait() })
	m.Mark = "bellhop-escape-" + strconv.Itoa(host.Process.Pid)
	m.Pid, m.Abstract, m.Socket = host.Process.Pid, "@"+filepath.Base(filepath.Dir(m.Host))+m.Name(),
		filepath.Join(m.Host, "socket")
	for _, address := range [][2]string{{"tcp", "127.0.0.1:0"}, {"unix", m.Socket}, {"unix", m.Abstract}} {
		listener, err := net.Listen(address[0], address[1])
		must(m.T, err)
		m.Cleanup(func() { _ = listener.Close() })
		if tcp, ok := listener.Addr().(*net.TCPAddr); ok {
			m.Port = tcp.Port
		}
	}
	must(m.T, os.Chmod(m.Socket, 0o777)) //nolint:gosec // as above
	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	must(m.T, err)
	m.Cleanup(func() { _ = packets.Close() })
	m.UDP = packets.LocalAddr().(*net.UDPAddr).Port
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	must(m.T, err)
	m.Cleanup(func() { _ = terminal.Close() })
	must(m.T, unix.IoctlSetPointerInt(int(terminal.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPTN)
	must(m.T, err)
	m.Terminal = fmt.Sprintf("/dev/pts/%d", number)
	must(m.T, os.Chown(m.Terminal, m.HostUser, -1))
	m.Shared, err = unix.SysvShmGet(unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o666)
	must(m.T, err)
	m.Cleanup(func() { _, _ = unix.SysvShmCtl(m.Shared, unix.IPC_RMID, nil) })
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// run runs a command in the session's sandbox and returns its output.
func (m *machine) run(args ...string) (string, error) {
	m.Helper()
	c := m.command(args...)
	c, err := c.Confine(c)
	must(m.T, err)
	defer process.RemoveGroup(c.Group)
	cmd := exec.CommandContext(m.Context(), c.Args[0], c.Args[1:]...)
	cmd.Dir, cmd.Env = c.Dir, c.Env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: m.user}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, stderr.String())
	}
	return stdout.String(), err
}

// attack runs the hostile program and returns what each of its escapes led to.
func (m *machine) attack() map[string]string {
	m.Helper()
	m.addOtherGroup()
	encoded, err := json.Marshal(m.target)
	must(m.T, err)
	out, err := m.run(m.program, "hostile", string(encoded))
	must(m.T, err)
	results := map[string]string{}
	must(m.T, json.Unmarshal([]byte(out), &results))
	m.removeMarks(results)
	if len(results) != len(escapes) {
		m.Fatalf("%d results of %d escapes", len(results), len(escapes))
	}
	return results
}

// removeMarks removes what escapes wrote into directories that all users share.
func (m *machine) removeMarks(results map[string]string) {
	// The program may have written into the sandbox's own /tmp, which is no escape. Then
	// the host's directory of this name does not have the file.
	for _, shared := range []string{"/tmp", "/dev/shm"} {
		name := "write into the host's " + shared
		if err := os.Remove(filepath.Join(shared, m.Mark)); results[name] == "escaped" && err != nil {
			results[name] = "its own " + shared
		}
	}
}

const (
	matrixPage  = "../../docs/security.md"
	matrixStart = "<!-- matrix: written by go test ./agenthost/sandbox -update -->\n"
	matrixEnd   = "<!-- end of the matrix -->"
)

// The published matrix is what a hostile program really achieves.
func TestTheMatrixIsWhatAHostileProgramAchieves(t *testing.T) {
	t.Parallel()
	columns := []map[string]string{
		newMachine(t, Options{NoNamespaces: true}).attack(), newUserMachine(t, Options{NoNamespaces: true}).attack(),
		newOrdinaryMachine(t, Options{NoNamespaces: true}).attack(),
		newMachine(t, Options{Network: NetworkOpen}).attack(), newUserMachine(t, Options{Network: NetworkOpen}).attack(),
		newOrdinaryMachine(t, Options{Network: NetworkOpen}).attack(), attackWithBridges(t),
	}
	table := matrixOf(t, columns)
	page, err := os.ReadFile(matrixPage)
	must(t, err)
	before, rest, found := strings.Cut(string(page), matrixStart)
	old, after, ended := strings.Cut(rest, matrixEnd)
	if !found || !ended {
		t.Fatalf("%s has no matrix", matrixPage)
	}
	if *update {
		must(t, os.WriteFile(matrixPage, []byte(before+matrixStart+table+matrixEnd+after), 0o644)) //nolint:gosec // a page
		return
	}
	if old != table {
		t.Errorf("the matrix of %s is out of date; write it with -update:\n%s", matrixPage, table)
	}
}

// attackWithBridges attacks from a network with the bridges that a session has.
func attackWithBridges(t *testing.T) map[string]string {
	t.Helper()
	m := newMachine(t, Options{Network: NetworkProxy})
	target, err := net.Listen("tcp", "127.0.0.1:0")
	echoing(t, target, err)
	m.session.Bridges = []Bridge{{Port: 7001, To: target.Addr().String()}}
	return m.attack()
}

// matrixOf returns a table of what succeeds in any column, what is blocked in all of them, and how the filter answers
// calls. Errors of other attempts are left out: they depend on the machine's kernel and mounts.
func matrixOf(t *testing.T, columns []map[string]string) string {
	t.Helper()
	var blocked []string
	var open, calls matrixRows
	for _, e := range escapes {
		name, isCall := strings.CutPrefix(e.name, "call ")
		cells := make([]string, len(columns))
		for i, results := range columns {
			t.Logf("%s, column %d: %s", e.name, i, results[e.name])
			cells[i] = cell(results[e.name], isCall)
		}
		switch {
		case slices.Contains(cells, isOpen):
			open.add(strings.Join(cells, " | "), e.name)
		case isCall:
			calls.add(answerOf(cells), name)
		default:
			blocked = append(blocked, e.name)
		}
	}
	var b strings.Builder
	b.WriteString("\n| a program tries to | Landlock alone, root's host | the same, users of sessions " +
		"| Landlock alone, a user's host | namespaces, root's host | the same, users of sessions " +
		"| namespaces, a user's host | network `proxy` or `none` |\n|---|---|---|---|---|---|---|---|\n")
	for _, row := range open {
		b.WriteString("| " + strings.Join(row.names, "; ") + " | " + row.results + " |\n")
	}
	b.WriteString("\n| in all columns | attempts |\n|---|---|\n| blocked | " + strings.Join(blocked, "; ") + " |\n")
	for _, row := range calls {
		b.WriteString("| the filter answers " + row.results + " | " + strings.Join(row.names, ", ") + " |\n")
	}
	return b.String() + "\n"
}

// matrixRow is the attempts that have their results in common.
type matrixRow struct {
	results string
	names   []string
}

// matrixRows are in the order of their first names.
type matrixRows []matrixRow

func (rows *matrixRows) add(results, name string) {
	for i := range *rows {
		if row := &(*rows)[i]; row.results == results {
			row.names = append(row.names, name)
			return
		}
	}
	*rows = append(*rows, matrixRow{results, []string{name}})
}

// answerOf returns the error of a call: the last four columns are those with namespaces.
func answerOf(cells []string) string {
	without, with := slices.Compact(slices.Clone(cells[:3])), slices.Compact(slices.Clone(cells[3:]))
	if slices.Equal(without, with) {
		return strings.Join(with, ", ")
	}
	return strings.Join(without, ", ") + "; with namespaces " + strings.Join(with, ", ")
}

const isOpen = "**open**"

// cell is what the matrix has for a result: of a call its error.
func cell(result string, isCall bool) string {
	switch {
	case result == "escaped":
		return isOpen
	case isCall && errorName.MatchString(result):
		return result
	}
	return "blocked"
}

var errorName = regexp.MustCompile(`^E[A-Z0-9]+$`)

// No escape that is blocked for root succeeds for a user without privileges.
func TestAProgramOfAnotherUserGetsNoFurther(t *testing.T) {
	t.Parallel()
	for _, options := range []Options{{NoNamespaces: true}, {Network: NetworkOpen}, {Network: NetworkProxy}} {
		attackAsAnotherUser(t, newMachine(t, options))
	}
}

func attackAsAnotherUser(t *testing.T, m *machine) {
	t.Helper()
	asRoot := m.attack()
	must(t, os.Chmod(filepath.Dir(filepath.Dir(m.Host)), 0o755)) //nolint:gosec // another user must be able to enter it
	binary := filepath.Join(filepath.Dir(m.Host), "hostile")
	copyProgram(t, os.Args[0], binary)
	m.sandbox.options.Self, m.program, m.sandbox.groups = binary, binary, nil
	tmp := filepath.Join(m.Home, temporary)
	must(t, os.RemoveAll(tmp))
	must(t, os.Mkdir(tmp, 0o700))
	for _, path := range []string{m.Workspace, m.Home, tmp} {
		must(t, os.Chown(path, 65534, 65534))
	}
	m.user = &syscall.Credential{Uid: 65534, Gid: 65534}
	for name, result := range m.attack() {
		if result == "escaped" && asRoot[name] != "escaped" {
			t.Errorf("%s: open to a user without privileges", name)
		}
	}
}

func copyProgram(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	must(t, err)
	must(t, testenv.WriteProgram(to, content, 0o755)) //nolint:gosec // a program
}

func TestProgramsWorkInTheSandbox(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"write the workspace":        `echo x >x && mkdir -p a/b && mv x a/b/ && ln a/b/x y && test -s y`,
		"write its home":             `echo x >"$HOME/.config" && test -s "$HOME/.config"`,
		"write temporary files":      `f=$(mktemp) && echo x >"$f" && case "$f" in "$TMPDIR"/*) ;; *) exit 1 ;; esac`,
		"run programs of the system": `cat /etc/passwd >/dev/null && sort /etc/hosts >/dev/null`,
		"use git":                    `git init -q . && echo x >f && git add . && git -c user.name=A -c user.email=a@b commit -qm x && git status --short`,
		"use devices":                `head -c 4 /dev/urandom >/dev/null && echo x >/dev/null && head -c 4 /dev/zero >/dev/null`,
		"see itself":                 `test -r /proc/self/status && test -r /proc/meminfo`,
		"start background processes": `sleep 0 & wait $! && kill -0 $$`,
		"choose its own scheduling":  `nice -n 1 true && taskset -c "$(taskset -cp $$ | sed 's/.*: //')" true && ulimit -n 64`,
		"make a pipe with a name":    `mkfifo p && (echo x >p &) && read -r l <p && test "$l" = x`,
		"look up names":              `getent hosts localhost >/dev/null`,
	} {
		t.Run(name, func(t *testing.T) {
			for _, options := range []Options{{NoNamespaces: true}, {}} {
				if out, err := newMachine(t, options).run("sh", "-e", "-c", script); err != nil {
					t.Errorf("%+v: %s, %v", options, out, err)
				}
			}
		})
	}
}

func TestConfiguredPathsAreOpened(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "tool"), []byte("x"), 0o600))
	for name, c := range map[string]struct {
		options       Options
		reads, writes bool
	}{
		"none":  {Options{}, false, false},
		"read":  {Options{Read: []string{dir}}, true, false},
		"write": {Options{Write: []string{dir}}, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, c.options)
			if _, err := m.run("cat", filepath.Join(dir, "tool")); (err == nil) != c.reads {
				t.Errorf("read: %v", err)
			}
			if _, err := m.run("sh", "-c", "echo x >"+filepath.Join(dir, "new")); (err == nil) != c.writes {
				t.Errorf("write: %v", err)
			}
		})
	}
}

func TestTheLevelIsMeasured(t *testing.T) {
	t.Parallel()
	m := newMachine(t, Options{Mode: ModeRequired})
	level := m.sandbox.Level()
	if !level.IsEnough() || level.Landlock < 6 || !level.Namespaces ||
		!strings.HasPrefix(level.Summary(), "on (Landlock") {
		t.Errorf("%+v", level)
	}
	if left, err := filepath.Glob(filepath.Join(m.Host, ".probe-*")); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if offered := level.Offered(); offered.Check() != nil || offered.State == protocol.SandboxNone ||
		(offered.State == protocol.SandboxFull) != (len(level.Open) == 0) {
		t.Errorf("offered: %+v", offered)
	}
	off := newMachine(t, Options{Mode: ModeOff})
	if off.sandbox.Level().IsEnough() || off.sandbox.Level().Offered().State != protocol.SandboxNone {
		t.Error("off counts as a sandbox")
	}
	if out, err := off.run("cat", off.Host+"/keyset"); err != nil || out != "keys" {
		t.Errorf("off: %s, %v", out, err)
	}
}

// The probe measures effects, so it detects a launcher that does not confine: a wrong
// binary, or one on a system without Landlock.
func TestASandboxWithoutEffectIsNoSandbox(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pretender := filepath.Join(dir, "launcher")
	must(t, testenv.WriteProgram(pretender, []byte("#!/bin/sh\n[ \"$1\" = sandbox-exec ] && shift 3\nexec \"$@\"\n"), 0o755)) //nolint:gosec // a program
	for name, launcher := range map[string]string{
		"it confines nothing": pretender,
		"it is missing":       filepath.Join(dir, "none"),
		"it fails":            "/bin/false",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Open(t.Context(), Options{Self: launcher, Data: t.TempDir(), Mode: ModeRequired})
			if protocol.CodeOf(err) != protocol.CodeUnavailable {
				t.Errorf("required: %v", err)
			}
			s, err := Open(t.Context(), Options{Self: launcher, Data: t.TempDir()})
			must(t, err)
			if level := s.Level(); level.IsEnough() || level.Error == "" && len(level.Open) == 0 {
				t.Errorf("%+v", level)
			}
		})
	}
}

func TestWrongOptionsAreRefused(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(data, link))
	for name, options := range map[string]Options{
		"an unknown mode":            {Mode: "maybe"},
		"a relative path":            {Read: []string{"tools"}},
		"the host's data":            {Read: []string{data}},
		"below the host's data":      {Write: []string{filepath.Join(data, "journal")}},
		"above the host's data":      {Read: []string{filepath.Dir(data)}},
		"a link to the host's data":  {Read: []string{link}},
		"the root":                   {Read: []string{"/"}},
		"a path that sessions name":  {Others: []string{data}},
		"a path that is not cleaned": {Read: []string{data + "/../" + filepath.Base(data)}},
	} {
		t.Run(name, func(t *testing.T) {
			options.Self, options.Data = os.Args[0], data
			if _, err := Open(t.Context(), options); protocol.CodeOf(err) != protocol.CodeInvalid {
				t.Errorf("got %v", err)
			}
		})
	}
}
