package agenthost

import (
	"context"
	"sync"
	"time"

	"bellhop/agenthost/core"
	"bellhop/protocol"
)

// How long Run waits at its end: for interrupted turns (an agent that ignores an
// interrupt is killed after 6 s), for programs to close, and for goroutines that ignore
// their context. With DrainTimeout it stays below the 10 s that the end of a process may
// take.
const (
	turnsLimit  = 6500 * time.Millisecond
	closeWait   = 500 * time.Millisecond
	endLimit    = 8500 * time.Millisecond // for all but leaveBehind
	leaveBehind = 250 * time.Millisecond
)

// Run brings events to brokers until ctx ends. Then it interrupts the agents,
// journals their finish, sends what it can within DrainTimeout, and ends every
// stream. Call it once.
func (h *Host) Run(ctx context.Context) error {
	h.enter(running)
	for _, s := range h.all() {
		s.mu.Lock()
		s.wakeDelivery()
		s.mu.Unlock()
	}
	<-ctx.Done()

	began := time.Now()
	h.enter(draining)
	h.stopTurns()
	h.drain()
	h.stopPosting()
	h.stopWork()
	h.activity.stop()
	h.closeSessions(max(closeWait, endLimit-time.Since(began))) // the time that turns and outboxes left
	h.enter(stopped)
	h.wait(&h.wg, leaveBehind)
	if client, ok := h.opts.Poster.(interface{ CloseIdleConnections() }); ok {
		client.CloseIdleConnections()
	}
	return nil
}

// wait waits for wg at most so long: an agent that never returns must not keep the
// process.
func (h *Host) wait(wg *sync.WaitGroup, most time.Duration) {
	done := make(chan struct{})
	go func() {
		wg.Wait()
		close(done)
	}()
	limit := time.NewTimer(most)
	defer limit.Stop()
	select {
	case <-done:
	case <-limit.C:
		h.opts.Log.Error("an agent does not end in time; the host ends without it")
	}
}

func (h *Host) enter(p phase) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.phase = p
}

func (h *Host) stopTurns() {
	ctx, cancel := context.WithTimeout(context.Background(), turnsLimit)
	defer cancel()
	var wg sync.WaitGroup
	for _, s := range h.all() {
		s.mu.Lock()
		s.dropQueue() // before the open turn ends, so that their finish is posted too
		s.mu.Unlock()
		wg.Go(func() {
			if err := s.stopTurn(ctx, protocol.ReasonHostRestarted); err != nil {
				h.opts.Log.Error("a turn is still open; the next start ends it", "session", s.id, "error", err)
			}
		})
	}
	wg.Wait()
}

// drain waits until nothing is left to send, for as long as DrainTimeout.
func (h *Host) drain() {
	limit := time.NewTimer(h.opts.DrainTimeout)
	defer limit.Stop()
	watch := h.WatchStatus()
	defer watch.Close()
	for h.posts() {
		select {
		case <-watch.C:
		case <-limit.C:
			return
		}
	}
}

func (h *Host) posts() bool {
	for _, s := range h.all() {
		s.mu.Lock()
		posts := s.state.Undelivered()
		s.mu.Unlock()
		if posts {
			return true
		}
	}
	return false
}

func (h *Host) closeSessions(most time.Duration) {
	var wg sync.WaitGroup
	for _, s := range h.all() {
		s.mu.Lock()
		for i := range s.timers {
			stopTimer(&s.timers[i])
		}
		s.stream.Close()
		if s.state.Delivery.Unsaved {
			_, _ = s.apply(core.PositionSaved{}) // best effort: otherwise events are sent twice, which is harmless
		}
		s.mu.Unlock()
		wg.Go(s.closeAgent)
	}
	h.wait(&wg, most)
}
