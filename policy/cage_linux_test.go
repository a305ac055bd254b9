package policy

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A cage is another process that decides about commands and runs those that the
// policy allows. Everything that they change outside the workspace is found: in
// namespaces the whole file system is an overlay whose upper layer is compared;
// where these are not available, Landlock confines the commands to one directory,
// which is compared.
type cage struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	kind  string
	ended bool
}

// cageResult is the result of one command.
type cageResult struct {
	Allowed bool
	Changes []string // outside the workspace
	Kind    string   // of the cage, in its first message
	Error   string
}

const cageVariable = "POLICY_CAGE" // the kind, for the child

// newCage starts the strongest cage of this system. Without any, the test fails: it
// would otherwise say nothing.
func newCage(t testing.TB) *cage {
	t.Helper()
	var reasons []error
	for _, kind := range []string{"namespaces", "landlock"} {
		c, err := startCage(kind, t.TempDir())
		if err == nil {
			t.Cleanup(c.close)
			t.Logf("commands run in a cage of %s", kind)
			return c
		}
		reasons = append(reasons, fmt.Errorf("%s: %w", kind, err))
	}
	t.Fatalf("NOTHING WAS TESTED: this system has neither namespaces nor Landlock, so no command may be run: %v",
		errors.Join(reasons...))
	return nil
}

func startCage(kind, dir string) (*cage, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &cage{cmd: exec.Command(self, "-test.run", "^TestCageOfCommands$"), kind: kind}
	c.cmd.Env = []string{cageVariable + "=" + kind, "TMPDIR=" + dir, "PATH=" + os.Getenv("PATH")}
	c.cmd.Stderr = os.Stderr
	if kind == "namespaces" {
		c.cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET,
		}
		if os.Getuid() != 0 {
			c.cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
			c.cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
			c.cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
		}
	}
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewReader(out)
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	first, err := c.read()
	if err != nil || first.Kind != kind {
		c.close()
		return nil, fmt.Errorf("%s%w", first.Error, err)
	}
	return c, nil
}

func (c *cage) read() (cageResult, error) {
	var out cageResult
	line, err := c.out.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &out)
	}
	return out, err
}

// run decides about a command and runs it if it is allowed.
func (c *cage) run(t testing.TB, command string, always bool) cageResult {
	t.Helper()
	line, err := json.Marshal(order{command, always})
	if err == nil {
		_, err = c.in.Write(append(line, '\n'))
	}
	var out cageResult
	if err == nil {
		out, err = c.read()
	}
	if err != nil || out.Error != "" {
		t.Fatalf("the cage failed at %q: %s %v", command, out.Error, err)
	}
	return out
}

func (c *cage) close() {
	if !c.ended {
		c.ended = true
		_ = c.in.Close()
		_ = c.cmd.Wait()
	}
}

// order is a command for the child.
type order struct {
	Command string
	Always  bool // whatever the policy says
}

// TestCageOfCommands is the child's side of a cage.
func TestCageOfCommands(t *testing.T) {
	t.Parallel()
	kind := os.Getenv(cageVariable)
	if kind == "" {
		return // the other tests start it
	}
	runtime.LockOSThread()
	out := json.NewEncoder(os.Stdout)
	inside, err := enterCage(kind)
	if err != nil {
		_ = out.Encode(cageResult{Error: err.Error()})
		return
	}
	_ = out.Encode(cageResult{Kind: kind})
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var o order
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			t.Fatal(err)
		}
		_ = out.Encode(inside.run(o))
	}
}

// insideCage is the child's state.
type insideCage struct {
	dir     string // holds ws (the workspace), template, home, outside and victim
	watched string // the directory that is compared
	exclude string // the workspace, below watched
	engine  *Engine
	fresh   bool // the workspace is as in the template
}

// harmlessRules allow harmless operations and nothing else.
const harmlessRules = `
version: 1
rules:
  - {tool: shell:run, action: allow}
  - {tool: "file:*", where: inside, action: allow}
`

func enterCage(kind string) (*insideCage, error) {
	base, err := os.MkdirTemp("", "cage")
	if err != nil {
		return nil, err
	}
	in := &insideCage{dir: base + "/cage", watched: base, exclude: "cage/ws"}
	if kind == "namespaces" {
		if err := in.overlay(base); err != nil {
			return nil, err
		}
	}
	if err := in.fill(); err != nil {
		return nil, err
	}
	if kind == "landlock" {
		if err := confine(base); err != nil {
			return nil, err
		}
	}
	in.engine, err = Parse([]byte(harmlessRules), "", Options{Home: in.dir + "/home"})
	return in, err
}

