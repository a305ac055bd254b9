package servers

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"bellhop/internal/process"
)

// stdoutGrace is how long the stdout of an ended server may stay open; only a
// descendant that nobody found holds it.
const stdoutGrace = time.Second

// Server is a process that was healthy once.
type Server struct {
	info    Info
	spec    Spec
	owner   Owner
	process *process.Process
	ready   chan struct{} // closed at the ready line
	done    chan struct{} // gone, and its stdout read
	wanted  atomic.Bool
	told    chan struct{} // closed when the subscribers know of the end
}

// Info says what runs where.
func (s *Server) Info() Info { return s.info }

// Done is closed when the server and its process group are gone.
func (s *Server) Done() <-chan struct{} { return s.done }

// Exit is how it ended, once Done is closed.
func (s *Server) Exit() Exit {
	<-s.done
	return Exit{Wanted: s.wanted.Load(), Err: s.process.Wait(), Lines: s.process.Tail()}
}

// launch starts the program on a port and reads its stdout.
func launch(spec Spec, port int) (*Server, error) {
	child, err := process.Start(spec.Command(port))
	if err != nil {
		return nil, err
	}
	s := &Server{
		spec: spec, process: child,
		info:  Info{Key: spec.Key, Project: spec.Project, Port: port, Pid: child.Pid()},
		ready: make(chan struct{}), done: make(chan struct{}), told: make(chan struct{}),
	}
	s.owner, _ = identify(child.Pid()) // one that has ended already is noticed by its Done
	if spec.Ready == nil {
		close(s.ready)
	}
	go s.read()
	return s, nil
}

// read waits for the ready line and then drains: a program that cannot write to
// a full pipe stands still.
func (s *Server) read() {
	defer close(s.done)
	stdout := s.process.Stdout()
	read, closed := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(closed)
		<-s.process.Done()
		timer := time.NewTimer(stdoutGrace)
		defer timer.Stop()
		select {
		case <-read:
		case <-timer.C:
		}
		_ = stdout.Close()
	}()
	lines := bufio.NewReader(stdout)
	for waiting := s.spec.Ready != nil; waiting; {
		line, err := lines.ReadString('\n')
		if s.spec.Ready(strings.TrimRight(line, "\r\n")) {
			close(s.ready)
			break
		}
		waiting = err == nil
	}
	_, _ = io.Copy(io.Discard, lines)
	close(read)
	<-closed
	<-s.process.Done()
}

// errEnded says that the program ended before it was healthy.
var errEnded = errors.New("it ended before it was ready")

// await waits until the server is fit for use.
func (s *Server) await(ctx context.Context, o *Options) error {
	select {
	case <-s.ready:
	case <-s.done:
		return s.early()
	case <-ctx.Done():
		return fmt.Errorf("it did not say that it is ready: %w", ctx.Err())
	}
	for {
		err := s.probe(ctx, o)
		if err == nil {
			return nil
		}
		var taken *takenError
		if errors.As(err, &taken) {
			return err
		}
		timer := time.NewTimer(o.ProbeEvery)
		select {
		case <-timer.C:
		case <-s.done:
			timer.Stop()
			return s.early()
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("it is not healthy: %w", err)
		}
	}
}

// probe asks once. An answer from the port counts only if the port is ours:
// another program, even one of the same kind, might have given it.
func (s *Server) probe(ctx context.Context, o *Options) error {
	ctx, cancel := context.WithTimeout(ctx, o.ProbeTimeout)
	defer cancel()
	if s.spec.Health != nil {
		if err := s.spec.Health(ctx, s.info.Port); err != nil {
			return err
		}
	}
	return o.Ports.Verify(s.info.Port, s.owner)
}

func (s *Server) early() error {
	exit := s.Exit()
	err := errEnded
	if exit.Err != nil {
		err = fmt.Errorf("%w: %w", errEnded, exit.Err)
	}
	if len(exit.Lines) > 0 {
		return fmt.Errorf("%w\n%s", err, strings.Join(exit.Lines, "\n"))
	}
	return err
}
