package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	startLimit = 60 * time.Second
	stopLimit  = 20 * time.Second
)

// child is a process that does not outlive this one.
type child struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error // once done
	out  tail
}

// tail keeps the end of what a process prints.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if len(t.buf) > 16<<10 {
		t.buf = bytes.Clone(t.buf[len(t.buf)-8<<10:])
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}

// startChild gives a process stdin and stdout, which may be nil; what it prints
// on stderr is kept.
func startChild(path string, args, env []string, stdin, stdout *os.File) (*child, error) {
	c := &child{cmd: exec.Command(path, args...), done: make(chan struct{})} //nolint:noctx // stopped in order, see stop
	c.cmd.Env = append(os.Environ(), env...)
	c.cmd.Stderr = &c.out
	if stdin != nil {
		c.cmd.Stdin = stdin
	}
	if stdout != nil {
		c.cmd.Stdout = stdout
	}
	// The signal is sent when the thread dies that started the child, so that
	// thread waits for it.
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := c.cmd.Start()
		started <- err
		if err == nil {
			c.err = c.cmd.Wait()
			close(c.done)
		}
	}()
	return c, <-started
}

func (c *child) pid() int { return c.cmd.Process.Pid }

func (c *child) output() string { return strings.TrimSpace(c.out.String()) }

// wait for the end of a process that was asked to end; then kill it.
func (c *child) wait() error {
	limit := time.NewTimer(stopLimit)
	defer limit.Stop()
	select {
	case <-c.done:
	case <-limit.C:
		_ = c.cmd.Process.Kill()
		<-c.done
		return fmt.Errorf("%s did not end in time\n%s", c.cmd.Path, c.output())
	}
	if c.err != nil {
		return fmt.Errorf("%s: %w\n%s", c.cmd.Path, c.err, c.output())
	}
	return nil
}

func (c *child) terminate() error {
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return c.wait()
}

// ready waits for a server's /readyz.
func (c *child) ready(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for {
		if answers(ctx, url+"/readyz") {
			return nil
		}
		select {
		case <-c.done:
			return fmt.Errorf("%s ended at once: %w\n%s", c.cmd.Path, c.err, c.output())
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w\n%s", c.cmd.Path, ctx.Err(), c.output())
		case <-poll.C:
		}
	}
}

func answers(ctx context.Context, url string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return false
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return false
	}
	return resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
}

// transport is of this process alone.
var transport = &http.Transport{MaxIdleConnsPerHost: 64}

// freeAddress is one that nobody listens on for now.
func freeAddress(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
