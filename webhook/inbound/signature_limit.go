package inbound

import (
	"sync"
	"time"
)

// Limits of reliability IN-10. Each task may send perSecond requests with bursts of burst. An
// address may send a task wrongLimit-1 wrong signatures per wrongWindow.
const (
	perSecond   = 50
	burst       = 200
	wrongLimit  = 200
	wrongWindow = time.Minute

	maxRemembered = 50_000 // tasks, or pairs of address and task
)

// wrongSignatures counts, per address and task, the tokens that the task's secret did not sign.
// Requests with a valid token are never counted or delayed.
type wrongSignatures struct {
	mu     sync.Mutex
	counts map[sender]*count
}

type sender struct{ address, task string }

type count struct {
	n     int
	until time.Time
}

func newWrongSignatures() *wrongSignatures {
	return &wrongSignatures{counts: map[sender]*count{}}
}

// add counts one wrong signature. It returns how long the sender must wait (0 below the limit),
// and whether this one reached the limit.
func (w *wrongSignatures) add(address, task string, now time.Time) (wait time.Duration, first bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := sender{address, task}
	c, ok := w.counts[key]
	if !ok || !now.Before(c.until) {
		if !ok && len(w.counts) >= maxRemembered {
			w.forget(now)
		}
		c = &count{until: now.Add(wrongWindow)}
		w.counts[key] = c
	}
	c.n++
	if c.n < wrongLimit {
		return 0, false
	}
	return c.until.Sub(now), c.n == wrongLimit
}

// forget drops the windows that ended. If none has, it drops all of them: bounded memory is
// worth more than slowing down wrong tokens.
func (w *wrongSignatures) forget(now time.Time) {
	for key, c := range w.counts {
		if !now.Before(c.until) {
			delete(w.counts, key)
		}
	}
	if len(w.counts) >= maxRemembered {
		clear(w.counts)
	}
}
