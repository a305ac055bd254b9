package model

import (
	"context"
	"fmt"
	"iter"
	"time"

	"bellhop/agent"
)

// Bounds of trying again.
const (
	maxTries = 5
	maxWait  = 60 * time.Second
)

// dialect is one kind of API.
type dialect interface {
	// try makes one request and emits what comes of it, until emit returns
	// false. The usage comes before the calls, which come at the end: a call of
	// an answer that broke off is none.
	try(ctx context.Context, conversation []agent.Message, tools []agent.ToolSpec, emit func(agent.Delta) bool) error
}

type completer struct {
	dialect  dialect
	provider Provider
	model    string
	opts     Options
	pause    func(context.Context, time.Duration) error // pause, but in tests
}

// Complete implements agent.Completer.
func (c *completer) Complete(ctx context.Context, conversation []agent.Message, tools []agent.ToolSpec) iter.Seq2[agent.Delta, error] {
	return func(yield func(agent.Delta, error) bool) {
		for try := 1; ; try++ {
			spoke, left := false, false
			err := c.try(ctx, conversation, tools, func(delta agent.Delta) bool {
				spoke = true
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
			if !f.again || spoke || try == maxTries || wait > maxWait {
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

// try gives one try up when the model is silent for too long.
func (c *completer) try(ctx context.Context, conversation []agent.Message, tools []agent.ToolSpec, emit func(agent.Delta) bool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(c.opts.Silence, func() { cancel(errSilent) })
	defer silence.Stop()
	err := c.dialect.try(ctx, conversation, tools, func(delta agent.Delta) bool {
		silence.Stop() // the reader of the deltas may take its time
		defer silence.Reset(c.opts.Silence)
		return emit(delta)
	})
	if context.Cause(ctx) == errSilent { //nolint:errorlint // our own, never wrapped
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
