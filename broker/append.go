package broker

import (
	"context"
	"errors"
	"sync"

	"bellhop/internal/failpoint"
	"bellhop/protocol"
)

// lastSeen remembers tasks as the last request left them. What it says may be
// out of date, as another replica may write too; the database has the last word.
type lastSeen struct {
	mu    sync.Mutex
	tasks map[string]Task
}

const maxLastSeen = 20_000

func (l *lastSeen) get(id string) (Task, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t, ok := l.tasks[id]
	return t, ok
}

func (l *lastSeen) put(t Task) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tasks == nil || len(l.tasks) >= maxLastSeen {
		l.tasks = map[string]Task{}
	}
	l.tasks[t.ID] = t
}

// append takes the short way for text of the open turn that goes on where the
// task stood: what it leaves is known without asking, so one statement does it
// all. nil means that the task stands elsewhere, or a doubt, which the long way
// settles.
func (s *Ingest) append(ctx context.Context, taskID string, arrivals []arrival) *outcome {
	if !s.Store.Appends() {
		return nil
	}
	task, ok := s.last.get(taskID)
	if !ok || !appendable(&task, arrivals) {
		return nil
	}
	rev, cursor := task.Rev, task.Cursor
	p := &placement{cursor: cursor, seen: map[string]string{}}
	if p.place(arrivals) != nil {
		return nil
	}
	e := newEdit(s.Store, &task, at(s.Now))
	for _, a := range p.fresh {
		e.batch.Events = append(e.batch.Events, a.stored(taskID, e.now, false))
		e.text(a)
	}
	e.moved(p.cursor)
	e.collect()
	failpoint.Hit("ingest-before-commit")
	done, err := s.Store.Append(ctx, rev, cursor, &e.batch)
	if err != nil && !errors.Is(err, ErrTaken) {
		s.Log.DebugContext(ctx, "event not appended", "task", taskID, "error", err)
	}
	if err != nil || !done {
		return nil
	}
	s.last.put(task)
	return &outcome{userID: task.UserID, rev: task.Rev, response: &protocol.IngestResponse{
		Success: true, Accepted: len(p.fresh), Cursor: &p.cursor,
	}}
}

func appendable(task *Task, arrivals []arrival) bool {
	for _, a := range arrivals {
		text := a.event.Type == protocol.EventText && a.event.Text != nil && *a.event.Text != ""
		if !text || a.turn == "" || a.turn != task.OpenTurn {
			return false
		}
	}
	return task.DeletedAt == nil && (&placement{cursor: task.Cursor}).continues(arrivals)
}
