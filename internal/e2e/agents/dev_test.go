//go:build agents

package agents

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"bellhop/agenthost"
	"bellhop/client"
	"bellhop/internal/app"
	"bellhop/internal/testenv"
	"bellhop/internal/testenv/agents"
	"bellhop/internal/testenv/mockllm"
	"bellhop/protocol"
)

// transport keeps no idle connections, which goleak would report.
var transport = &http.Transport{DisableKeepAlives: true}

// dev is a `bellhop dev` in a process of its own, which can be killed and restarted on the same
// addresses.
type dev struct {
	t       *testing.T
	subject agents.Subject
	llm     *mockllm.Server
	project string // a git repository
	data    string
	listen  [2]string // broker, host
	file    app.DevFile
	output  output
	user    *client.Client

	cmd  *exec.Cmd // of the running process
	done chan error
}

// output is what all runs of a dev printed.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) end() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(o.buf.String()), "\n")
	return strings.Join(lines[max(0, len(lines)-40):], "\n")
}

func startDev(t *testing.T, s agents.Subject, llm *mockllm.Server) *dev {
	t.Helper()
	dir := t.TempDir()
	d := &dev{
		t: t, subject: s, llm: llm,
		project: filepath.Join(dir, "project"), data: filepath.Join(dir, "data"),
		listen: [2]string{freeAddr(t), freeAddr(t)},
	}
	d.repository()
	t.Cleanup(func() {
		d.kill()
		if t.Failed() {
			t.Logf("the end of what bellhop dev printed:\n%s", d.output.end())
		}
	})
	watchConnections(t, d.data)
	d.start()
	return d
}

func (d *dev) repository() {
	d.t.Helper()
	if err := os.Mkdir(d.project, 0o700); err != nil {
		d.t.Fatal(err)
	}
	d.git(d.project, "init", "--quiet", "--initial-branch", "main")
	if err := os.WriteFile(filepath.Join(d.project, "README.md"), []byte("# A project\n"), 0o600); err != nil {
		d.t.Fatal(err)
	}
	d.git(d.project, "add", ".")
	d.git(d.project, "commit", "--quiet", "--message", "First")
}

func (d *dev) git(dir string, args ...string) string {
	d.t.Helper()
	cmd := exec.CommandContext(d.t.Context(), "git", append([]string{
		"-C", dir, "-c", "user.name=A", "-c", "user.email=a@example.com",
		"-c", "safe.directory=*", // of a session's user, if the host runs as root
	}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		d.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// start starts the servers and returns when both are ready.
func (d *dev) start() {
	d.t.Helper()
	path, err := testenv.BinaryPath()
	if err != nil {
		d.t.Fatalf("build the binary: %v", err)
	}
	d.cmd = exec.Command(path, "dev", "--agent", d.subject.Agent, "--model", d.subject.Model,
		"--project", d.project, "--data", d.data, "--listen", d.listen[0], "--host-listen", d.listen[1])
	home := filepath.Join(filepath.Dir(d.data), "home")
	d.cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home,
		"TMPDIR=" + os.TempDir(), agents.Variable + "=" + os.Getenv(agents.Variable),
	}, d.subject.Env(d.llm.URL)...)
	d.cmd.Stdout, d.cmd.Stderr = &d.output, &d.output
	// The process must end however the test ends. The kernel sends the parent-death signal when
	// the thread that started the child ends, so that thread waits for the child.
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	d.done = make(chan error, 1)
	started := make(chan error)
	go func(cmd *exec.Cmd, done chan<- error) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			done <- cmd.Wait()
		}
		close(done)
	}(d.cmd, d.done)
	if err := <-started; err != nil {
		d.t.Fatalf("start bellhop dev: %v", err)
	}
	eventually(d.t, "bellhop dev is ready", func() bool {
		select {
		case err := <-d.done:
			d.t.Fatalf("bellhop dev ended: %v", err)
		default:
		}
		return d.get("http://"+d.listen[0]+"/readyz", nil) && d.get("http://"+d.listen[1]+"/readyz", nil)
	})
	content, err := os.ReadFile(filepath.Join(d.data, "dev.json"))
	if err == nil {
		err = json.Unmarshal(content, &d.file)
	}
	if err != nil {
		d.t.Fatal(err)
	}
	d.user = client.New(d.file.BrokerURL, client.Options{
		Token: d.file.APIToken, HTTP: &http.Client{Transport: transport},
		MinBackoff: 20 * time.Millisecond, MaxBackoff: 400 * time.Millisecond, Attempts: 10_000,
	})
}

