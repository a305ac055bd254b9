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

// stdoutGrace is how long the stdout of an ended server may stay open. Only a descendant that
// was not found can keep it open.
const stdoutGrace = time.Second

// Server is a process that became healthy.
type Server struct {
	info         Info
	spec         Spec
	owner        Owner
	process      *process.Process
	ready        chan struct{} // closed at the ready line
	done         chan struct{} // closed when the process ended and its stdout was read
	wanted       atomic.Bool
	exitNotified chan struct{} // closed after the subscribers were notified of the end
}

// Info describes the server.
func (s *Server) Info() Info { return s.info }

// Done is closed when the server and its process group have ended.
func (s *Server) Done() <-chan struct{} { return s.done }

// Exit waits for Done and returns how the server ended.
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
		info:  Info{Key: spec.Key, Port: port, Pid: child.Pid()},
		ready: make(chan struct{}), done: make(chan struct{}), exitNotified: make(chan struct{}),
	}
	s.owner, _ = identify(child.Pid()) // if it has ended already, Done reports that
	if spec.Ready == nil {
		close(s.ready)
	}
	go s.read()
	return s, nil
}

// read waits for the ready line and then discards further output, so that the program never
// blocks on a full pipe.
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

// errEnded means that the program ended before it was healthy.
var errEnded = errors.New("it ended before it was ready")

// await waits until the server is healthy.
func (s *Server) await(ctx context.Context, o *Options) error {
	select {
	case <-s.ready:
	case <-s.done:
		return s.startFailure()
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
			return s.startFailure()
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("it is not healthy: %w", err)
		}
	}
}

// probe checks once. A response counts only if the port belongs to the server: another program,
// even of the same kind, might have sent it.
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

func (s *Server) startFailure() error {
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
