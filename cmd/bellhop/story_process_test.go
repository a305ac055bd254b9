package main

import (
	"fmt"
	"net/http"
	"net/url"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// conditionTimeout bounds the wait for a condition; only broken programs reach it.
const conditionTimeout = 2 * time.Minute

// serverProcess is a server process of a story.
type serverProcess struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
	err  error

	mu  sync.Mutex
	out []byte
}

func (n *serverProcess) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.out = append(n.out, p...)
	return len(p), nil
}

func (n *serverProcess) output() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return string(n.out)
}

func (n *serverProcess) kill() {
	_ = n.cmd.Process.Kill()
	<-n.done
}

// listening matches the log lines with the URLs of a process.
var listening = regexp.MustCompile(`msg="(broker|agent host) listens" url=(\S+)`)

func start(ts *testscript.TestScript, neg bool, args []string) {
	checkUsage(ts, "start", neg, len(args) > 2)
	w, name := stateOf(ts), args[0]
	if old := w.processes[name]; old != nil {
		select {
		case <-old.done:
		default:
			ts.Fatalf("%s runs already", name)
		}
	}
	path, err := exec.LookPath(args[1])
	ts.Check(err)
	n := &serverProcess{cmd: exec.Command(path, args[2:]...), done: make(chan struct{})}
	n.cmd.Dir, n.cmd.Env = ts.MkAbs("."), storyEnvironment(ts)
	n.cmd.Stdout, n.cmd.Stderr = n, n
	ts.Check(n.cmd.Start())
	w.processes[name] = n
	go func() {
		n.err = n.cmd.Wait()
		close(n.done)
	}()
	servers := 1
	if args[2] == "dev" {
		servers = 2
	}
	w.waitReady(ts, name, servers)
}

// storyEnvironment returns the variables that env and let have set.
func storyEnvironment(ts *testscript.TestScript) []string {
	var env []string
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "WORK"} {
		env = append(env, name+"="+ts.Getenv(name))
	}
	for _, names := range variablesByCommand(stateOf(ts).t) {
		for _, name := range names {
			if value := ts.Getenv(name); value != "" && !slices.Contains(env, name+"="+value) {
				env = append(env, name+"="+value)
			}
		}
	}
	return env
}

// waitReady waits until every server of a process responds, and stores their URLs.
func (w *storyState) waitReady(ts *testscript.TestScript, name string, servers int) {
	n := w.processes[name]
	var found [][]string
	n.waitFor(ts, name, "listen", func() bool {
		found = listening.FindAllStringSubmatch(n.output(), -1)
		return len(found) == servers
	})
	for _, server := range found {
		u, err := url.Parse(server[2])
		ts.Check(err)
		n.waitFor(ts, name, "be ready", func() bool {
			res, err := w.http.Get(u.String() + "/readyz")
			if err != nil {
				return false
			}
			_ = res.Body.Close()
			return res.StatusCode == http.StatusOK
		})
		variable := strings.TrimPrefix(server[1], "agent ")
		ts.Setenv(variable, u.String())
		ts.Setenv(variable+"_addr", u.Host)
	}
}

// waitFor polls a condition. It ends the story if the process exits.
func (n *serverProcess) waitFor(ts *testscript.TestScript, name, what string, condition func() bool) {
	limit := time.After(conditionTimeout)
	for !condition() {
		select {
		case <-n.done:
			ts.Fatalf("%s ended (%v) before it did %s:\n%s", name, n.err, what, n.output())
		case <-limit:
			ts.Fatalf("%s did not %s:\n%s", name, what, n.output())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func processNamed(ts *testscript.TestScript, name string) *serverProcess {
	n := stateOf(ts).processes[name]
	if n == nil {
		ts.Fatalf("nothing was started as %s", name)
	}
	return n
}

func stop(ts *testscript.TestScript, neg bool, args []string) {
	checkUsage(ts, "stop", neg, len(args) == 1)
	n := processNamed(ts, args[0])
	ts.Check(n.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case <-n.done:
	case <-time.After(conditionTimeout):
		ts.Fatalf("%s did not end:\n%s", args[0], n.output())
	}
	if n.err != nil {
		ts.Fatalf("%s ended with %v:\n%s", args[0], n.err, n.output())
	}
}

func kill9(ts *testscript.TestScript, neg bool, args []string) {
	checkUsage(ts, "kill9", neg, len(args) == 1)
	processNamed(ts, args[0]).kill()
}

func showLog(ts *testscript.TestScript, neg bool, args []string) {
	checkUsage(ts, "log", neg, len(args) == 1)
	_, _ = fmt.Fprint(ts.Stdout(), processNamed(ts, args[0]).output())
}
