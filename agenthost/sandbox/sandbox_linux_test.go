package sandbox

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"bellhop/internal/process"
	"bellhop/protocol"
)

var update = flag.Bool("update", false, "write the matrix of docs/security.md")

// The tests' binary is the launcher, and the hostile program too.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "hostile" {
		if err := runHostile(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// ground is a machine with a host, two sessions and another user, as a program in
// the sandbox sees it.
type ground struct {
	*testing.T
	bait
	sandbox *Sandbox
	program string              // the hostile one
	user    *syscall.Credential // who runs the hostile program; nil = the test's user
}

func newGround(t *testing.T, options Options) *ground {
	t.Helper()
	dir := t.TempDir()
	g := &ground{T: t, bait: bait{
		Host: filepath.Join(dir, "host"), Other: filepath.Join(dir, "workspaces", "other"), Workspace: filepath.Join(dir, "workspaces", "own"),
		OtherHome: filepath.Join(dir, "state", "other"), Home: filepath.Join(dir, "state", "own"), User: filepath.Join(dir, "home", "ada"),
	}}
	for path, content := range map[string]string{
		g.Host + "/journal.db": "journal", g.Host + "/keyset": "keys", g.Host + "/removable": "", g.Other + "/secret": "secret",
		g.OtherHome + "/login": "login", g.User + "/.ssh/id_ed25519": "key", g.Workspace + "/README": "own", g.Home + "/.profile": "own",
	} {
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(content), 0o644)) //nolint:gosec // only the sandbox protects it
	}
	g.program = os.Args[0]
	g.serve()
	options.Self, options.Data, options.Processes = os.Args[0], g.Host, 512
	var err error
	g.sandbox, err = Open(t.Context(), options)
	must(t, err)
	return g
}

// serve starts what a host has: a process, listeners, a terminal, shared memory.
func (g *ground) serve() {
	g.Helper()
	host := exec.CommandContext(g.Context(), "/bin/sleep", "1000")
	must(g.T, host.Start())
	g.Cleanup(func() { _ = host.Process.Kill(); _ = host.Wait() })
	g.Mark = "bellhop-escape-" + strconv.Itoa(host.Process.Pid)
	g.Pid, g.Abstract, g.Socket = host.Process.Pid, "@"+filepath.Base(filepath.Dir(g.Host))+g.Name(), filepath.Join(g.Host, "socket")
	for _, address := range [][2]string{{"tcp", "127.0.0.1:0"}, {"unix", g.Socket}, {"unix", g.Abstract}} {
		listener, err := net.Listen(address[0], address[1])
		must(g.T, err)
		g.Cleanup(func() { _ = listener.Close() })
		if tcp, ok := listener.Addr().(*net.TCPAddr); ok {
			g.Port = tcp.Port
		}
	}
	must(g.T, os.Chmod(g.Socket, 0o777)) //nolint:gosec // as above
	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	must(g.T, err)
	g.Cleanup(func() { _ = packets.Close() })
	g.UDP = packets.LocalAddr().(*net.UDPAddr).Port
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	must(g.T, err)
	g.Cleanup(func() { _ = terminal.Close() })
	must(g.T, unix.IoctlSetPointerInt(int(terminal.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPTN)
	must(g.T, err)
	g.Terminal = fmt.Sprintf("/dev/pts/%d", number)
	g.Shared, err = unix.SysvShmGet(unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o666)
	must(g.T, err)
	g.Cleanup(func() { _, _ = unix.SysvShmCtl(g.Shared, unix.IPC_RMID, nil) })
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// run runs a command in the session's sandbox and returns its output.
func (g *ground) run(args ...string) (string, error) {
	g.Helper()
	c, err := g.sandbox.Confine(Session{Home: g.Home, Write: []string{g.Workspace}}, process.Command{Args: args, Dir: g.Workspace, Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + g.Home}})
	must(g.T, err)
	cmd := exec.CommandContext(g.Context(), c.Args[0], c.Args[1:]...)
	cmd.Dir, cmd.Env = c.Dir, c.Env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: g.user}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, stderr.String())
	}
	return stdout.String(), err
}

// attack runs the hostile program and returns what each of its escapes led to.
func (g *ground) attack() map[string]string {
	g.Helper()
	encoded, err := json.Marshal(g.bait)
	must(g.T, err)
	out, err := g.run(g.program, "hostile", string(encoded))
	must(g.T, err)
	results := map[string]string{}
	must(g.T, json.Unmarshal([]byte(out), &results))
	for _, shared := range []string{"/tmp", "/dev/shm"} { // a directory of the sandbox's own is no escape
		name := "write into the host's " + shared
		if err := os.Remove(filepath.Join(shared, g.Mark)); results[name] == "escaped" && err != nil {
			results[name] = "its own " + shared
		}
	}
	if len(results) != len(escapes) {
		g.Fatalf("%d results of %d escapes", len(results), len(escapes))
	}
	return results
}

