package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"bellhop/internal/failpoint"
	"bellhop/internal/testenv"
)

const (
	startLimit = 2 * time.Minute  // these prevent hangs; they are not expectations
	stopLimit  = 10 * time.Second // of the contract: protocol section 5
)

// node is a server in a process of its own, which can be killed and restarted.
type node struct {
	t    testing.TB
	name string
	args []string
	env  []string
	url  string
	log  journalOfOutput

	mu   sync.Mutex
	life *life // nil while it is not running
}

// life is one run of a node.
type life struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended
	err  error         // of Wait, after done
}

// journalOfOutput keeps the output of all runs of a node.
type journalOfOutput struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (j *journalOfOutput) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.Write(p)
}

func (j *journalOfOutput) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.String()
}

func newNode(t testing.TB, name, url string, env []string, args ...string) *node {
	n := &node{t: t, name: name, args: args, env: env, url: url}
	t.Cleanup(func() {
		n.kill()
		if strings.Contains(n.log.String(), "DATA RACE") {
			t.Errorf("a data race in %s", name)
		}
		if t.Failed() {
			t.Logf("the end of what %s printed:\n%s", name, lastLines(n.log.String(), 60))
		}
	})
	return n
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// launch starts the process and does not wait.
func (n *node) launch(extra ...string) (*life, error) {
	path, err := testenv.BinaryPath()
	if err != nil {
		return nil, err
	}
	if !n.dead(0) {
		return nil, errors.New(n.name + " is running already")
	}
	_, _ = fmt.Fprintf(&n.log, "--- %s starts %v\n", n.name, extra)
	cmd := exec.Command(path, n.args...)
	cmd.Env = append(append(baseEnv(), n.env...), extra...)
	cmd.Stdout, cmd.Stderr = &n.log, &n.log
	// The server must end however the test ends. The kernel sends the parent-death signal when
	// the thread that started the child ends, so that thread waits for the child.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	l := &life{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			l.err = cmd.Wait()
			close(l.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	n.mu.Lock()
	n.life = l
	n.mu.Unlock()
	return l, nil
}

func baseEnv() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.TempDir(), "TMPDIR=" + os.TempDir()}
}

// tryStart returns when the server is ready or has ended: with a fail point it may die before
// it is ready.
func (n *node) tryStart(extra ...string) (ready bool, err error) {
	l, err := n.launch(extra...)
	if err != nil {
		return false, err
	}
	return n.await(l)
}

func (n *node) await(l *life) (ready bool, err error) {
	limit := time.NewTimer(startLimit)
	defer limit.Stop()
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for {
		if n.ready() {
			return true, nil
		}
		select {
		case <-l.done:
			return false, nil
		case <-limit.C:
			return false, fmt.Errorf("%s is not ready after %v", n.name, startLimit)
		case <-poll.C:
		}
	}
}

func (n *node) ready() bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, n.url+"/readyz", http.NoBody)
	if err != nil {
		return false
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// start fails the test unless the server becomes ready.
func (n *node) start(extra ...string) {
	n.t.Helper()
	ready, err := n.tryStart(extra...)
	if err == nil && !ready {
		err = errors.New("it ended instead")
	}
	if err != nil {
		n.t.Fatalf("start %s: %v", n.name, err)
	}
}

// kill sends SIGKILL and waits for the end. If the node does not run, it does nothing.
func (n *node) kill() {
	l := n.current()
	if l == nil {
		return
	}
	_ = l.cmd.Process.Kill()
	<-l.done
}

// stop sends SIGTERM and expects exit status 0 within the contract's time.
func (n *node) stop() {
	n.t.Helper()
	l := n.current()
	if l == nil {
		return
	}
	if err := l.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		n.t.Errorf("SIGTERM to %s: %v", n.name, err)
	}
	if !n.dead(stopLimit) {
		n.t.Errorf("%s still runs %v after SIGTERM", n.name, stopLimit)
		n.kill()
		return
	}
	if l.err != nil {
		n.t.Errorf("%s after SIGTERM: %v", n.name, l.err)
	}
}

// dead waits for the process to end by itself.
func (n *node) dead(within time.Duration) bool {
	l := n.current()
	if l == nil {
		return true
	}
	select {
	case <-l.done: // checked first, so that it also works without time to wait
		return true
	default:
	}
	limit := time.NewTimer(within)
	defer limit.Stop()
	select {
	case <-l.done:
		return true
	case <-limit.C:
		return false
	}
}

func (n *node) current() *life {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.life
}

// dieAt returns the environment that makes a node die at the nth hit of a fail point.
func dieAt(point string, nth int) string {
	return failpoint.Env + "=" + point + ":" + strconv.Itoa(nth)
}

var reserved struct {
	sync.Mutex
	ports map[int]bool
}

// freeAddr returns an address without a listener. It is below the range of ports for outgoing
// connections, so that it is still free when a killed server restarts.
func freeAddr(t testing.TB) string {
	t.Helper()
	reserved.Lock()
	defer reserved.Unlock()
	if reserved.ports == nil {
		reserved.ports = map[int]bool{}
	}
	for range 1000 {
		port := 20000 + rand.IntN(12000)
		addr := "127.0.0.1:" + strconv.Itoa(port)
		if reserved.ports[port] {
			continue
		}
		if l, err := net.Listen("tcp", addr); err == nil {
			reserved.ports[port] = true
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			return addr
		}
	}
	t.Fatal("no free port")
	return ""
}
