package stdio

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"bellhop/internal/jsonlines"
	"bellhop/internal/process"
)

// outboxSize is how many lines are queued for a program that does not read.
const outboxSize = 64

// stdoutGrace is how long the stdout of an exited program may stay open. After the
// exit, only a descendant that the host could not find holds it open.
const stdoutGrace = time.Second

// Child is a running or exited program.
type Child struct {
	Log *slog.Logger

	process     *process.Process
	grace       time.Duration
	outbox      chan any
	inputClosed chan struct{} // closed when the program's input ends; no turn begins afterwards
	closeInput  sync.Once
	signals     sync.Once
	ended       chan struct{} // closed when the program has exited and its last line is handled
}

func startChild(command process.Command, grace time.Duration, log *slog.Logger) (*Child, error) {
	started, err := process.Start(command)
	if err != nil {
		return nil, err
	}
	c := &Child{
		Log:         log,
		process:     started,
		grace:       grace,
		outbox:      make(chan any, outboxSize),
		inputClosed: make(chan struct{}),
		ended:       make(chan struct{}),
	}
	go c.write()
	return c, nil
}

// Send queues a line, which is encoded as JSON. It returns only ctx's error. If the
// program has exited, the line is dropped without an error: the engine notices the
// exit.
func (c *Child) Send(ctx context.Context, line any) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	select {
	case c.outbox <- line:
	case <-c.process.Done():
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// Offer queues a line without blocking: if the queue is full, the line is dropped.
func (c *Child) Offer(line any) {
	select {
	case c.outbox <- line:
	default:
	}
}

// Write queues one line of JSON. It makes Child an io.Writer for codecs that encode
// by themselves.
func (c *Child) Write(line []byte) (int, error) {
	select {
	case c.outbox <- json.RawMessage(bytes.Clone(line)):
		return len(line), nil
	case <-c.process.Done():
		return 0, io.ErrClosedPipe
	}
}

// Ended is closed when the program has exited and its last line has been handled.
func (c *Child) Ended() <-chan struct{} { return c.ended }

// CloseInput ends the program's input, so that it accepts no further turn.
func (c *Child) CloseInput() { c.closeInput.Do(func() { close(c.inputClosed) }) }

// IsEnding reports whether the program can accept no further turn.
func (c *Child) IsEnding() bool {
	select {
	case <-c.inputClosed:
	case <-c.process.Done():
	case <-c.ended:
	default:
		return false
	}
	return true
}

// Signal ends the program with signals, once and in the background.
func (c *Child) Signal() {
	c.signals.Do(func() {
		c.CloseInput()
		go func() {
			if err := c.process.Stop(context.Background(), c.grace); err != nil {
				c.Log.Error("agent cannot be stopped", "err", err)
			}
		}()
	})
}

// stop ends the program by the end of its input, then by signals. When ctx ends,
// the program is killed immediately.
func (c *Child) stop(ctx context.Context) error {
	c.CloseInput()
	grace := time.NewTimer(c.grace)
	defer grace.Stop()
	select {
	case <-c.ended:
		return nil
	case <-grace.C:
	case <-ctx.Done():
	}
	if err := c.process.Stop(ctx, c.grace); err != nil {
		return err
	}
	<-c.ended
	return nil
}

// ExitSummary describes the exit of the program, with the last lines of its stderr.
func (c *Child) ExitSummary(what string) string {
	how := "it ended"
	if err := c.process.Wait(); err != nil {
		how = err.Error()
	}
	return strings.Join(append([]string{what + ": " + how}, c.process.Tail()...), "\n")
}

// write writes queued lines to the program. A blocked write ends with the program.
func (c *Child) write() {
	defer func() { _ = c.process.Stdin().Close() }()
	writer := jsonlines.NewWriter(c.process.Stdin())
	for {
		select {
		case line := <-c.outbox:
			if err := writer.Write(line); err != nil {
				c.Log.Warn("agent does not read its input", "err", err)
				return
			}
		case <-c.inputClosed:
			return
		case <-c.process.Done():
			return
		}
	}
}

// run passes every line to handle until the program has exited. A program that has
// closed its stdout can send nothing more, so run kills it after the grace period.
func (c *Child) run(maxLine int, handle func(line []byte, err error), hangUp func()) {
	defer close(c.ended)
	stdout := c.process.Stdout()
	read, closed := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(closed)
		<-c.process.Done()
		within(stdoutGrace, read)
		_ = stdout.Close()
	}()
	readLines(jsonlines.NewReader(stdout, maxLine), maxLine, handle)
	close(read)
	hangUp()
	if !within(c.grace, c.process.Done()) {
		if err := c.process.Kill(); err != nil {
			c.Log.Error("agent cannot be killed", "err", err)
		}
	}
	<-closed
}

func readLines(lines *jsonlines.Reader, maxLine int, handle func(line []byte, err error)) {
	for {
		line, err := lines.Next()
		switch {
		case errors.Is(err, jsonlines.ErrTooLong):
			handle(nil, overlong{maxLine})
		case err != nil:
			return
		case len(bytes.TrimSpace(line)) > 0:
			handle(line, nil)
		}
	}
}

// overlong is the error of a line over a limit, for a notice to the user.
type overlong struct{ limit int }

func (o overlong) Error() string { return fmt.Sprintf("a line over %d MiB", (o.limit+1<<19)>>20) }

// within reports whether done is closed within the limit.
func within(limit time.Duration, done <-chan struct{}) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}