const (
	matrixPage  = "../../docs/security.md"
	matrixStart = "<!-- matrix: written by go test ./agenthost/sandbox -update -->\n"
	matrixEnd   = "<!-- end of the matrix -->"
)

// The published matrix is what a hostile program really achieves.
func TestTheMatrixIsWhatAHostileProgramAchieves(t *testing.T) {
	alone, full := newGround(t, Options{NoNamespaces: true}).attack(), newGround(t, Options{}).attack()
	var table strings.Builder
	table.WriteString("\n| a program tries to | Landlock alone | with namespaces |\n|---|---|---|\n")
	for _, e := range escapes {
		t.Logf("%s: %s; %s", e.name, alone[e.name], full[e.name])
		_, _ = fmt.Fprintf(&table, "| %s | %s | %s |\n", e.name, cell(alone[e.name]), cell(full[e.name]))
	}
	table.WriteString("\n")
	page, err := os.ReadFile(matrixPage)
	must(t, err)
	before, rest, found := strings.Cut(string(page), matrixStart)
	old, after, ended := strings.Cut(rest, matrixEnd)
	if !found || !ended {
		t.Fatalf("%s has no matrix", matrixPage)
	}
	if *update {
		must(t, os.WriteFile(matrixPage, []byte(before+matrixStart+table.String()+matrixEnd+after), 0o644)) //nolint:gosec // a page
		return
	}
	if old != table.String() {
		t.Errorf("the matrix of %s is another one; write it with -update:\n%s", matrixPage, table.String())
	}
}

func cell(result string) string {
	if result == "escaped" {
		return "**open**"
	}
	return "blocked"
}

// A user without privileges gets no further than root.
func TestAProgramOfAnotherUserGetsNoFurther(t *testing.T) {
	for _, options := range []Options{{NoNamespaces: true}, {}} {
		attackAsAnotherUser(t, newGround(t, options))
	}
}

func attackAsAnotherUser(t *testing.T, g *ground) {
	t.Helper()
	asRoot := g.attack()
	must(t, os.Chmod(filepath.Dir(filepath.Dir(g.Host)), 0o755)) //nolint:gosec // others reach the ground
	binary := filepath.Join(filepath.Dir(g.Host), "hostile")
	copyProgram(t, os.Args[0], binary)
	g.sandbox.options.Self, g.program = binary, binary
	tmp := filepath.Join(g.Home, temporary)
	must(t, os.RemoveAll(tmp))
	must(t, os.Mkdir(tmp, 0o700))
	for _, path := range []string{g.Workspace, g.Home, tmp} {
		must(t, os.Chown(path, 65534, 65534))
	}
	g.user = &syscall.Credential{Uid: 65534, Gid: 65534}
	for name, result := range g.attack() {
		if result == "escaped" && asRoot[name] != "escaped" {
			t.Errorf("%s: open to a user without privileges", name)
		}
	}
}

func copyProgram(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	must(t, err)
	must(t, os.WriteFile(to, content, 0o755)) //nolint:gosec // a program
}

func TestProgramsWorkInTheSandbox(t *testing.T) {
	for name, script := range map[string]string{
		"write the workspace":        `echo x >x && mkdir -p a/b && mv x a/b/ && ln a/b/x y && test -s y`,
		"write its home":             `echo x >"$HOME/.config" && test -s "$HOME/.config"`,
		"write temporary files":      `f=$(mktemp) && echo x >"$f" && case "$f" in "$TMPDIR"/*) ;; *) exit 1 ;; esac`,
		"run programs of the system": `cat /etc/passwd >/dev/null && sort /etc/hosts >/dev/null`,
		"use git":                    `git init -q . && echo x >f && git add . && git -c user.name=A -c user.email=a@b commit -qm x && git status --short`,
		"use devices":                `head -c 4 /dev/urandom >/dev/null && echo x >/dev/null && head -c 4 /dev/zero >/dev/null`,
		"see itself":                 `test -r /proc/self/status && test -r /proc/meminfo`,
		"start background processes": `sleep 0 & wait $! && kill -0 $$`,
		"make a pipe with a name":    `mkfifo p && (echo x >p &) && read -r l <p && test "$l" = x`,
		"look up names":              `getent hosts localhost >/dev/null`,
	} {
		t.Run(name, func(t *testing.T) {
			for _, options := range []Options{{NoNamespaces: true}, {}} {
				if out, err := newGround(t, options).run("sh", "-e", "-c", script); err != nil {
					t.Errorf("%+v: %s, %v", options, out, err)
				}
			}
		})
	}
}

