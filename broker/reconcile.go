package broker

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"bellhop/internal/failpoint"
	"bellhop/protocol"
)

// Reconciler pulls events from hosts when webhooks may have failed.
type Reconciler struct {
	Store          Store
	Link           Link
	Ingest         *Ingest
	Notifier       Notifier
	CustomAgentURL string // as in Sessions
	Now            func() time.Time
	Log            *slog.Logger

	mu     sync.Mutex
	woken  map[string]bool
	signal chan struct{}
	queues map[string][]string // by host
	tried  map[string]time.Time
}

const (
	pullPage  = 100              // events a request; also Ingest's batch
	silence   = 30 * time.Second // of an open turn, until its host is asked
	unstarted = 11 * time.Minute // of an announced turn: longer than its tokens live
	maxPulls  = 10_000
)

// Task pulls what the host has, then closes the turns that the host does not
// know: those that were unfinished before, are not what the host works on, and
// have no finish. An unreachable host proves nothing.
func (r *Reconciler) Task(ctx context.Context, taskID string) error {
	task, err := r.Store.AnyTask(ctx, taskID)
	if err != nil {
		return err
	}
	if task.DeletedAt != nil || !task.HostEvents {
		return nil
	}
	target, err := targetOf(ctx, r.Store, task, r.CustomAgentURL, r.Now())
	if err != nil {
		return err
	}
	suspects, err := r.suspects(ctx, taskID)
	if err != nil {
		return err
	}
	// A turn can end between a host's look at its journal and its look at its
	// state. Its finish is in the journal first, so a second pull sees it.
	for range 2 {
		alive, err := r.pull(ctx, target, taskID)
		if err != nil {
			return err
		}
		for _, id := range alive {
			delete(suspects, id)
		}
		if len(suspects) == 0 {
			return nil
		}
	}
	failpoint.Hit("reconcile-pulled")
	return r.closeLost(ctx, taskID, suspects)
}

// suspects are the turns that the host should know of: open, or announced so
// long ago that no token could start them.
func (r *Reconciler) suspects(ctx context.Context, taskID string) (map[string]bool, error) {
	turns, err := r.Store.TurnsIn(ctx, taskID, TurnAnnounced, TurnOpen)
	if err != nil {
		return nil, err
	}
	limit := r.Now().Add(-unstarted)
	suspects := map[string]bool{}
	for _, t := range turns {
		if t.State == TurnOpen || t.AnnouncedAt.Before(limit) {
			suspects[t.ID] = true
		}
	}
	return suspects, nil
}

// pull ingests what the host has beyond our cursor and tells the turns that it
// works on or will: none when it has no such session.
func (r *Reconciler) pull(ctx context.Context, target Target, taskID string) (alive []string, err error) {
	task, err := r.Store.AnyTask(ctx, taskID)
	if err != nil {
		return nil, err
	}
	cursor := task.Cursor
	for range maxPulls {
		page, err := r.Link.Events(ctx, target, taskID, cursor.Epoch, cursor.Seq, pullPage)
		if protocol.CodeOf(err) == protocol.CodeNotFound || protocol.CodeOf(err) == protocol.CodeGone {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		alive = slices.Concat(page.QueuedTurns, []string{page.OpenTurn})
		if page.Epoch < cursor.Epoch || len(page.Events) == 0 { // behind us: the next /session moves it on
			return alive, nil
		}
		next, err := r.ingest(ctx, taskID, page.Events)
		if err != nil {
			return nil, err
		}
		if next == cursor || len(page.Events) < pullPage {
			return alive, nil
		}
		cursor = next
	}
	return nil, fmt.Errorf("task %s: the host's events have no end", taskID)
}

func (r *Reconciler) ingest(ctx context.Context, taskID string, raw []json.RawMessage) (protocol.Cursor, error) {
	events := make([]Inbound, len(raw))
	for i, body := range raw {
		event, err := protocol.ParseEvent(body)
		if err != nil {
			return protocol.Cursor{}, fmt.Errorf("event %d of the host's page: %w", i, err)
		}
		events[i] = Inbound{Raw: body, Event: event}
	}
	var cursor protocol.Cursor
	for len(events) > 0 {
		n := min(len(events), pullPage)
		answer, err := r.Ingest.Ingest(ctx, taskID, "", events[:n])
		if err != nil {
			return protocol.Cursor{}, err
		}
		if answer.Cursor != nil {
			cursor = *answer.Cursor
		}
		events = events[n:]
	}
	return cursor, nil
}

// closeLost ends the turns that the host does not know. One that never had an
// event never had its message read either.
func (r *Reconciler) closeLost(ctx context.Context, taskID string, lost map[string]bool) error {
	var e *edit
	err := r.Store.Write(ctx, func(ctx context.Context) error {
		task, err := r.Store.LockTask(ctx, taskID)
		if err != nil {
			return err
		}
		e = newEdit(r.Store, task, at(r.Now))
		if task.DeletedAt != nil {
			return nil
		}
		turns, err := e.unfinished(ctx)
		if err != nil {
			return err
		}
		for _, t := range turns {
			if !lost[t.ID] {
				continue
			}
			if err := e.lose(ctx, t); err != nil {
				return err
			}
		}
		return e.save(ctx)
	})
	if err != nil {
		return err
	}
	if len(e.batch.Changes) > 0 {
		r.Log.InfoContext(ctx, "turn closed that its host has no more", "task", taskID)
		if r.Notifier != nil {
			r.Notifier.Changed(e.task.UserID, taskID, e.task.Rev)
		}
	}
	return nil
}

func (e *edit) lose(ctx context.Context, t *Turn) error {
	if t.State == TurnAnnounced {
		if err := e.failMessage(ctx, t.ID); err != nil {
			return err
		}
	}
	return e.closeTurn(ctx, t, protocol.LastTurn{FinishReason: protocol.FinishOther, Reason: protocol.ReasonHostLost})
}
