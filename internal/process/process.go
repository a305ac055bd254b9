package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"
)

// DefaultGrace is the time between the steps of Stop.
const DefaultGrace = 2 * time.Second

// outputGrace is how long a dead child's output may stay open: only a
// descendant that could not be found holds it.
const outputGrace = time.Second

// Command says what to start.
type Command struct {
	Args []string // program and arguments; the program is looked up in our PATH
	Dir  string
	Env  []string // the whole environment: nothing is inherited

	// Output takes stdout and stderr, as one pipe so that their order is kept.
	// Without it stdout is read from Process.Stdout and stderr kept for Tail.
	Output io.Writer

	// Records is the directory that Sweep reads; "" keeps no record.
	Records string
}

// Process is a running or ended child.
type Process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *os.File
	stderr *tail
	record *record
	mark   string
	done   chan struct{}
	err    error // how it ended; read after done

	mu     sync.Mutex
	reaped bool // the pid may belong to another program now
}

// Start starts the child. The caller reads Stdout to its end and closes it.
func Start(c Command) (*Process, error) {
	if len(c.Args) == 0 {
		return nil, errors.New("start process: no program named")
	}
	p := &Process{stderr: &tail{}, mark: newMark(), done: make(chan struct{})}
	p.cmd = exec.Command(c.Args[0], c.Args[1:]...) //nolint:noctx // a context would kill the child without its group
	p.cmd.Dir, p.cmd.WaitDelay = c.Dir, outputGrace
	p.cmd.Env = append(slices.Clone(c.Env), markVariable+"="+marks(p.mark))
	p.cmd.SysProcAttr = groupAttributes()
	childEnd, err := p.connect(c.Output)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Args[0], err)
	}
	if p.record, err = newRecord(c.Records, p.mark); err == nil {
		started := make(chan error)
		go p.run(started)
		err = <-started
	}
	if childEnd != nil {
		_ = childEnd.Close()
	}
	if err != nil {
		p.disconnect()
		return nil, fmt.Errorf("start %s: %w", c.Args[0], err)
	}
	return p, nil
}

// connect makes the child's pipes and returns its end of stdout. Stdout is a
// pipe of our own: exec's would be closed at exit with its last output unread.
func (p *Process) connect(output io.Writer) (*os.File, error) {
	if output != nil {
		p.cmd.Stdout, p.cmd.Stderr = output, output
		return nil, nil
	}
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	read, write, err := os.Pipe()
	if err != nil {
		_ = p.stdin.Close()
		return nil, err
	}
	p.stdout, p.cmd.Stdout, p.cmd.Stderr = read, write, p.stderr
	return write, nil
}

func (p *Process) disconnect() {
	p.record.remove()
	if p.stdin != nil {
		_ = p.stdin.Close()
	}
	if p.stdout != nil {
		_ = p.stdout.Close()
	}
}

// run starts and awaits the child on one locked thread: the kernel sends the
// parent-death signal when the thread that started the child ends, not the
// process, so that this thread has to live as long as the child.
func (p *Process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := p.cmd.Start(); err != nil {
		started <- err
		return
	}
	if err := p.record.started(p.cmd.Process.Pid); err != nil {
		_ = p.signal(syscall.SIGKILL)
		_ = p.reap()
		started <- err
		return
	}
	started <- nil
	p.err = p.reap()
	p.record.remove()
	close(p.done)
}

// reap waits for the child's end and kills what it left. As long as the child
// is not reaped its pid, and so its group's number, cannot be used anew.
func (p *Process) reap() error {
	unreaped := awaitExit(p.cmd.Process.Pid) == nil
	if unreaped {
		p.killRest()
	}
	err := p.cmd.Wait()
	if !unreaped {
		p.killRest()
	}
	return err
}

// killRest kills the group of the ended child, and its descendants elsewhere.
// They may be forking: it looks again until it finds none.
func (p *Process) killRest() {
	_ = p.signal(syscall.SIGKILL)
	p.mu.Lock()
	p.reaped = true
	p.mu.Unlock()
	for tries := 0; killMarked(p.mark) > 0 && tries < 100; tries++ {
		runtime.Gosched()
	}
}

// signal reaches the whole group; a reaped child's number is left alone.
func (p *Process) signal(s syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reaped {
		return nil
	}
	if err := syscall.Kill(-p.cmd.Process.Pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("signal process group: %w", err)
	}
	return nil
}

// Pid is the child's process id and its group's.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Stdin is closed when the child ends; nil with Command.Output.
func (p *Process) Stdin() io.WriteCloser { return p.stdin }

// Stdout can be read to its end after the child has ended too; nil with
// Command.Output.
func (p *Process) Stdout() io.ReadCloser { return p.stdout }

// Tail returns the last 50 lines of stderr, complete once Done is closed.
func (p *Process) Tail() []string { return p.stderr.lines() }

// Done is closed when the child and its group are gone.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait waits for the end and returns nil after exit status 0, else an
// *exec.ExitError or what went wrong with the output.
func (p *Process) Wait() error {
	<-p.done
	return p.err
}

// Stop asks the group to end with SIGINT, then SIGTERM, each with grace time
// (DefaultGrace if not positive), then kills it, and returns when it is gone.
// When ctx ends it kills at once. What the group leaves behind when the child
// itself has ended is killed without a further step.
func (p *Process) Stop(ctx context.Context, grace time.Duration) error {
	if grace <= 0 {
		grace = DefaultGrace
	}
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		if err := p.signal(s); err != nil {
			return err
		}
		if p.gone(ctx, grace) {
			return nil
		}
	}
	return p.Kill()
}

// gone waits for the end, at most for the given time or until ctx ends.
func (p *Process) gone(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-p.done:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// Kill kills the group and returns when it is gone.
func (p *Process) Kill() error {
	if err := p.signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-p.done
	return nil
}
