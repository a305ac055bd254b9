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

// DefaultGrace is the pause between the steps of Stop.
const DefaultGrace = 2 * time.Second

// outputGrace is how long the output of an ended child may stay open. Only a descendant that
// was not found can keep it open.
const outputGrace = time.Second

// Command describes the child.
type Command struct {
	Args []string // program and arguments; the program is looked up in our own PATH
	Dir  string
	Env  []string // the complete environment: nothing is inherited

	// Ports of the loopback, for Confine: those at which the child accepts connections from
	// outside its sandbox, and those of other programs that it connects to.
	Listens []int
	Dials   []int

	// Confine changes the command before it starts, such as to run it in a sandbox;
	// nil = start it as it is.
	Confine func(Command) (Command, error)

	// Group is a control group that the child joins by itself. With the child ends all that is in it, and
	// the group is removed; "" = none. Confine sets it.
	Group string

	// Output receives stdout and stderr over one pipe, so that their order is kept. Without it,
	// stdout is read from Process.Stdout and stderr is kept for Tail.
	Output io.Writer

	// Records is the directory that Sweep reads; "" = no record.
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
	group  string // control group
	done   chan struct{}
	err    error // the result of the child; read after done

	mu     sync.Mutex
	reaped bool // from here on the pid may belong to another program
}

// Start starts the child. The caller must read Stdout to its end and close it.
func Start(c Command) (*Process, error) {
	if len(c.Args) == 0 {
		return nil, errors.New("start process: no program named")
	}
	if !Supported {
		return nil, fmt.Errorf("start %s: this system cannot end a program with all that it starts", c.Args[0])
	}
	c, err := c.confined()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Args[0], err)
	}
	p := &Process{stderr: &tail{}, mark: newMark(), group: c.Group, done: make(chan struct{})}
	p.cmd = exec.Command(c.Args[0], c.Args[1:]...) //nolint:noctx // a context would kill the child without its group
	p.cmd.Dir, p.cmd.WaitDelay = c.Dir, outputGrace
	p.cmd.Env = append(slices.Clone(c.Env), markVariable+"="+marks(p.mark))
	p.cmd.SysProcAttr = groupAttributes()
	childEnd, err := p.connect(c.Output)
	if err != nil {
		RemoveGroup(p.group)
		return nil, fmt.Errorf("start %s: %w", c.Args[0], err)
	}
	if p.record, err = newRecord(c.Records, p.mark, c.Group); err == nil {
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

func (c Command) confined() (Command, error) {
	if c.Confine == nil {
		return c, nil
	}
	confined, err := c.Confine(c)
	if err != nil {
		return c, err
	}
	return confined, nil
}

// connect creates the child's pipes and returns the child's end of stdout. It does not use
// exec's pipe for stdout, which would be closed at exit before the last output was read.
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
	RemoveGroup(p.group)
	p.record.remove()
	if p.stdin != nil {
		_ = p.stdin.Close()
	}
	if p.stdout != nil {
		_ = p.stdout.Close()
	}
}

// run starts and awaits the child on one locked thread. The kernel sends the parent-death
// signal when the thread that started the child ends, not when the process does, so this thread
// must live as long as the child.
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
	RemoveGroup(p.group)
	p.record.remove()
	close(p.done)
}

// reap waits for the child's exit and kills its remaining descendants. Until the child is
// reaped, its pid and the group's id cannot be reused.
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

// killRest kills the group of the ended child and its descendants in other groups. They may be
// forking, so it repeats until it finds none.
func (p *Process) killRest() {
	_ = p.signal(syscall.SIGKILL)
	p.mu.Lock()
	p.reaped = true
	p.mu.Unlock()
	killGroup(p.group)
	for tries := 0; killMarked(p.mark) > 0 && tries < 100; tries++ {
		runtime.Gosched()
	}
}

// signal signals the whole group, unless the child was reaped.
func (p *Process) signal(s syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reaped {
		return nil
	}
	if err := signalGroup(p.cmd.Process.Pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("signal process group: %w", err)
	}
	return nil
}

// Pid returns the process id of the child, which is also its group's id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Stdin returns the child's stdin, which is closed when the child ends; nil with
// Command.Output.
func (p *Process) Stdin() io.WriteCloser { return p.stdin }

// Stdout can be read to its end even after the child has ended; nil with Command.Output.
func (p *Process) Stdout() io.ReadCloser { return p.stdout }

// Tail returns the last 50 lines of stderr, complete once Done is closed.
func (p *Process) Tail() []string { return p.stderr.lines() }

// Done is closed when the child and its group have ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait waits for the end and returns nil after exit status 0, otherwise an *exec.ExitError or
// the error of the output.
func (p *Process) Wait() error {
	<-p.done
	return p.err
}

// Stop sends the group SIGINT, then SIGTERM, then SIGKILL, with grace between the steps
// (DefaultGrace if not positive), and returns when it has ended. When ctx ends it kills at
// once. When the child has ended, the remainder of its group is killed without waiting.
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

// gone reports whether the child ended within wait and before ctx ended.
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

// Kill kills the group and returns when it has ended.
func (p *Process) Kill() error {
	if err := p.signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-p.done
	return nil
}
