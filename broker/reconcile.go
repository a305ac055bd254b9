package broker

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"bellhop/broker/sequencer"
	"bellhop/internal/failpoint"
	"bellhop/protocol"
)

// Reconciler pulls events from hosts when webhooks may have failed.
type Reconciler struct {
	Store   ReconcilerStore
	Updater *Updater
	Targets *Targets
	Link    Link
	Ingest  *Ingest
	Now     func() time.Time
	Log     *slog.Logger

	mu     sync.Mutex
	woken  map[string]bool // ids of tasks to pull at once
	signal chan struct{}
	queues map[string][]string  // task ids by host
	tried  map[string]time.Time // the last pull of a task, by its id
}

// ReconcilerStore finds the tasks and turns to reconcile.
type ReconcilerStore interface {
	DueStore
	// AnyTask returns any user's task, deleted tasks included.
	AnyTask(ctx context.Context, id string) (*Task, error)
	// TurnsIn returns a task's turns in these states, oldest first.
	TurnsIn(ctx context.Context, taskID string, states ...TurnState) ([]Turn, error)
	// PositionedEvents are the events with effects after a position, ascending; their
	// bodies are not read.
	PositionedEvents(ctx context.Context, taskID string, after protocol.Cursor, limit int) ([]StoredEvent, error)
}

// DueStore finds tasks whose turns need attention.
type DueStore interface {
	// DueTasks are tasks with a turn that is overdue; deleted tasks are never due.
	// hostEvents selects the tasks of hosts that serve their events, or else all
	// others. It looks at limit unfinished turns of tasks with ids above after. The next
	// page is after last, which is "" at the end.
	DueTasks(
		ctx context.Context, hostEvents bool, when Overdue, after string, limit int,
	) (due []DueTask, last string, err error)
}

// duePage is the number of unfinished turns that are looked at in one query.
const duePage = 1000

// eachDue calls use with every due task, in the order of their ids.
func eachDue(ctx context.Context, store DueStore, hostEvents bool, when Overdue, use func(DueTask)) error {
	for after := ""; ; {
		due, last, err := store.DueTasks(ctx, hostEvents, when, after, duePage)
		if err != nil {
			return err
		}
		for _, d := range due {
			use(d)
		}
		if last == "" {
			return nil
		}
		after = last
	}
}

// Overdue says which turns need attention: an open one without an event since
// Silent, and one that was announced before Announced. An event that came after
// Future was stored before the clock went back, so its age is unknown: its turn
// counts as silent.
type Overdue struct{ Silent, Announced, Future time.Time }

const (
	pullPage = 100              // events per request, which is also the batch size for Ingest
	silence  = 30 * time.Second // how long an open turn may be silent before its host is asked
	// unstarted is how long a turn may stay announced: longer than its tokens are valid.
	unstarted = protocol.StreamTokenLifetime + time.Minute
	maxPulls  = 10_000      // pages of one pull: more means that a host repeats itself
	clockSkew = time.Minute // by which clocks of replicas may differ
)

// Task pulls the host's events, then closes the turns that the host lost: those
// that were unfinished before the pull, that the host neither works on nor has
// queued, and that have no finish. While the host is unreachable it closes none.
func (r *Reconciler) Task(ctx context.Context, taskID string) error {
	task, err := r.Store.AnyTask(ctx, taskID)
	if err != nil {
		return err
	}
	if task.DeletedAt != nil || !task.HostEvents {
		return nil
	}
	target, err := r.Targets.of(ctx, task)
	if err != nil {
		return err
	}
	suspects, err := r.suspects(ctx, taskID)
	if err != nil {
		return err
	}
	// A turn can end after the host read its journal and before it read its state.
	// The finish is journaled first, so a second pull receives it.
	for range 2 {
		alive, announced, err := r.pull(ctx, target, taskID)
		if err != nil {
			return err
		}
		for _, id := range alive {
			delete(suspects, id)
		}
		if suspects[announced] == TurnAnnounced { // whatever the broker's clock says of its tokens
			delete(suspects, announced)
		}
		if len(suspects) == 0 {
			return nil
		}
	}
	failpoint.Hit("reconcile-pulled")
	return r.closeLost(ctx, taskID, suspects)
}

// suspects returns the turns that the host should have: the open ones, and those
// announced so long ago that no token can still start them.
func (r *Reconciler) suspects(ctx context.Context, taskID string) (map[string]TurnState, error) {
	turns, err := r.Store.TurnsIn(ctx, taskID, TurnAnnounced, TurnOpen)
	if err != nil {
		return nil, err
	}
	limit := r.Now().Add(-unstarted)
	suspects := map[string]TurnState{}
	for _, t := range turns {
		if t.State == TurnOpen || t.AnnouncedAt.Before(limit) {
			suspects[t.ID] = t.State
		}
	}
	return suspects, nil
}

