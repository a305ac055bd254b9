package usershell

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"slices"
	"sync"
	"time"

	"bellhop/internal/process"
	"bellhop/protocol"
)

const (
	// window is how many bytes a screen may get before it acknowledges any.
	window = 256 << 10
	// kept is how many bytes of the newest output are shown again to the next screen.
	kept = 64 << 10
	// readSize is how much output is read at once.
	readSize = 16 << 10
	// maxUnread is how much may be typed that the programs of the terminal have not read.
	maxUnread = 1 << 20
	// awayPause is the pause after each read without a screen, so that a flood does not use the host.
	awayPause = 20 * time.Millisecond
	killGrace = 500 * time.Millisecond
)

// Why a shell has ended, or a screen was left.
var (
	ErrExited     = errors.New("the shell has ended")
	ErrIdle       = errors.New("nothing was typed for too long")
	ErrReplaced   = errors.New("another page shows this terminal now")
	ErrSession    = errors.New("the session has ended")
	ErrUnread     = errors.New("more was typed than the programs of the terminal read")
	errNotStarted = errors.New("the shell cannot be started")
)

// Size is the size of a terminal in characters.
type Size struct{ Columns, Rows uint16 }

// MaxSide is the most columns or rows of a terminal.
const MaxSide = 1000

// Check returns CodeInvalid for a size that no terminal has.
func (s Size) Check() error {
	if s.Columns < 1 || s.Rows < 1 || s.Columns > MaxSide || s.Rows > MaxSide {
		return protocol.Errorf(protocol.CodeInvalid, "columns and rows must be 1 to %d", MaxSide)
	}
	return nil
}

// Screen shows a shell.
type Screen interface {
	// Begin shows the newest output of a shell. Show follows it. isRepeated: a screen has shown the shell before.
	Begin(last []byte, isRepeated bool) error
	// Show writes output. An error means that the screen is gone. It is called by one goroutine at a time, and may take
	// long: it holds nothing but this shell's output.
	Show(output []byte) error
	// Leave closes the screen: because of the shell's end with its exit code, or of another reason. It returns at once.
	Leave(cause error, exitCode int)
}

// Shell is a shell that runs.
type Shell struct {
	ID, Session string

	child *process.Process
	now   func() time.Time

	output sync.Mutex // held while a screen is shown to, before mu, so that output keeps its order

	mu      sync.Mutex
	ready   sync.Cond // the window opened, or the screen changed
	typed   sync.Cond // frames came, or the shell ends
	frames  []byte    // for the helper
	screen  Screen    // nil: away
	isShown bool      // or was once
	unacked int
	last    []byte // the newest output
	active  time.Time
	ended   bool
	cause   error // why it was ended; nil = it exited by itself
}

// newShell is a shell that child runs. The caller calls run.
func newShell(session string, child *process.Process, now func() time.Time) *Shell {
	s := &Shell{
		ID: protocol.NewID(), Session: session, child: child, now: now, active: now(),
	}
	s.ready.L, s.typed.L = &s.mu, &s.mu
	return s
}

// run passes input and output on until the shell has ended.
func (s *Shell) run() {
	var written sync.WaitGroup
	written.Go(s.write)
	s.forward()
	s.mu.Lock()
	s.ended = true
	s.typed.Broadcast()
	s.mu.Unlock()
	_ = s.child.Stdin().Close()
	written.Wait()
}

// Acknowledge opens the window of a screen by bytes that it has shown.
func (s *Shell) Acknowledge(screen Screen, bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.screen == screen && bytes > 0 {
		s.unacked = max(0, s.unacked-bytes)
		s.ready.Broadcast()
	}
}

// Show shows the shell on a screen, beginning with its newest output. A screen that showed it before is left.
func (s *Shell) Show(screen Screen) error {
	s.leave(ErrReplaced) // also ends a write to a screen that takes nothing
	s.output.Lock()
	defer s.output.Unlock()
	s.leave(ErrReplaced)
	return s.begin(screen)
}

