package broker

import (
	"context"
	"sync/atomic"
	"time"

	"bellhop/protocol"
)

// A stream comes from the host, rows come by the webhook. A reader that saw something
// in the stream may ask for its row before the row is there. Such a request waits.

const (
	awaitDefault = 5 * time.Second
	awaitLimit   = 30 * time.Second
	awaitFirst   = 10 * time.Millisecond
	awaitLast    = 250 * time.Millisecond // the longest pause; when it is reached, the host is asked too
	maxAwaiting  = 256                    // requests that wait at once; further ones are answered at once
)

// awaiting counts the requests of this process that wait.
var awaiting atomic.Int64

// Await names what a reader has seen in a stream and expects among the rows.
type Await struct {
	AtLeast *int64 // seq of an event in the task's current epoch
	Turn    string // a turn that has ended
	Wait    string // how long, such as "5s" (the default); at most 30s
}

func (a Await) limit() (time.Duration, error) {
	switch {
	case a.AtLeast != nil && *a.AtLeast < 1:
		return 0, protocol.Errorf(protocol.CodeInvalid, "atLeast must be the seq of an event, from 1")
	case a.Wait == "":
		return awaitDefault, nil
	case a.AtLeast == nil && a.Turn == "":
		return 0, &protocol.Error{
			Code: protocol.CodeInvalid, Message: "wait needs turn or atLeast",
			Hint: "Send turn=<turnId>, or atLeast=<seq of the finish event>",
		}
	}
	limit, err := time.ParseDuration(a.Wait)
	if err != nil || limit < 0 || limit > awaitLimit {
		return 0, &protocol.Error{
			Code: protocol.CodeInvalid, Message: "wait must be a duration from 0s to 30s", Hint: `Send for example wait=5s`,
		}
	}
	return limit, nil
}

// await waits until a task's rows contain what a reader has seen. It returns true when
// the time passed first.
func (s *Tasks) await(ctx context.Context, userID, id string, a Await) (behind bool, err error) {
	limit, err := a.limit()
	if err != nil || a.AtLeast == nil && a.Turn == "" {
		return false, err
	}
	arrived, err := pollUntil(ctx, limit, func() (bool, error) { return s.arrived(ctx, userID, id, a) }, func() {
		if s.Reconciler != nil {
			s.Reconciler.Wake(id)
		}
	})
	return !arrived, err
}

func (s *Tasks) arrived(ctx context.Context, userID, id string, a Await) (bool, error) {
	task, err := s.Store.Task(ctx, userID, id)
	if err != nil || a.AtLeast != nil && task.Cursor.Seq < *a.AtLeast {
		return false, err
	}
	if a.Turn == "" {
		return true, nil
	}
	turns, err := s.Updater.Store.Turns(ctx, id, []string{a.Turn})
	return err == nil && len(turns) == 1 && turns[0].State == TurnClosed, err
}

// pollUntil calls look with growing pauses until it returns true or an error, limit has
// passed, or ctx ends. It calls ask once, as soon as the pauses have their full length.
func pollUntil(ctx context.Context, limit time.Duration, look func() (bool, error), ask func()) (bool, error) {
	if done, err := look(); done || err != nil {
		return done, err
	}
	defer awaiting.Add(-1)
	if awaiting.Add(1) > maxAwaiting {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	asked := false
	for pause := awaitFirst; ; pause = min(2*pause, awaitLast) {
		if !asked && pause == awaitLast {
			asked = true
			ask()
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return look()
		}
		if done, err := look(); done || err != nil {
			return done, err
		}
	}
}
