package broker

import (
	"context"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"bellhop/internal/wait"
	"bellhop/protocol"
)

// SessionEnds ends the sessions of deleted tasks on their hosts. The database keeps the ends
// that a host owes: those that it has not confirmed. So a host which is down at the deletion, or
// a broker that restarts, leaves no agent running. An end is tried until the host confirmed it,
// has no such session, or was removed.
type SessionEnds struct {
	Store   SessionEndStore
	Updater *Updater
	Targets *Targets
	Link    Link
	Now     func() time.Time
	Held    func() time.Time // by which ends are given up; nil = Now
	Log     *slog.Logger
}

// SessionEndStore stores the ends that hosts owe. All methods join the transaction of
// their context.
type SessionEndStore interface {
	AnyTask(ctx context.Context, id string) (*Task, error)
	// AddOwedEnd adds an end. If the task has one already, only its next attempt moves.
	AddOwedEnd(ctx context.Context, end *SessionEnd) error
	// DueEnds returns the ends that are due at a time, the earliest first.
	DueEnds(ctx context.Context, now time.Time, limit int) ([]SessionEnd, error)
	// ClaimEnd counts an attempt and sets the time of the next one. It returns false when
	// another replica has claimed or removed the end.
	ClaimEnd(ctx context.Context, end *SessionEnd, next time.Time) (bool, error)
	// FailEnd stores why the last attempt failed.
	FailEnd(ctx context.Context, taskID, failure string) error
	// SettleEnd removes an end, and the host from its task, so that the host can be removed.
	SettleEnd(ctx context.Context, taskID string) error
	// DelayEnds makes the ends of a host due no earlier than at.
	DelayEnds(ctx context.Context, host string, at time.Time) error
	// HastenEnds makes the ends of a registered host due no later than at.
	HastenEnds(ctx context.Context, hostID string, at time.Time) error
}

// SessionEnd is the end of a deleted task's session that its host has not confirmed.
type SessionEnd struct {
	TaskID   string
	HostID   string // of the task; "" for a task with a URL of its own
	AgentURL string // of the task
	Since    time.Time
	DueAt    time.Time
	Attempts int
	Failure  string // of the last attempt

	// Confirmed is the id of the list that the user allowed to be lost, "" for none.
	Confirmed string
}

// host names what receives the end: a registered host or a task's own URL.
func (e *SessionEnd) host() string { return e.HostID + e.AgentURL }

const (
	endsEvery   = 2 * time.Second
	endsAtOnce  = 16 // hosts
	endsBatch   = 500
	endTimeout  = 10 * time.Second
	maxEndPause = 10 * time.Minute
	// firstEndLimit keeps an unresponsive host from delaying the user who deletes a task.
	firstEndLimit = 3 * time.Second
	// onlyCopiesLimit is longer, because whoever asks what a deletion loses waits for the answer: a large workspace takes
	// seconds.
	onlyCopiesLimit = 20 * time.Second
	// ownEndLife bounds the attempts at the URLs that users gave, which no administrator can remove.
	ownEndLife = 7 * 24 * time.Hour
)

// endPause is the time between an attempt and the next one: 4 s, 8 s … 10 min.
func endPause(attempts int) time.Duration {
	return min(2*time.Second<<min(attempts, 16), maxEndPause)
}

// mayHaveSession reports whether a task's host may have a session. A basic host has no route to
// end one.
func mayHaveSession(t *Task) bool { return t.HostEvents || t.Cursor != protocol.Cursor{} }

// addOwedEnd records in the caller's transaction that a deleted task's session must end. The caller
// makes the first attempt after the commit; if it does not, the second one follows. confirmed is the id of the list that
// the user allowed to be lost, "" for none.
func (s *SessionEnds) addOwedEnd(ctx context.Context, taskID, confirmed string) error {
	now := nowUTC(s.Now)
	return s.Store.AddOwedEnd(ctx, &SessionEnd{
		TaskID: taskID, Since: now, DueAt: now.Add(endPause(1)), Attempts: 1, Confirmed: confirmed,
	})
}

// addOwedEndAgain adds the end of a session that was opened while its task was being deleted. The
// deleted task gets its host back, since an earlier end may have removed it.
func (s *SessionEnds) addOwedEndAgain(ctx context.Context, opened *Task) error {
	_, err := s.Updater.update(ctx, opened.ID, func(ctx context.Context, tx *taskTx) error {
		if tx.task.DeletedAt == nil {
			return nil
		}
		tx.task.HostID, tx.dirty = opened.HostID, true
		return s.addOwedEnd(ctx, opened.ID, "")
	})
	return err
}

// first makes the first attempt, for a user who waits for it. It returns what exists only in the workspaces that the host
// kept, and whether the end is still owed.
func (s *SessionEnds) first(ctx context.Context, taskID, confirmed string) (kept *protocol.OnlyCopies, isOwed bool) {
	kept, err := s.attempt(context.WithoutCancel(ctx), taskID, confirmed, firstEndLimit)
	if err != nil {
		s.Log.WarnContext(ctx, "session of a deleted task not ended yet", "task", taskID, "error", err)
	}
	return kept, err != nil
}

// onlyCopies returns what exists only in the workspaces of a task's session, nil if its host does not tell in time.
func (s *SessionEnds) onlyCopies(ctx context.Context, task *Task) *protocol.OnlyCopies {
	if !mayHaveSession(task) || s.Targets.missing(task) {
		return &protocol.OnlyCopies{Items: []protocol.OnlyCopy{}}
	}
	target, err := s.Targets.of(ctx, task)
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, onlyCopiesLimit)
		defer cancel()
		var found *protocol.OnlyCopies
		if found, err = s.Link.OnlyCopies(ctx, target, task.ID); err == nil {
			return cleanOnlyCopies(found)
		}
	}
	switch protocol.CodeOf(err) {
	case protocol.CodeNotFound, protocol.CodeGone:
		return &protocol.OnlyCopies{Items: []protocol.OnlyCopy{}}
	}
	s.Log.InfoContext(ctx, "a host does not tell what exists only in a workspace", "task", task.ID, "error", err)
	return nil
}

