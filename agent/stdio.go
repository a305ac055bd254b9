package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"bellhop/internal/jsonlines"
	"bellhop/protocol"
)

// Stdio serves one session over lines. It returns when in ends (after the current turn), when
// the turn of Options.Task is over, or when ctx ends (the turn is interrupted). It is an error
// if the turn of Options.Task did not end with reason done, or if out cannot be written.
//
// Only protocol lines are written to out. In the latter two cases a goroutine remains in a read
// of in until that returns, because an io.Reader cannot be interrupted.
func Stdio(ctx context.Context, in io.Reader, out io.Writer, opts Options) error {
	opts, err := opts.fill()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	writer := jsonlines.NewWriter(out)
	s, err := newSession(opts, func(line protocol.Line) {
		if err := writer.Write(line); err != nil {
			cancel(fmt.Errorf("stdio: %w", err))
		}
	})
	if err != nil {
		return err
	}
	defer func() { _ = s.root.Close() }()
	input, greeted := make(chan error, 1), make(chan struct{})
	go func() { input <- s.read(ctx, in, greeted) }() // reads before hello is written: a client may write first
	s.emit(s.hello())
	close(greeted)
	task := s.startTask(ctx)

	select {
	case err := <-input:
		return errors.Join(err, s.runOut(ctx), taskError(task))
	case <-task.over():
		return errors.Join(context.Cause(ctx), taskError(task))
	case <-ctx.Done():
		return s.runOut(ctx)
	}
}

// interruptGrace is how long a client may take to read the end of an interrupted turn.
const interruptGrace = 2 * time.Second

// runOut ends the session. The current turn may finish, but only within interruptGrace once ctx has
// ended.
func (s *session) runOut(ctx context.Context) error {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.end()
	}()
	select {
	case <-ended:
		return context.Cause(ctx)
	case <-ctx.Done():
	}
	timer := time.NewTimer(interruptGrace)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
		s.opts.Log.Warn("the client does not read the end of its turn")
	}
	return context.Cause(ctx)
}

// read processes lines until in ends, which is no error. It waits for greeted before it handles
// the first one.
func (s *session) read(ctx context.Context, in io.Reader, greeted <-chan struct{}) error {
	for lines := jsonlines.NewReader(in, protocol.MaxLine); ; {
		line, err := lines.Next()
		<-greeted
		switch {
		case err == nil:
			s.handle(ctx, line)
		case errors.Is(err, jsonlines.ErrTooLong):
			tooLong := protocol.Errorf(protocol.CodeTooLarge, "The line is over %d MiB", protocol.MaxLine>>20)
			s.emit(protocol.RefusalLine("", tooLong, explain(tooLong), nil))
		case errors.Is(err, io.EOF):
			return nil
		default:
			return fmt.Errorf("read input: %w", err)
		}
	}
}

// startTask starts the turn of Options.Task; without one it returns nil.
func (s *session) startTask(ctx context.Context) *turn {
	if s.opts.Task == "" {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.start(ctx, Message{Role: RoleUser, Text: s.opts.Task})
	return s.turn
}

// over returns a channel that is closed at the turn's end; nil without a turn.
func (t *turn) over() <-chan struct{} {
	if t == nil {
		return nil
	}
	return t.done
}

// ErrDenied is the error of a task whose turn ended, but something in it was denied.
var ErrDenied = errors.New("the task is not done: something was denied")

// taskError returns an error if the task's turn did not end with reason done, or had a denial.
func taskError(t *turn) error {
	switch {
	case t == nil:
		return nil
	case t.reason == protocol.WaitingDone && t.denied:
		return ErrDenied
	case t.reason == protocol.WaitingDone:
		return nil
	}
	return protocol.Errorf(protocol.CodeInternal, "The task ended with reason %s", t.reason)
}
