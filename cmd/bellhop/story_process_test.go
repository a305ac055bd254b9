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

// patience is how long a condition may take; it is reached only by what is
// broken.
const patience = 30 * time.Second

// node is a server process of a story.
type node struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
	err  error

	mu  sync.Mutex
	out []byte
}

func (n *node) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.out = append(n.out, p...)
	return len(p), nil
}

func (n *node) printed() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return string(n.out)
}

func (n *node) kill() {
	_ = n.cmd.Process.Kill()
	<-n.done
}

// listening finds the servers of a process in its log.
var listening = regexp.MustCompile(`msg="(broker|agent host) listens" url=(\S+)`)

func start(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, "start", neg, len(args) > 2)
	w, name := worldOf(ts), args[0]
	if old := w.nodes[name]; old != nil {
		select {
		case <-old.done:
		default:
			ts.Fatalf("%s runs already", name)
		}
	}
	path, err := exec.LookPath(args[1])
	ts.Check(err)
	n := &node{cmd: exec.Command(path, args[2:]...), done: make(chan struct{})}
	n.cmd.Dir, n.cmd.Env = ts.MkAbs("."), environ(ts)
	n.cmd.Stdout, n.cmd.Stderr = n, n
	ts.Check(n.cmd.Start())
	w.nodes[name] = n
	go func() {
		n.err = n.cmd.Wait()
		close(n.done)
	}()
	servers := 1
	if args[2] == "dev" {
		servers = 2
	}
	w.ready(ts, name, servers)
}

// environ is the story's environment: what env and let have set.
func environ(ts *testscript.TestScript) []string {
	var env []string
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "WORK"} {
		env = append(env, name+"="+ts.Getenv(name))
	}
	for _, names := range variables(worldOf(ts).t) {
		for _, name := range names {
			if value := ts.Getenv(name); value != "" && !slices.Contains(env, name+"="+value) {
				env = append(env, name+"="+value)
			}
		}
	}
	return env
}

// ready waits until every server of a process answers, and keeps their URLs.
func (w *world) ready(ts *testscript.TestScript, name string, servers int) {
	n := w.nodes[name]
	var found [][]string
	n.until(ts, name, "listen", func() bool {
		found = listening.FindAllStringSubmatch(n.printed(), -1)
		return len(found) == servers
	})
	for _, server := range found {
		u, err := url.Parse(server[2])
		ts.Check(err)
		n.until(ts, name, "be ready", func() bool {
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

// until polls a condition of a process that has to live meanwhile.
func (n *node) until(ts *testscript.TestScript, name, what string, holds func() bool) {
	limit := time.After(patience)
	for !holds() {
		select {
		case <-n.done:
			ts.Fatalf("%s ended (%v) before it did %s:\n%s", name, n.err, what, n.printed())
		case <-limit:
			ts.Fatalf("%s did not %s:\n%s", name, what, n.printed())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func running(ts *testscript.TestScript, name string) *node {
	n := worldOf(ts).nodes[name]
	if n == nil {
		ts.Fatalf("nothing was started as %s", name)
	}
	return n
}

func stop(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, "stop", neg, len(args) == 1)
	n := running(ts, args[0])
	ts.Check(n.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case <-n.done:
	case <-time.After(patience):
		ts.Fatalf("%s did not end:\n%s", args[0], n.printed())
	}
	if n.err != nil {
		ts.Fatalf("%s ended with %v:\n%s", args[0], n.err, n.printed())
	}
}

func kill9(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, "kill9", neg, len(args) == 1)
	running(ts, args[0]).kill()
}

func showLog(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, "log", neg, len(args) == 1)
	_, _ = fmt.Fprint(ts.Stdout(), running(ts, args[0]).printed())
}
