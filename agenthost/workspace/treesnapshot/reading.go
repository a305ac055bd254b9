package treesnapshot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"bellhop/agenthost/workspace/treereader"
	"bellhop/internal/process"
)

// readingTime bounds one reading.
const readingTime = 20 * time.Second

// maxComplaint bounds what is taken of a reader's stderr, in bytes.
const maxComplaint = 4 << 10

// processFacts is the answer of a reader that runs as a process.
type processFacts struct {
	answer   *treereader.Answer
	cmd      *exec.Cmd
	ctx      context.Context //nolint:containedctx // of the process, which lives as long as this
	cancel   context.CancelFunc
	stderr   bytes.Buffer
	hasEnded bool
}

// Process returns a Read that starts the tree reader by a command, which the caller has confined. context.
// DeadlineExceeded: the reading takes too long.
func Process(c process.Command, r *treereader.Request) Read {
	return func(ctx context.Context, known treereader.Files) (Facts, error) {
		var request bytes.Buffer
		if err := treereader.WriteRequest(&request, r, known); err != nil {
			return nil, err
		}
		f := &processFacts{}
		f.ctx, f.cancel = context.WithTimeout(ctx, readingTime)
		f.cmd = exec.CommandContext(f.ctx, c.Args[0], c.Args[1:]...)
		f.cmd.Dir, f.cmd.Env, f.cmd.Stdin, f.cmd.Stderr = c.Dir, c.Env, &request, &firstBytes{to: &f.stderr, left: maxComplaint}
		process.KillsGroup(f.cmd)
		f.cmd.WaitDelay = 2 * time.Second
		stdout, err := f.cmd.StdoutPipe()
		if err == nil {
			err = f.cmd.Start()
		}
		if err != nil {
			f.cancel()
			return nil, fmt.Errorf("start the tree reader: %w", err)
		}
		f.answer = treereader.ReadAnswer(stdout, r, known)
		return f, nil
	}
}

// Next implements Facts. If the reader fails, the error has what it wrote to stderr.
func (f *processFacts) Next() (treereader.Fact, error) {
	fact, err := f.answer.Next()
	var limit *treereader.LimitError
	if err == nil || errors.Is(err, io.EOF) || errors.As(err, &limit) {
		return fact, err
	}
	cause := f.ctx.Err()
	f.Close()
	if cause != nil {
		return nil, cause
	}
	if complaint := strings.TrimSpace(f.stderr.String()); complaint != "" {
		err = fmt.Errorf("%w: %s", err, complaint)
	}
	return nil, err
}

// Close kills the reader, if it still runs, and waits for its end.
func (f *processFacts) Close() {
	if !f.hasEnded {
		f.hasEnded = true
		f.cancel()
		_ = f.cmd.Wait() // it was killed, or its answer says more
	}
}

// firstBytes keeps the beginning of what is written.
type firstBytes struct {
	to   *bytes.Buffer
	left int
}

func (w *firstBytes) Write(p []byte) (int, error) {
	n := min(len(p), w.left)
	w.left -= n
	w.to.Write(p[:n])
	return len(p), nil
}
