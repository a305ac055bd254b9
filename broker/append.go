package broker

import (
	"context"
	"errors"
	"sync"

	"bellhop/broker/sequencer"
	"bellhop/internal/failpoint"
	"bellhop/internal/generations"
	"bellhop/protocol"
)

// lastSeen remembers tasks as the last request left them. They may be out of date,
// because other replicas write too; the store checks that before it writes.
type lastSeen struct {
	tasks *generations.Cache[string, Task]

	mu          sync.Mutex
	incarnation string // of the database that the tasks are from
}

// get forgets all tasks when the database went back in time: it may come to the same
// revs and cursors with other contents.
func (l *lastSeen) get(id, incarnation string) (Task, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.incarnation != incarnation {
		l.incarnation = incarnation
		l.tasks.Clear()
	}
	return l.tasks.Get(id)
}

// AppendStore writes events that continue at the task's cursor, and their messages,
// in one statement. Hosts send mostly such events.
type AppendStore interface {
	// Appends reports whether Append is faster than LockTask followed by Apply.
	Appends() bool
	// Append does what Apply does, without a lock taken before. It writes b's
	// events, messages and changes only if the task is not deleted and still at rev
	// and cursor, and reports whether it wrote. Of the task's row it writes only
	// cursor, revs and times.
	Append(ctx context.Context, rev int64, cursor protocol.Cursor, b *Batch) (bool, error)
}

// append writes text of the open turn that continues at the task's cursor. The
// remembered task is enough to compute the changes, so one statement writes them
// all. It returns nil when the events or the task do not allow that, or when the
// remembered task is out of date; the caller then uses a transaction.
func (s *Ingest) append(ctx context.Context, taskID string, events []incomingEvent) *ingested {
	if !s.Store.Appends() {
		return nil
	}
	task, ok := s.remembered().last.get(taskID, s.Incarnation.ID())
	if !ok || task.DeletedAt != nil || task.isQuiet() || !onlyText(events, task.OpenTurn) {
		return nil
	}
	state := sequencer.State{Cursor: task.Cursor}
	order, err := sequencerEvents(events, nil)
	if err != nil || !state.Continues(order) {
		return nil
	}
	rev := task.Rev
	done := &ingested{effects: &effects{taskTx: s.Updater.begin(&task)}, decision: sequencer.Decide(state, order)}
	if done.decision.Refusal != nil || done.decision.Duplicates > 0 {
		return nil
	}
	for i := range events {
		done.addEvent(&events[i], false)
		done.text(&events[i])
	}
	done.moveCursor(done.decision.Cursor)
	done.collect()
	failpoint.Hit("ingest-before-commit")
	written, err := s.Store.Append(ctx, rev, state.Cursor, &done.batch)
	if err != nil && !errors.Is(err, ErrTaken) {
		s.Log.DebugContext(ctx, "event not appended", "task", taskID, "error", err)
	}
	if err != nil || !written {
		return nil
	}
	s.remembered().last.tasks.Put(task.ID, task)
	return done
}

// onlyText reports whether all events are text of the turn.
func onlyText(events []incomingEvent, turn string) bool {
	for i := range events {
		in := &events[i]
		if in.event.Type != protocol.EventText || in.event.Text == nil || *in.event.Text == "" || in.turn == "" ||
			in.turn != turn {
			return false
		}
	}
	return true
}