// maxOnlyCopies bounds what the broker takes of a host's list.
const maxOnlyCopies = 5000

// cleanOnlyCopies makes the texts of a host's list safe to show.
func cleanOnlyCopies(list *protocol.OnlyCopies) *protocol.OnlyCopies {
	if list == nil {
		return nil
	}
	list.Items = list.Items[:min(len(list.Items), maxOnlyCopies)]
	if list.Items == nil {
		list.Items = []protocol.OnlyCopy{}
	}
	list.ID = cleanText(list.ID)
	for i := range list.Items {
		item := &list.Items[i]
		item.Kind, item.Name = protocol.OnlyCopyKind(cleanText(string(item.Kind))), cleanText(item.Name)
	}
	return list
}

// Run tries the ends that are due, until ctx ends.
func (s *SessionEnds) Run(ctx context.Context) error {
	wait.Every(ctx, endsEvery, s.Round)
	return nil
}

// Round tries the ends that are due once: hosts in parallel, those of one host one after
// another until the host does not answer.
func (s *SessionEnds) Round(ctx context.Context) {
	due, err := s.Store.DueEnds(ctx, nowUTC(s.Now), endsBatch)
	if err != nil {
		s.report(ctx, "find", "", err)
		return
	}
	eachHost(due, (*SessionEnd).host, func(host string, ends []SessionEnd) { s.endAll(ctx, host, ends) })
}

// eachHost calls f for the rows of each host, several hosts in parallel. It returns when all calls have returned.
func eachHost[T any](rows []T, hostOf func(*T) string, f func(host string, rows []T)) {
	byHost := map[string][]T{}
	for i := range rows {
		host := hostOf(&rows[i])
		byHost[host] = append(byHost[host], rows[i])
	}
	var running errgroup.Group
	running.SetLimit(endsAtOnce)
	for host, list := range byHost {
		running.Go(func() error {
			f(host, list)
			return nil
		})
	}
	_ = running.Wait() // no call returns an error
}

func (s *SessionEnds) endAll(ctx context.Context, host string, ends []SessionEnd) {
	for i := range ends {
		end := &ends[i]
		next := nowUTC(s.Now).Add(endPause(end.Attempts + 1))
		claimed, err := s.Store.ClaimEnd(ctx, end, next)
		if err != nil || !claimed {
			s.report(ctx, "claim", end.TaskID, err)
			continue
		}
		kept, err := s.attempt(ctx, end.TaskID, end.Confirmed, endTimeout)
		if kept.Exist() {
			s.Log.InfoContext(ctx, "the host keeps the workspace of a deleted task", "task", end.TaskID, "only_there", kept.Summary(true))
		}
		if err == nil || ctx.Err() != nil {
			continue
		}
		if end.HostID == "" && heldUTC(s.Held, s.Now).Sub(end.Since) > ownEndLife {
			s.abandon(ctx, end, err)
			continue
		}
		s.report(ctx, "end", end.TaskID, err)
		if protocol.CodeOf(err) == protocol.CodeBadGateway {
			s.report(ctx, "delay", end.TaskID, s.Store.DelayEnds(ctx, host, next))
			return
		}
	}
}

// attempt asks the host once to end the session, and stores the outcome.
func (s *SessionEnds) attempt(
	ctx context.Context, taskID, confirmed string, limit time.Duration,
) (kept *protocol.OnlyCopies, err error) {
	task, err := s.Store.AnyTask(ctx, taskID)
	if err != nil {
		return nil, err
	}
	target, err := s.Targets.of(ctx, task)
	if err == nil {
		kept, err = s.end(ctx, target, taskID, confirmed, limit)
	}
	if err == nil {
		return cleanOnlyCopies(kept), s.Store.SettleEnd(ctx, taskID)
	}
	if ctx.Err() == nil {
		s.report(ctx, "store failure", taskID, s.Store.FailEnd(ctx, taskID, err.Error()))
	}
	return nil, err
}

// end returns no error when the host has no such session.
func (s *SessionEnds) end(
	ctx context.Context, target Target, taskID, confirmed string, limit time.Duration,
) (*protocol.OnlyCopies, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	kept, err := s.Link.Delete(ctx, target, taskID, confirmed)
	switch protocol.CodeOf(err) {
	case protocol.CodeNotFound, protocol.CodeGone:
		return nil, nil //nolint:nilnil // nothing is kept
	}
	return kept, err
}

// abandon gives up an end at a task's own URL.
func (s *SessionEnds) abandon(ctx context.Context, end *SessionEnd, last error) {
	s.Log.WarnContext(ctx, "session of a deleted task not ended: its URL has failed for too long",
		"task", end.TaskID, "since", end.Since, "error", last)
	s.report(ctx, "abandon", end.TaskID, s.Store.SettleEnd(ctx, end.TaskID))
}

// hostReturned makes the ends of a host due that can be reached again.
func (s *SessionEnds) hostReturned(ctx context.Context, hostID string) {
	s.report(ctx, "hasten", "", s.Store.HastenEnds(ctx, hostID, nowUTC(s.Now)))
}

func (s *SessionEnds) report(ctx context.Context, step, taskID string, err error) {
	if err != nil && ctx.Err() == nil {
		s.Log.WarnContext(ctx, "session of a deleted task not ended", "step", step, "task", taskID, "error", err)
	}
}