// overlay makes the root a layer above the real one.
func (in *insideCage) overlay(base string) error {
	root := base + "/root"
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("private mounts: %w", err)
	}
	if err := unix.Mount("tmpfs", base, "tmpfs", 0, ""); err != nil {
		return fmt.Errorf("tmpfs: %w", err)
	}
	for _, dir := range []string{"/upper", "/work", "/root"} {
		if err := os.Mkdir(base+dir, 0o755); err != nil {
			return err
		}
	}
	layers := "lowerdir=/,upperdir=" + base + "/upper,workdir=" + base + "/work"
	if err := unix.Mount("overlay", root, "overlay", 0, layers); err != nil {
		return fmt.Errorf("overlay: %w", err)
	}
	if err := unix.Mount("proc", root+"/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("proc: %w", err)
	}
	for _, device := range []string{"null", "zero", "urandom"} {
		if err := os.WriteFile(root+"/dev/"+device, nil, 0o600); err != nil {
			return err
		}
		if err := unix.Mount("/dev/"+device, root+"/dev/"+device, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("/dev/%s: %w", device, err)
		}
	}
	upper, err := unix.Open(base+"/upper", unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	in.dir, in.watched = "/cage", fmt.Sprintf("/proc/self/fd/%d", upper)
	return errors.Join(unix.Chroot(root), os.Chdir("/"), os.Symlink("/proc/self/fd", "/dev/fd"))
}

// confine lets this thread and its children write only below a directory.
func confine(dir string) error {
	attr := unix.LandlockRulesetAttr{
		Handled_access_fs: unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
			unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
			unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
			unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO,
	}
	ruleset, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)),
		unsafe.Sizeof(attr.Handled_access_fs), 0)
	if errno != 0 {
		return fmt.Errorf("landlock: %w", errno)
	}
	for path, access := range map[string]uint64{dir: attr.Handled_access_fs, "/dev": unix.LANDLOCK_ACCESS_FS_WRITE_FILE} {
		fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		beneath := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)}
		if _, _, errno = unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, ruleset, unix.LANDLOCK_RULE_PATH_BENEATH,
			uintptr(unsafe.Pointer(&beneath)), 0, 0, 0); errno != 0 {
			return fmt.Errorf("landlock rule: %w", errno)
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if _, _, errno = unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0, 0); errno != 0 {
		return fmt.Errorf("landlock restriction: %w", errno)
	}
	return nil
}

// setup makes the workspace's template: files, links that lead outside, a repository,
// and files whose names read like options.
const setup = `
set -e
mkdir -p template/src template/d template/docs template/sub home outside tmp
cd template
printf 'b\na\nc\n' > a.txt; cp a.txt b.txt; cp a.txt src/a.txt; cp a.txt d/victim
echo '{"a":1}' > a.json
printf 'touch ../victim\n' > evil.sh; cp evil.sh evil; chmod +x evil evil.sh
ln -s ../outside out; ln -s ../victim link; ln -s ../../outside d/out
printf x > ./-o; printf x > ./--output=..; printf x > ./-delete
git init -q . && git add -A . && git -c user.name=x -c user.email=x@y commit -qm x
cd ..
echo precious > victim; echo precious > outside/victim; echo precious > home/victim
`

func (in *insideCage) fill() error {
	if err := os.MkdirAll(in.dir, 0o755); err != nil {
		return err
	}
	if out, err := in.bash(patience, in.dir, setup); err != nil {
		return fmt.Errorf("setup: %w: %s", err, out)
	}
	return nil
}

// run executes one order in a fresh workspace and compares the files outside of it.
func (in *insideCage) run(o order) (out cageResult) {
	ws := in.dir + "/ws"
	if !in.fresh {
		if text, err := in.bash(patience, in.dir, "rm -rf ws && cp -a template ws"); err != nil {
			return cageResult{Error: fmt.Sprintf("workspace: %v: %s", err, text)}
		}
		in.fresh = true
	}
	call := bash(o.Command)
	call.Dir = ws
	if out.Allowed = in.engine.Decide(call).Action == Allow; !out.Allowed && !o.Always {
		return out
	}
	in.fresh = false
	before, err := in.snapshot()
	if err != nil {
		return cageResult{Error: err.Error()}
	}
	_, _ = in.bash(5*time.Second, ws, o.Command) // whether it succeeds says nothing
	after, err := in.snapshot()
	if err != nil {
		return cageResult{Error: err.Error()}
	}
	for path, state := range after {
		if before[path] != state {
			out.Changes = append(out.Changes, path)
		}
	}
	for path := range before {
		if after[path] == "" {
			out.Changes = append(out.Changes, path+" is gone")
		}
	}
	return out
}

// patience is after how long the preparation of a workspace is taken to hang.
const patience = 3 * time.Minute

// bash runs a script, and ends it after the limit: a command may wait for input.
func (in *insideCage) bash(limit time.Duration, dir, script string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", script)
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	cmd.Env = []string{
		"HOME=" + in.dir + "/home", "TMPDIR=" + in.dir + "/tmp", "PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1",
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd.CombinedOutput()
}

// snapshot describes every file outside the workspace. Times of directories are left
// out: shells keep here-documents in files that they remove.
func (in *insideCage) snapshot() (map[string]string, error) {
	out := map[string]string{}
	err := filepath.WalkDir(in.watched+"/", func(path string, d fs.DirEntry, err error) error {
		name := strings.TrimPrefix(strings.TrimPrefix(path, in.watched), "/")
		switch {
		case errors.Is(err, fs.ErrNotExist) || err == nil && name == "":
			return nil
		case err != nil:
			return err
		case name == in.exclude:
			return fs.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return nil //nolint:nilerr // it was removed meanwhile
		}
		if out[name] = info.Mode().String(); !d.IsDir() {
			out[name] += fmt.Sprint(" ", info.Size(), info.ModTime().UnixNano())
		}
		return nil
	})
	return out, err
}
