package verify

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

const idleLimit = 10 * time.Minute // an unused process ends

// process is a running worker process, with one request at a time.
type process struct {
	cmd      *exec.Cmd
	in       io.WriteCloser
	out      *bufio.Reader
	prepared map[need]bool
	used     bool        // it answered a request
	expiry   *time.Timer // while it is idle
}

// pool holds the idle worker processes.
type pool struct {
	command []string
	mu      sync.Mutex
	idle    []*process
	closed  bool
}

// take returns an idle process or starts one.
func (p *pool) take() (*process, error) {
	p.mu.Lock()
	if n := len(p.idle); n > 0 {
		taken := p.idle[n-1]
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		taken.expiry.Stop()
		return taken, nil
	}
	p.mu.Unlock()
	return start(p.command)
}

func start(command []string) (*process, error) {
	cmd := exec.Command(command[0], command[1:]...) //nolint:gosec,noctx // our own binary, which outlives the request
	cmd.Dir = os.TempDir()
	cmd.Env = []string{"GOMAXPROCS=2", "GOTRACEBACK=none"} // none of our environment, which may hold secrets
	isolate(cmd)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &process{cmd: cmd, in: in, out: bufio.NewReader(out), prepared: map[need]bool{needsNothing: true}}, nil
}

// put keeps a process for the next request.
func (p *pool) put(done *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		done.stop()
		return
	}
	done.used = true
	done.expiry = time.AfterFunc(idleLimit, func() { p.expire(done) })
	p.idle = append(p.idle, done)
}

func (p *pool) expire(old *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, idle := range p.idle {
		if idle == old {
			p.idle = append(p.idle[:i], p.idle[i+1:]...)
			old.stop()
			return
		}
	}
}

// close ends the idle processes, and each busy one after its request.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, idle := range p.idle {
		idle.expiry.Stop()
		idle.stop()
	}
	p.idle = nil
}

// stop kills a process and waits for its end.
func (p *process) stop() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// exchange sends a request and returns the answer. It kills the process when ctx ends.
func (p *process) exchange(ctx context.Context, r request) (found finding, err error) {
	stopWatching := context.AfterFunc(ctx, func() { _ = p.cmd.Process.Kill() })
	defer stopWatching()
	raw, err := json.Marshal(r)
	if err != nil {
		return found, err
	}
	if _, err := p.in.Write(append(raw, '\n')); err != nil {
		return found, err
	}
	line, err := readLine(p.out, maxFinding)
	if err != nil {
		return found, err
	}
	return found, json.Unmarshal(line, &found)
}