// pull ingests the host's events after the task's cursor. It returns the turns that
// the host works on or has queued, and the one that it waits for the prompt of; none when the host does not have the
// session.
func (r *Reconciler) pull(
	ctx context.Context, target Target, taskID string,
) (alive []string, announced string, err error) {
	task, err := r.Store.AnyTask(ctx, taskID)
	if err != nil {
		return nil, "", err
	}
	cursor := task.Cursor
	for range maxPulls {
		last, err := r.lastEvent(ctx, taskID, cursor)
		if err != nil {
			return nil, "", err
		}
		page, err := r.Link.Events(ctx, target, taskID, EventsAfter{Cursor: cursor, EventID: last}, pullPage)
		if protocol.CodeOf(err) == protocol.CodeNotFound || protocol.CodeOf(err) == protocol.CodeGone {
			return nil, "", nil
		}
		if err != nil {
			return nil, "", err
		}
		alive, announced = slices.Concat(page.QueuedTurns, []string{page.OpenTurn}), page.AnnouncedTurn
		read := sequencer.Page{Epoch: page.Epoch, Current: page.CurrentEpoch, Events: len(page.Events)}
		if !read.Follows(cursor) {
			return alive, announced, nil
		}
		next, err := r.ingest(ctx, taskID, page)
		if err != nil {
			return nil, "", err
		}
		if !read.Continues(cursor, next, pullPage) {
			return alive, announced, nil
		}
		cursor = next
	}
	return nil, "", fmt.Errorf("task %s: the host's events have no end", taskID)
}

// lastEvent returns the id of the event at a cursor, "" when there is none. A host compares
// it with its own event there, and so detects that its journal has other events.
func (r *Reconciler) lastEvent(ctx context.Context, taskID string, cursor protocol.Cursor) (string, error) {
	if cursor.Seq == 0 {
		return "", nil
	}
	found, err := r.Store.PositionedEvents(ctx, taskID, protocol.Cursor{Epoch: cursor.Epoch, Seq: cursor.Seq - 1}, 1)
	if err != nil || len(found) == 0 || found[0].Seq != cursor.Seq || found[0].Epoch != cursor.Epoch {
		return "", err
	}
	return found[0].EventID, nil
}

func (r *Reconciler) ingest(
	ctx context.Context, taskID string, page *protocol.EventsResponse,
) (protocol.Cursor, error) {
	events := make([]Inbound, len(page.Events))
	for i, body := range page.Events {
		event, err := protocol.ParseEvent(body)
		if err != nil {
			return protocol.Cursor{}, fmt.Errorf("event %d of the host's page: %w", i, err)
		}
		events[i] = Inbound{Raw: body, Event: event}
	}
	AttachPrompts(events, page.Prompts)
	var cursor protocol.Cursor
	for len(events) > 0 {
		n := min(len(events), pullPage)
		response, err := r.Ingest.ingest(ctx, taskID, "", max(page.Epoch, page.CurrentEpoch), events[:n])
		if err != nil {
			return protocol.Cursor{}, err
		}
		if response.Cursor != nil {
			cursor = *response.Cursor
		}
		events = events[n:]
	}
	return cursor, nil
}

// hostEpoch asks the task's host for the epoch of its session, which is 0 when the host
// does not have the session.
func (r *Reconciler) hostEpoch(ctx context.Context, taskID string) (int64, error) {
	task, err := r.Store.AnyTask(ctx, taskID)
	if err != nil {
		return 0, err
	}
	target, err := r.Targets.of(ctx, task)
	if err != nil {
		return 0, err
	}
	page, err := r.Link.Events(ctx, target, taskID, EventsAfter{Cursor: task.Cursor}, 1)
	switch protocol.CodeOf(err) {
	case protocol.CodeNotFound, protocol.CodeGone:
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return max(page.Epoch, page.CurrentEpoch), nil
}

// closeLost ends the turns that the host does not have. If such a turn never started, its
// message fails too: no agent has read it.
func (r *Reconciler) closeLost(ctx context.Context, taskID string, lost map[string]TurnState) error {
	tx, err := r.Updater.updateAnyTask(ctx, taskID, func(ctx context.Context, tx *taskTx) error {
		turns, err := tx.unfinishedTurns(ctx)
		if err != nil {
			return err
		}
		for _, t := range turns {
			if lost[t.ID] == "" {
				continue
			}
			if err := tx.loseTurn(ctx, t); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && tx.changed() {
		r.Log.InfoContext(ctx, "turn closed that its host does not have any more", "task", taskID)
	}
	return err
}

func (tx *taskTx) loseTurn(ctx context.Context, t *Turn) error {
	if t.State == TurnAnnounced {
		if err := tx.failMessage(ctx, t.ID); err != nil {
			return err
		}
	}
	return tx.closeTurn(ctx, t, protocol.LastTurn{FinishReason: protocol.FinishOther, Reason: protocol.ReasonHostLost})
}
