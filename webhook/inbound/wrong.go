package inbound

import (
	"sync"
	"time"
)

// Limits of reliability IN-10: of a task's right requests, and of wrong
// signatures per address and task in a window, of which the 200th is refused as
// too many.
const (
	perSecond  = 50
	burst      = 200
	wrongLimit = 200
	window     = time.Minute

	maxRemembered = 50_000 // tasks or senders
)

// wrongSignatures counts tokens that the secret of their task did not sign. It
// slows further wrong ones; a right token never meets it.
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

// add counts one more and says how long its sender should wait, 0 below the
// limit, and whether this is the one that reached it.
func (w *wrongSignatures) add(address, task string, now time.Time) (wait time.Duration, first bool) {
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
		return 0, false
	}
	return c.until.Sub(now), c.n == wrongLimit
}

// forget drops what is over. If nothing is, everything goes: slowing down wrong
// tokens is worth less than memory.
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