// Move shows the shell on another screen of the same page, unless it is shown elsewhere by now: ErrReplaced. The first
// one is not left.
func (s *Shell) Move(from, to Screen) error {
	s.output.Lock()
	defer s.output.Unlock()
	s.mu.Lock()
	if s.screen != from {
		s.mu.Unlock()
		return ErrReplaced
	}
	s.screen, s.active = nil, s.now()
	s.mu.Unlock()
	return s.begin(to)
}

// leave leaves the screen, if there is one.
func (s *Shell) leave(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.screen != nil {
		s.screen.Leave(cause, 0)
		s.screen, s.active = nil, s.now()
		s.ready.Broadcast()
	}
}

// begin shows the newest output on a screen, which gets what follows. ErrExited: nothing follows. The caller holds
// output.
func (s *Shell) begin(screen Screen) error {
	s.mu.Lock()
	last, isRepeated := slices.Clone(s.last), s.isShown
	s.mu.Unlock()
	if err := screen.Begin(last, isRepeated); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return ErrExited
	}
	s.screen, s.isShown, s.unacked, s.active = screen, true, len(last), s.now()
	s.ready.Broadcast()
	return nil
}

// Hide takes the shell off a screen, which is gone. The shell goes on.
func (s *Shell) Hide(screen Screen) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.screen == screen {
		s.screen, s.active = nil, s.now()
		s.ready.Broadcast()
	}
}

// forward reads output until it ends, only as fast as the screen shows it.
func (s *Shell) forward() {
	buffer := make([]byte, readSize)
	for {
		s.awaitWindow()
		n, err := s.child.Stdout().Read(buffer)
		away := n > 0 && s.show(buffer[:n])
		if err != nil {
			break
		}
		if away {
			s.pause()
		}
	}
	_ = s.child.Stdout().Close()
}

// awaitWindow waits while a screen has a full window. A shell that is ended is read to its end.
func (s *Shell) awaitWindow() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.screen != nil && s.unacked >= window && s.cause == nil {
		s.ready.Wait()
	}
}

// show keeps output and shows it. It reports whether there is no screen.
func (s *Shell) show(output []byte) (away bool) {
	s.output.Lock()
	defer s.output.Unlock()
	s.mu.Lock()
	s.keep(output)
	screen := s.screen
	s.unacked += len(output)
	s.mu.Unlock()
	if screen == nil {
		return true
	}
	if screen.Show(output) != nil {
		s.Hide(screen)
		return true
	}
	return false
}

// keep adds output to the newest. The rest begins with a line, so that neither a character nor a colour is cut.
func (s *Shell) keep(output []byte) {
	s.last = append(s.last, output...)
	more := len(s.last) - kept
	if more <= 0 {
		return
	}
	if line := bytes.IndexByte(s.last[more:], '\n'); line >= 0 {
		more += line + 1
	}
	s.last = append(s.last[:0], s.last[more:]...)
}

func (s *Shell) pause() {
	timer := time.NewTimer(awayPause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.child.Done():
	}
}

// end ends the shell and all of its programs.
func (s *Shell) end(cause error) {
	s.mu.Lock()
	if s.cause == nil {
		s.cause = cause
	}
	s.ready.Broadcast()
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 2*killGrace)
	defer cancel()
	_ = s.child.Stdin().Close()
	_ = s.child.Stop(ctx, killGrace)
}

// finish leaves the screen of a shell whose output has ended.
func (s *Shell) finish() {
	code, exit := 0, (*exec.ExitError)(nil)
	if errors.As(s.child.Wait(), &exit) {
		code = exit.ExitCode()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	cause := s.cause
	if cause == nil {
		cause = ErrExited
	}
	if s.screen != nil {
		s.screen.Leave(cause, code)
		s.screen = nil
	}
}
