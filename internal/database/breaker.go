package database

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

const (
	timeoutsToOpen = 2                      // in a row, with no answer in between
	probeInterval  = 500 * time.Millisecond // between two probes of a database that is silent
)

var errBreakerOpen = errors.New("it has not answered lately; a probe is under way")

// breaker spares callers the wait for a database that does not answer. Two
// timeouts in a row open it: every statement then fails at once, while one
// goroutine probes the database with a new connection. The first answer closes
// the breaker.
//
//	closed ── 2 timeouts ──► open ── the probe is answered ──► closed
type breaker struct {
	probe func(context.Context) error // on a connection of its own
	log   *slog.Logger

	mu       sync.Mutex
	timeouts int
	open     bool
	closed   bool // the database was closed: no more probes
	cancel   context.CancelFunc
	probing  sync.WaitGroup
}

// allow returns errBreakerOpen while the breaker is open.
func (b *breaker) allow() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open {
		return errBreakerOpen
	}
	return nil
}

// answered notes that the database gave an answer, an error included.
func (b *breaker) answered() {
	b.mu.Lock()
	b.timeouts = 0
	b.mu.Unlock()
}

// timedOut notes that the database gave none in time.
func (b *breaker) timedOut() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.timeouts++
	if b.timeouts < timeoutsToOpen || b.open || b.closed {
		return
	}
	b.open = true
	ctx, cancel := context.WithCancel(context.Background())
	b.cancel = cancel
	b.log.Warn("the database does not answer: requests are refused until it does")
	b.probing.Go(func() { b.probeUntilAnswered(ctx) })
}

func (b *breaker) probeUntilAnswered(ctx context.Context) {
	ticker := time.NewTicker(probeInterval)
	defer ticker.Stop()
	for b.probe(ctx) != nil {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open, b.timeouts = false, 0
	b.cancel()
	b.log.Info("the database answers again")
}

// close ends the probe.
func (b *breaker) close() {
	b.mu.Lock()
	b.closed = true
	if b.cancel != nil {
		b.cancel()
	}
	b.mu.Unlock()
	b.probing.Wait()
}
