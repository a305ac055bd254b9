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

// outboxSize is how many lines wait for a program that does not read.
const outboxSize = 64

// stdoutGrace is how long the stdout of an ended program may stay open: only a
// descendant that could not be found holds it.
const stdoutGrace = time.Second

// Child is a running or ended program.
type Child struct {
	Log *slog.Logger

	process *process.Process
	grace   time.Duration
	outbox  chan any
	leaving chan struct{} // closed when the input ends; no turn begins after that
	leave   sync.Once
	signals sync.Once
	ended   chan struct{} // closed when the program is gone and its last line handled
}

func startChild(command process.Command, grace time.Duration, log *slog.Logger) (*Child, error) {
	started, err := process.Start(command)
	if err != nil {
		return nil, err
	}
	c := &Child{
		Log:     log,
		process: started,
		grace:   grace,
		outbox:  make(chan any, outboxSize),
		leaving: make(chan struct{}),
		ended:   make(chan struct{}),
	}
	go c.write()
	return c, nil
}

// Send queues a line, which is encoded as JSON. The error is ctx's. A program that is
// gone gets nothing, which is no error: the engine notices its end.
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

// Offer queues a line without waiting: if the program does not read, the line is dropped.
func (c *Child) Offer(line any) {
	select {
	case c.outbox <- line:
	default:
	}
}

// Write queues one line of JSON for codecs that write by themselves.
func (c *Child) Write(line []byte) (int, error) {
	select {
	case c.outbox <- json.RawMessage(bytes.Clone(line)):
		return len(line), nil
	case <-c.process.Done():
		return 0, io.ErrClosedPipe
	}
}

// Ended is closed when the program is gone and its last line has been handled.
func (c *Child) Ended() <-chan struct{} { return c.ended }

// Leave ends the program's input, so that it takes no further turn.
func (c *Child) Leave() { c.leave.Do(func() { close(c.leaving) }) }

// IsLeaving reports whether the program can take no further turn.
func (c *Child) IsLeaving() bool {
	select {
	case <-c.leaving:
	case <-c.process.Done():
	case <-c.ended:
	default:
		return false
	}
	return true
}

// Signal ends the program with signals, in the background and once.
func (c *Child) Signal() {
	c.signals.Do(func() {
		c.Leave()
		go func() {
			if err := c.process.Stop(context.Background(), c.grace); err != nil {
				c.Log.Error("agent cannot be stopped", "err", err)
			}
		}()
	})
}

// stop ends the program: the end of its input, then signals. When ctx ends the program
// is killed at once.
func (c *Child) stop(ctx context.Context) error {
	c.Leave()
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

// ExitSummary describes how the ended program ended, with the last lines of its stderr.
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
		case <-c.leaving:
			return
		case <-c.process.Done():
			return
		}
	}
}

// run passes every line to handle until the program is gone. A program that has closed
// its stdout can send nothing more and is ended.
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
			handle(nil, fmt.Errorf("a line over %d MiB", maxLine>>20))
		case err != nil:
			return
		case len(bytes.TrimSpace(line)) > 0:
			handle(line, nil)
		}
	}
}

// within reports whether done is closed within the time.
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
