package model

import (
	"context"
	"fmt"
	"iter"
	"time"

	"bellhop/agent"
)

// Limits of retries.
const (
	maxTries = 5
	maxWait  = 60 * time.Second
)

// emitFunc passes a delta on; it returns false if no more are wanted.
type emitFunc func(agent.Delta) bool

// dialect is one kind of model API.
type dialect interface {
	// try makes one request and emits its deltas until emit returns false. The usage is emitted
	// before the calls, and the calls at the end: a truncated response counts as no response.
	try(ctx context.Context, conversation []agent.Message, tools []agent.ToolSpec, emit emitFunc) error
}

type completer struct {
	dialect  dialect
	provider Provider
	model    string
	opts     Options
	pause    func(context.Context, time.Duration) error // replaced in tests
}

// Complete implements agent.Completer.
func (c *completer) Complete(
	ctx context.Context, conversation []agent.Message, tools []agent.ToolSpec,
) iter.Seq2[agent.Delta, error] {
	return func(yield func(agent.Delta, error) bool) {
		for try := 1; ; try++ {
			emitted, left := false, false
			err := c.try(ctx, conversation, tools, func(delta agent.Delta) bool {
				emitted = true
				left = !yield(delta, nil)
				return !left
			})
			if err == nil || left {
				return
			}
			if ctx.Err() != nil {
				yield(agent.Delta{}, ctx.Err())
				return
			}
			f := c.fault(err)
			wait := f.wait(try)
			if !f.retry || emitted || try == maxTries || wait > maxWait {
				yield(agent.Delta{}, f.report(try, wait))
				return
			}
			notice := fmt.Sprintf("%s; trying again in %s", f.message, wait)
			if !yield(agent.Delta{Notice: notice}, nil) {
				return
			}
			if err := c.pause(ctx, wait); err != nil {
				yield(agent.Delta{}, err)
				return
			}
		}
	}
}

// try cancels one attempt when the model sends nothing for Options.Silence.
func (c *completer) try(
	ctx context.Context, conversation []agent.Message, tools []agent.ToolSpec, emit emitFunc,
) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(c.opts.Silence, func() { cancel(errSilent) })
	defer silence.Stop()
	err := c.dialect.try(ctx, conversation, tools, func(delta agent.Delta) bool {
		silence.Stop() // the consumer of the deltas may be slow
		defer silence.Reset(c.opts.Silence)
		return emit(delta)
	})
	if context.Cause(ctx) == errSilent { //nolint:errorlint // our own error, never wrapped
		return errSilent
	}
	return err
}

func pause(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
