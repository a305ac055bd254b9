package database

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

const (
	timeoutsToOpen = 2                      // in a row, with no response in between
	probeInterval  = 500 * time.Millisecond // between two probes of an unresponsive database
)

var errBreakerOpen = errors.New("it has not answered lately; a probe is under way")

// breaker saves callers the wait for an unresponsive database. Two timeouts in a
// row open it: every statement then fails at once, while one goroutine probes the
// database with a new connection. The first response closes the breaker.
//
//	closed ── 2 timeouts ──► open ── the probe gets a response ──► closed
type breaker struct {
	probe func(context.Context) error // on its own connection
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

// answered records that the database responded, even with an error.
func (b *breaker) answered() {
	b.mu.Lock()
	b.timeouts = 0
	b.mu.Unlock()
}

// timedOut records that the database did not respond in time.
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