func TestConfiguredPathsAreOpened(t *testing.T) {
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
			g := newGround(t, c.options)
			if _, err := g.run("cat", filepath.Join(dir, "tool")); (err == nil) != c.reads {
				t.Errorf("read: %v", err)
			}
			if _, err := g.run("sh", "-c", "echo x >"+filepath.Join(dir, "new")); (err == nil) != c.writes {
				t.Errorf("write: %v", err)
			}
		})
	}
}

func TestTheLevelIsMeasured(t *testing.T) {
	g := newGround(t, Options{Mode: ModeRequired})
	level := g.sandbox.Level()
	if !level.IsEnough() || level.Landlock < 6 || !level.Namespaces || !strings.HasPrefix(level.Summary(), "on (Landlock") {
		t.Errorf("%+v", level)
	}
	if left, err := filepath.Glob(filepath.Join(g.Host, ".probe-*")); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	off := newGround(t, Options{Mode: ModeOff})
	if off.sandbox.Level().IsEnough() {
		t.Error("off counts as a sandbox")
	}
	if out, err := off.run("cat", off.Host+"/keyset"); err != nil || out != "keys" {
		t.Errorf("off: %s, %v", out, err)
	}
}

// A launcher that does not confine, such as a wrong binary or a system without
// Landlock, is found by the effect.
func TestASandboxWithoutEffectIsNoSandbox(t *testing.T) {
	dir := t.TempDir()
	pretender := filepath.Join(dir, "launcher")
	must(t, os.WriteFile(pretender, []byte("#!/bin/sh\n[ \"$1\" = sandbox-exec ] && shift 3\nexec \"$@\"\n"), 0o755)) //nolint:gosec // a program
	for name, c := range map[string]struct{ self, hint string }{
		"it confines nothing": {pretender, ""},
		"it is missing":       {filepath.Join(dir, "none"), ""},
		"it fails":            {"/bin/false", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Open(t.Context(), Options{Self: c.self, Data: t.TempDir(), Mode: ModeRequired})
			if protocol.CodeOf(err) != protocol.CodeUnavailable {
				t.Errorf("required: %v", err)
			}
			s, err := Open(t.Context(), Options{Self: c.self, Data: t.TempDir()})
			must(t, err)
			if level := s.Level(); level.IsEnough() || level.Error == "" && len(level.Open) == 0 {
				t.Errorf("%+v", level)
			}
		})
	}
}

func TestWrongOptionsAreRefused(t *testing.T) {
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
		"data of one agent's entry":  {Others: []string{data}},
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

func TestALauncherThatCannotConfineStartsNothing(t *testing.T) {
	for name, args := range map[string][]string{
		"no spec":            {},
		"not JSON":           {"{", "--", "/bin/true"},
		"an unknown member":  {`{"all":true}`, "--", "/bin/true"},
		"no program":         {`{}`, "--"},
		"a relative program": {`{}`, "--", "true"},
		"a missing program":  {`{}`, "--", "/nowhere/program"},
		"a forbidden one":    {`{}`, "--", "/root/program"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], slices.Concat([]string{launchCommand}, args)...)
			out, err := cmd.CombinedOutput()
			if cmd.ProcessState.ExitCode() != launchFailed || !strings.HasPrefix(string(out), "bellhop: ") {
				t.Errorf("%v, %s", err, out)
			}
		})
	}
}

// Secrets are in the environment only: arguments are visible to every process.
func TestTheSpecHoldsNoEnvironment(t *testing.T) {
	g := newGround(t, Options{})
	c, err := g.sandbox.Confine(Session{Home: g.Home}, process.Command{Args: []string{"true"}, Env: []string{"KEY=canary"}})
	must(t, err)
	if strings.Contains(strings.Join(c.Args, " "), "canary") || !slices.Contains(c.Env, "KEY=canary") {
		t.Errorf("%v", c)
	}
}

func BenchmarkStart(b *testing.B) {
	spec := Spec{Read: []string{"/usr"}}
	args, err := spec.commandLine(os.Args[0], []string{"/bin/true"})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := exec.CommandContext(b.Context(), args[0], args[1:]...).Run(); err != nil {
			b.Fatal(err)
		}
	}
}
