package api

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"bellhop/agent/api/history"
)

// recordTime bounds one write to the history. A session does not wait longer for its disk.
const recordTime = 10 * time.Second

// record writes a session's lines to the history. Lines that could not be written stay in
// memory, and the next write has them again. A nil record does nothing.
type record struct {
	store *history.Store
	id    string
	log   *slog.Logger

	mu      sync.Mutex
	next    int // number of the first pending line
	pending [][]byte
	failed  error // of the newest write
}

// beginHistory begins the history of a session whose agent is open.
func (s *Server) beginHistory(ctx context.Context, one *session) error {
	store := s.config.History
	if store == nil {
		return nil
	}
	if err := store.Room(ctx); err != nil {
		return err
	}
	err := store.Begin(ctx, history.Session{
		ID: one.id, Model: one.model, TokenHash: one.tokenHash, CreatedAt: one.created,
	})
	if err == nil {
		one.record = &record{store: store, id: one.id, log: s.config.Log.With("session", one.id)}
		one.hub.Record(one.record.add)
	}
	return err
}

// add writes lines; it is called before clients get them.
func (r *record) add(lines [][]byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending = append(r.pending, lines...)
	r.flush()
}

// flush writes the pending lines. Called under mu.
func (r *record) flush() {
	if len(r.pending) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), recordTime)
	defer cancel()
	before := r.failed
	if r.failed = r.store.Append(ctx, r.id, r.next, r.pending); r.failed != nil {
		if before == nil {
			r.log.Error("the history cannot be written; the session accepts no input until it can", "err", r.failed)
		}
		return
	}
	if before != nil {
		r.log.Info("the history can be written again")
	}
	r.next += len(r.pending)
	r.pending = nil
}

// ready reports whether the history can take another turn.
func (r *record) ready() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	r.flush()
	err := r.failed
	r.mu.Unlock()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), recordTime)
	defer cancel()
	return r.store.Room(ctx)
}

// end writes the pending lines and marks the session as ended.
func (r *record) end(reason string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flush()
	ctx, cancel := context.WithTimeout(context.Background(), recordTime)
	defer cancel()
	if err := r.store.End(ctx, r.id, reason); err != nil {
		r.log.Error("the end of the session could not be stored; the next start stores it", "err", err, "lost_lines",
			len(r.pending))
	}
}
