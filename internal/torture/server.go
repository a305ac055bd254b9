//go:build linux

package torture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"syscall"
	"time"

	"bellhop/internal/process"
	"bellhop/internal/wait"
)

// startLimit prevents hangs; it is no expectation of a server's speed, on whatever machine.
const startLimit = 5 * time.Minute

// server is a broker or a host in a process of its own, which faults kill, freeze and restart.
// Its methods may be called by one goroutine at a time, except log.
type server struct {
	name string
	url  string // its own address, behind no proxy
	args []string
	next string // the program of later starts, "" = that of the first
	env  []string
	log  *os.File

	clock time.Duration // how far the clock of the process is off

	mu      sync.Mutex
	process *process.Process // nil while it is not running
}

// start launches the process and does not wait until it is ready.
func (s *server) start() error {
	if s.running() {
		return nil
	}
	_, _ = fmt.Fprintf(s.log, "--- %s starts at %s\n", s.name, time.Now().UTC().Format(time.TimeOnly))
	p, err := process.Start(process.Command{Args: s.args, Env: append(baseEnv(), s.env...), Output: s.log})
	if err != nil {
		return err
	}
	if s.next != "" {
		s.args[0] = s.next
	}
	s.mu.Lock()
	s.process = p
	s.mu.Unlock()
	if s.clock != 0 {
		return s.stepClock()
	}
	return nil
}

// stepClock gives the process the server's clock, unless it has ended.
func (s *server) stepClock() error {
	if err := stepClock(s.current().Pid(), s.clock); err != nil && s.running() {
		return err
	}
	return nil
}

func baseEnv() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.TempDir(), "TMPDIR=" + os.TempDir()}
}

func (s *server) current() *process.Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process
}

func (s *server) running() bool {
	p := s.current()
	if p == nil {
		return false
	}
	select {
	case <-p.Done():
		return false
	default:
		return true
	}
}

// kill sends SIGKILL and returns when the process has ended.
func (s *server) kill() error {
	if p := s.current(); p != nil {
		return p.Kill()
	}
	return nil
}

// terminate sends SIGTERM and expects exit status 0.
func (s *server) terminate(ctx context.Context) error {
	if !s.running() {
		return fmt.Errorf("%s has ended by itself", s.name)
	}
	p := s.current()
	if err := syscall.Kill(p.Pid(), syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-p.Done():
	case <-time.After(startLimit):
		return errors.Join(fmt.Errorf("%s still runs %v after SIGTERM", s.name, startLimit), p.Kill())
	case <-ctx.Done():
		return errors.Join(ctx.Err(), p.Kill())
	}
	if err := p.Wait(); err != nil {
		return fmt.Errorf("%s after SIGTERM: %w", s.name, err)
	}
	return nil
}

// freeze stops the process with SIGSTOP until thaw; connections to it stay open.
func (s *server) freeze() error { return syscall.Kill(s.current().Pid(), syscall.SIGSTOP) }

func (s *server) thaw() error { return syscall.Kill(s.current().Pid(), syscall.SIGCONT) }

// ready waits until /readyz answers 200. A server that ends meanwhile, as a broker without its
// database does, is started again, as a service manager would.
func (s *server) ready(ctx context.Context) error {
	return eventually(ctx, startLimit, s.name+" is ready", func(ctx context.Context) (bool, error) {
		if err := s.start(); err != nil {
			return false, err
		}
		status, _ := statusOf(ctx, s.url+"/readyz")
		return status == http.StatusOK, nil
	})
}

// crashed returns an error if the server has panicked: restarts must not hide that.
func (s *server) crashed() error {
	content, err := os.ReadFile(s.log.Name())
	if err != nil {
		return err
	}
	for _, sign := range []string{"panic: ", "fatal error: ", "DATA RACE"} {
		if i := bytes.Index(content, []byte(sign)); i >= 0 {
			return fmt.Errorf("%s: %s", s.name, content[i:min(len(content), i+2000)])
		}
	}
	return nil
}

func statusOf(ctx context.Context, url string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, err
	}
	resp, err := plain.RoundTrip(req)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, errors.Join(err, resp.Body.Close())
}

// plain is the transport of everything that no fault may touch. It keeps no idle connection to
// a server that is killed.
var plain = &http.Transport{DisableKeepAlives: true}

// eventually polls until done reports true. An error of done ends the waiting, too.
func eventually(ctx context.Context, limit time.Duration, what string, done func(context.Context) (bool, error)) error {
	waiting, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		ok, err := done(waiting)
		if err != nil || ok {
			return err
		}
		if !pause(waiting, 20*time.Millisecond) {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("not within %v: %s", limit, what)
		}
	}
}

// pause waits; false when ctx has ended.
var pause = wait.For