// kill sends SIGKILL to the whole process group, like a crash of the machine.
func (d *dev) kill() {
	if d.cmd == nil || d.cmd.Process == nil {
		return
	}
	_ = syscall.Kill(-d.cmd.Process.Pid, syscall.SIGKILL)
	<-d.done
	d.cmd = nil
}

// stop ends the servers with SIGTERM and checks that nothing is left.
func (d *dev) stop() {
	d.t.Helper()
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		d.t.Fatal(err)
	}
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case err := <-d.done:
		if err != nil {
			d.t.Errorf("bellhop dev after SIGTERM: %v", err)
		}
	case <-limit.C:
		d.t.Fatal("bellhop dev does not end")
	}
	d.cmd = nil
	eventually(d.t, "no program of an agent is left", func() bool { return len(processesOf(d.data)) == 0 })
}

// get makes a GET request; if out is set, with the host's password.
func (d *dev) get(url string, out any) bool {
	req, err := http.NewRequestWithContext(d.t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		d.t.Fatal(err)
	}
	if out != nil {
		req.Header.Set("Authorization", "Bearer "+d.file.HostPassword)
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return false
	}
	defer func() { _ = resp.Body.Close() }()
	return resp.StatusCode == http.StatusOK && (out == nil || json.NewDecoder(resp.Body).Decode(out) == nil)
}

func (d *dev) task(title string) string {
	d.t.Helper()
	task, err := d.user.CreateTask(d.t.Context(), &protocol.CreateTaskRequest{Title: title, Project: "project"})
	if err != nil {
		d.t.Fatal(err)
	}
	return task.ID
}

func (d *dev) status() agenthost.HostStatus {
	d.t.Helper()
	var s agenthost.HostStatus
	if !d.get(d.file.HostURL+"/status", &s) {
		d.t.Fatal("the host does not report its status")
	}
	return s
}

// shows waits until /status and the broker report this state of a session and its workspace.
func (d *dev) shows(task string, status protocol.Status, reason string, open int) {
	d.t.Helper()
	eventually(d.t, fmt.Sprintf("%s %q with %d open questions is shown", status, reason, open), func() bool {
		s := d.status()
		session := one(d.t, s.Sessions, func(s agenthost.SessionStatus) bool { return s.ID == task })
		space := one(d.t, s.Workspaces, func(w agenthost.WorkspaceStatus) bool { return slices.Contains(w.Sessions, task) })
		stored, err := d.user.Task(d.t.Context(), task)
		if err != nil {
			return false
		}
		is := fmt.Sprint(session.Status, session.Reason, session.OpenInteractions, space.Status, space.Reason,
			stored.AgentStatus, stored.Reason, stored.OpenInteractions)
		return is == fmt.Sprint(status, reason, open, status, reason, status, reason, open)
	})
}

// workspace returns the working directory of a session.
func (d *dev) workspace(task string) string {
	d.t.Helper()
	return one(d.t,
		d.status().Workspaces, func(w agenthost.WorkspaceStatus) bool { return slices.Contains(w.Sessions, task) }).Path
}

func one[T any](t *testing.T, all []T, is func(T) bool) T {
	t.Helper()
	i := slices.IndexFunc(all, is)
	if i < 0 {
		t.Fatalf("not in %+v", all)
	}
	return all[i]
}

// patience only prevents a hang: the awaited event happens or the test fails.
const patience = 2 * time.Minute

// eventually polls, because the other side is another process.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for !is() {
		select {
		case <-limit.C:
			t.Fatalf("waited %v in vain: %s", patience, what)
		case <-poll.C:
		}
	}
}

// freeAddr returns an address without a listener, below the range of ports for outgoing
// connections, so that it is free again after a kill.
func freeAddr(t *testing.T) string {
	t.Helper()
	for range 1000 {
		addr := "127.0.0.1:" + strconv.Itoa(20000+rand.IntN(12000))
		if l, err := net.Listen("tcp", addr); err == nil {
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			return addr
		}
	}
	t.Fatal("no free port")
	return ""
}
