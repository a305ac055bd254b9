//go:build release

package release

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"bellhop/internal/testenv"
	"bellhop/internal/wait"
)

// running is a server whose output is kept.
type running struct {
	cmd  *exec.Cmd
	mu   sync.Mutex
	text bytes.Buffer
}

func (r *running) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

func (r *running) output() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

func start(t *testing.T, dir string, args ...string) *running { return startWith(t, dir, nil, args...) }

func startWith(t *testing.T, dir string, variables []string, args ...string) *running {
	t.Helper()
	r := &running{cmd: exec.Command(args[0], args[1:]...)} //nolint:gosec // of this test
	r.cmd.Dir, r.cmd.Stdout, r.cmd.Stderr = dir, r, r
	r.cmd.Env = append(os.Environ(), variables...)
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	testenv.Must(t, r.cmd.Start())
	t.Cleanup(func() { _ = syscall.Kill(-r.cmd.Process.Pid, syscall.SIGKILL); _ = r.cmd.Wait() })
	return r
}

// deadline bounds the waits for states that certainly come.
const deadline = 3 * time.Minute

func until(t *testing.T, what string, done func(context.Context) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	if err := wait.Until(ctx, 50*time.Millisecond, done); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func (r *running) await(t *testing.T, pattern string) (match string) {
	t.Helper()
	re := regexp.MustCompile(pattern)
	until(t, pattern, func(context.Context) bool {
		found := re.FindStringSubmatch(r.output())
		if found != nil {
			match = found[1]
		}
		return found != nil
	})
	return match
}

func (r *running) awaitReady(t *testing.T, url string) {
	t.Helper()
	until(t, url+"\n"+r.output(), func(ctx context.Context) bool { return get(ctx, url+"/readyz", "") != "" })
}

// end sends SIGTERM and expects exit code 0.
func (r *running) end(t *testing.T) {
	t.Helper()
	testenv.Must(t, r.cmd.Process.Signal(syscall.SIGTERM))
	if err := r.cmd.Wait(); err != nil {
		t.Errorf("%s: %v\n%s", r.cmd.Args, err, r.output())
	}
}

// interrupt sends SIGINT to the process and all that it has started, and waits for their end.
func (r *running) interrupt(t *testing.T) {
	t.Helper()
	testenv.Must(t, syscall.Kill(-r.cmd.Process.Pid, syscall.SIGINT))
	_ = r.cmd.Wait() // npx ends by the signal
}

// get returns the body of an answer 200, otherwise "".
func get(ctx context.Context, url, token string) string {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return ""
	}
	request.Close = true
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return ""
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return ""
	}
	return string(body)
}

// machine is a root with the content of the deb package, over the programs that it depends on, in a mount
// namespace of its own.
type machine struct {
	root, namespace string
}

// mounts puts the package's /usr over this machine's. Everything else of the root is the package's.
const mounts = `set -e
root=$1
mount -t overlay overlay -o "ro,lowerdir=$root/usr:/usr" "$root/usr"
for dir in bin sbin lib lib64; do
	[ ! -e "/$dir" ] || [ -e "$root/$dir" ] || ln -s "usr/$dir" "$root/$dir"
done
mkdir -p "$root/proc" "$root/dev" "$root/sys" "$root/tmp" "$root/run" "$root/var/tmp"
chmod 1777 "$root/tmp" "$root/var/tmp"
mount --rbind /proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --rbind /sys "$root/sys"
echo mounted
exec sleep infinity
`

func install(t *testing.T, deb string) *machine {
	t.Helper()
	m := &machine{root: filepath.Join(t.TempDir(), "root")}
	control := t.TempDir()
	command(t, "", "dpkg-deb", "--extract", deb, m.root)
	command(t, "", "dpkg-deb", "--control", deb, control)
	testenv.Must(t, os.Chmod(m.root, 0o755)) //nolint:gosec // a root directory
	for dir := m.root; dir != "/"; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && info.Mode()&0o001 == 0 {
			testenv.Must(t, os.Chmod(dir, info.Mode()|0o055)) // other users pass through
		}
	}
	for name, text := range map[string]string{ // of the package base-passwd, as every system has it
		"passwd": "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n",
		"group":  "root:x:0:\nnogroup:x:65534:\n",
	} {
		testenv.Must(t, os.WriteFile(filepath.Join(m.root, "etc", name), []byte(text), 0o644)) //nolint:gosec // public
	}
	holder := start(t, "", "unshare", "--mount", "--propagation", "private", "sh", "-c", mounts, "sh", m.root)
	holder.await(t, "(mounted)")
	m.namespace = strconv.Itoa(holder.cmd.Process.Pid)
	script, err := os.ReadFile(filepath.Join(control, "postinst"))
	testenv.Must(t, err)
	testenv.Must(t, os.WriteFile(filepath.Join(m.root, "tmp", "postinst"), script, 0o755)) //nolint:gosec // it is run
	// The second run is that of the next upgrade: secrets stay.
	for range 2 {
		command(t, "", m.args("root:root", "/tmp/postinst", "configure")...)
	}
	return m
}

// args is a command line that runs a program in the machine.
func (m *machine) args(user string, args ...string) []string {
	return append([]string{
		"nsenter", "--target", m.namespace, "--mount", "chroot", "--userspec=" + user, m.root,
		"/usr/bin/env", "-i", "PATH=/usr/sbin:/usr/bin",
	}, args...)
}

// program is where the package has the program.
const program = "/usr/bin/bellhop"

// unit runs what a service does: its command as its user, with its variables and its state directory. The command is
// that of another program if it is not the package's.
func (m *machine) unit(t *testing.T, name, path string) *running {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(m.root, "usr/lib/systemd/system", name))
	testenv.Must(t, err)
	setting := func(key string) string {
		found := regexp.MustCompile(`(?m)^` + key + `=(.*)$`).FindStringSubmatch(string(content))
		if found == nil {
			t.Fatalf("%s has no %s", name, key)
		}
		return found[1]
	}
	arguments, isProgram := strings.CutPrefix(setting("ExecStart"), program+" ")
	if !isProgram {
		t.Fatalf("%s does not start %s", name, program)
	}
	user := setting("User") + ":" + setting("Group")
	state := "/var/lib/" + setting("StateDirectory")
	command(t, "", m.args("root:root", "install", "-d", "-m", setting("StateDirectoryMode"), "-o", setting("User"),
		"-g", setting("Group"), state)...)
	script := fmt.Sprintf("set -a; . %s; cd %s; umask %s; exec %s %s", setting("EnvironmentFile"),
		setting("WorkingDirectory"), setting("UMask"), path, arguments)
	return start(t, "", m.args(user, "/bin/sh", "-c", script)...)
}

// configure adds lines to a file of variables, as an operator does.
func (m *machine) configure(t *testing.T, name string, lines ...string) {
	t.Helper()
	file, err := os.OpenFile(filepath.Join(m.root, "etc/bellhop", name), os.O_APPEND|os.O_WRONLY, 0)
	testenv.Must(t, err)
	_, err = file.WriteString(strings.Join(lines, "\n") + "\n")
	testenv.Must(t, err)
	testenv.Must(t, file.Close())
}

func address(t *testing.T) string {
	t.Helper()
	port, err := testenv.FreePort()
	testenv.Must(t, err)
	return "127.0.0.1:" + strconv.Itoa(port)
}
