package inbound

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Limits of reliability IN-10.
const (
	perSecond  = 50
	burst      = 200
	wrongLimit = 200 // in a window; the 200th is refused as too many
	window     = time.Minute

	maxRemembered = 50_000 // names; beyond it idle ones are forgotten
)

// taskLimits lets each task 50 requests a second, 200 at once.
type taskLimits struct {
	mu     sync.Mutex
	byTask map[string]*rate.Limiter
}

func newTaskLimits() *taskLimits { return &taskLimits{byTask: map[string]*rate.Limiter{}} }

func (l *taskLimits) allow(taskID string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	limiter, ok := l.byTask[taskID]
	if !ok {
		if len(l.byTask) >= maxRemembered {
			l.forget(now)
		}
		limiter = rate.NewLimiter(perSecond, burst)
		l.byTask[taskID] = limiter
	}
	return limiter.AllowN(now, 1)
}

func (l *taskLimits) forget(now time.Time) {
	for task, limiter := range l.byTask {
		if limiter.TokensAt(now) >= burst {
			delete(l.byTask, task)
		}
	}
}

// wrongSignatures counts tokens that no secret of the task signed, per address
// and task. It slows further wrong ones; a right token never meets it.
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

// add counts one more and says how long its sender should wait; 0 below the limit.
func (w *wrongSignatures) add(address, task string, now time.Time) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	who := sender{address, task}
	c, ok := w.counts[who]
	if !ok || !now.Before(c.until) {
		if !ok && len(w.counts) >= maxRemembered {
			w.forget(now)
		}
		c = &count{until: now.Add(window)}
		w.counts[who] = c
	}
	c.n++
	if c.n < wrongLimit {
		return 0
	}
	return c.until.Sub(now)
}

// forget drops what is over. If nothing is, everything goes: counting wrong
// tokens is a courtesy, memory is not.
func (w *wrongSignatures) forget(now time.Time) {
	for who, c := range w.counts {
		if !now.Before(c.until) {
			delete(w.counts, who)
		}
	}
	if len(w.counts) >= maxRemembered {
		clear(w.counts)
	}
}
