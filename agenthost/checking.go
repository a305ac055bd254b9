package agenthost

import (
	"context"
	"errors"

	"bellhop/protocol"
)

// Checking shows the open questions as being checked, or waiting again.
func (o *output) Checking(lost bool) error {
	return o.t.step(func(b *batch) {
		t := o.t
		if lost == (t.back != nil) {
			return
		}
		if len(t.s.questions) > 0 {
			b.status(t.rec.ID, protocol.StatusIdle, reasonOpen(lost))
		}
		b.then(func() {
			if lost {
				t.back = make(chan struct{})
			} else {
				t.release()
			}
		})
	})
}

func reasonOpen(lost bool) string {
	if lost {
		return protocol.ReasonChecking
	}
	return protocol.ReasonWaiting
}

// release lets held answers go. The session's lock is held.
func (t *turn) release() {
	if t.back != nil {
		close(t.back)
		t.back = nil
	}
}

// handOver gives the agent an answer once it can be reached: one that came while
// its connection was lost is held until then.
func (t *turn) handOver(ctx context.Context, a Answer) (Answer, error) {
	t.s.mu.Lock()
	back := t.back
	t.s.mu.Unlock()
	if back == nil {
		return a, nil
	}
	select {
	case <-back:
		return a, nil
	case <-ctx.Done():
	case <-t.ctx.Done():
		ctx = t.ctx
	}
	if errors.Is(context.Cause(ctx), ErrExpired) {
		return t.tooLate(), nil
	}
	return Answer{}, context.Cause(ctx)
}

// tooLate is the outcome of a question that was answered when the agent no longer
// had it. The journal keeps the answer: the user gave it.
func (t *turn) tooLate() Answer {
	(&output{t}).Notice("warning", "The answer came too late: the agent no longer waited for it")
	return Answer{Expired: true, Reason: reasonExpired}
}
