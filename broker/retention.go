package broker

import (
	"context"
	"errors"
	"time"

	"bellhop/internal/observe"
	"bellhop/protocol"
)

// Retention says what maintenance keeps. 0 keeps everything.
type Retention struct {
	Audit    time.Duration // entries of the audit log that are younger
	Events   time.Duration // bodies of events that are younger; ids, positions and messages stay anyway
	Archived time.Duration // archived tasks that changed more recently
	Changes  int64         // the newest changes of each task, for readers of its feed
	Refused  int           // the newest refused events of each task
}

// RetentionStore removes rows. A call removes all rows that it can, in transactions of bounded size, and
// reports them to observe.Progress. Rows that cannot be removed do not stop the others; they are tried again by
// the next call, and the error says so.
type RetentionStore interface {
	AuditStore
	PruneLogins(ctx context.Context, now time.Time) (int64, error)
	// PruneActs removes acts that were seen before a time.
	PruneActs(ctx context.Context, before time.Time) (int64, error)
	// PruneShares removes share links that have expired.
	PruneShares(ctx context.Context, now time.Time) (int64, error)
	// PurgeTasks removes deleted tasks and all their rows. The row of a task stays as long as its host
	// owes the end of the session.
	PurgeTasks(ctx context.Context, deletedBefore time.Time) (int64, error)
	// PruneChanges keeps the newest keep changes of each task.
	PruneChanges(ctx context.Context, keep int64) (int64, error)
	// PruneEvents removes the bodies of events that were stored before a time.
	PruneEvents(ctx context.Context, before time.Time) (int64, error)
	// PruneRefused keeps the newest keep refused events of each task.
	PruneRefused(ctx context.Context, keep int) (int64, error)
	// PruneAudit removes the entries of the audit log before a time.
	PruneAudit(ctx context.Context, before time.Time) (int64, error)
	// ArchivedTasks returns archived tasks with a higher No that have not changed since a time, by No.
	ArchivedTasks(ctx context.Context, unchangedSince time.Time, after int64, limit int) ([]ArchivedTask, error)

	// DeletedUsers returns the ids of users whose erasure is not complete.
	DeletedUsers(ctx context.Context) ([]string, error)
	// EraseUser removes all rows of a deleted user, except the tasks and the row of the user.
	EraseUser(ctx context.Context, id string) error
	// RemoveUser removes a deleted user who has no task left, and reports whether it did.
	RemoveUser(ctx context.Context, id string) (removed bool, err error)
}

// ArchivedTask is an archived task that may be deleted.
type ArchivedTask struct {
	ID     string
	No     int64
	UserID string
}

const (
	pruneEvery    = 10 * time.Minute
	tombstoneLife = 48 * time.Hour
	archivedPage  = 500
	// progressEvery is the number of rows after which a step of maintenance logs its progress.
	progressEvery = 1_000_000
)

// Prune removes all rows beyond their retention, deleted tasks after 48 h, and deleted users. A step that
// fails does not stop the others, and continues at the next call. A clock in the future removes nothing: what is old is
// decided by m.Held.
func (m *Maintenance) Prune(ctx context.Context) {
	now, keep := heldUTC(m.Held, m.Now), m.Retention
	for _, step := range []struct {
		name string
		skip bool
		run  func(ctx context.Context) error
	}{
		{name: "logins", run: counted(now, m.Store.PruneLogins)},
		{name: "acts", run: counted(now.Add(-protocol.ActKept), m.Store.PruneActs)},
		{name: "share-links", run: counted(now, m.Store.PruneShares)},
		{name: "archived-tasks", skip: keep.Archived == 0, run: func(ctx context.Context) error {
			return m.deleteArchived(ctx, now.Add(-keep.Archived))
		}},
		{name: "deleted-tasks", run: counted(now.Add(-tombstoneLife), m.Store.PurgeTasks)},
		{name: "deleted-users", run: m.eraseUsers},
		{name: "changes", skip: keep.Changes == 0, run: counted(keep.Changes, m.Store.PruneChanges)},
		{name: "events", skip: keep.Events == 0, run: counted(now.Add(-keep.Events), m.Store.PruneEvents)},
		{name: "refused-events", skip: keep.Refused == 0, run: counted(keep.Refused, m.Store.PruneRefused)},
		{name: "audit-log", skip: keep.Audit == 0, run: counted(now.Add(-keep.Audit), m.Store.PruneAudit)},
	} {
		if !step.skip && ctx.Err() == nil {
			m.step(ctx, step.name, step.run)
		}
	}
}

func counted[T any](limit T, prune func(context.Context, T) (int64, error)) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := prune(ctx, limit)
		return err
	}
}

// step runs a step, counts the rows that it removes, and logs them and its failure.
func (m *Maintenance) step(ctx context.Context, name string, run func(ctx context.Context) error) {
	start := observe.Start{Operation: observe.Retention, Name: name}
	_, operation := observe.Begin(ctx, m.Observer, start)
	began, total, logged := m.Now(), int64(0), int64(0)
	err := run(observe.WithProgress(ctx, func(rows int64) {
		_, part := observe.Begin(ctx, m.Observer, start)
		part.End(observe.Outcome{Result: observe.ResultRemoved, Accepted: int(rows)})
		if total += rows; total-logged >= progressEvery {
			logged = total
			m.Log.InfoContext(ctx, "rows are being removed", "step", name, "rows", total)
		}
	}))
	if ctx.Err() != nil { // the broker stops: the step continues after its start
		return
	}
	operation.End(observe.Outcome{Err: err})
	if total > 0 {
		m.Log.InfoContext(ctx, "rows removed", "step", name, "rows", total, "took", m.Now().Sub(began))
	}
	m.report(ctx, name, err)
}

// deleteArchived deletes the archived tasks that have not changed since a time.
func (m *Maintenance) deleteArchived(ctx context.Context, unchangedSince time.Time) error {
	var failed []error
	for after := int64(0); ; {
		page, err := m.Store.ArchivedTasks(ctx, unchangedSince, after, archivedPage)
		if err != nil || ctx.Err() != nil {
			return errors.Join(append(failed, err)...)
		}
		for _, t := range page {
			after = t.No
			deleted, err := m.Tasks.expire(ctx, t.UserID, t.ID, unchangedSince)
			if failed = addFailure(failed, err); deleted {
				observe.Progress(ctx, 1)
			}
		}
		if len(page) < archivedPage {
			return errors.Join(failed...)
		}
	}
}

// maxFailures is how many errors of a step are logged.
const maxFailures = 5

func addFailure(failed []error, err error) []error {
	if err == nil || len(failed) == maxFailures {
		return failed
	}
	return append(failed, err)
}

// eraseUsers continues the erasure of deleted users. The entry of the audit log that ends it is
// stored with the removal of the user's row.
func (m *Maintenance) eraseUsers(ctx context.Context) error {
	ids, err := m.Store.DeletedUsers(ctx)
	if err != nil {
		return err
	}
	var failed []error
	for _, id := range ids {
		if ctx.Err() != nil {
			break
		}
		failed = addFailure(failed, m.eraseUser(ctx, id))
	}
	return errors.Join(failed...)
}

func (m *Maintenance) eraseUser(ctx context.Context, id string) error {
	err := errors.Join(m.Tasks.DeleteAll(ctx, id), m.Store.EraseUser(ctx, id))
	if err != nil || ctx.Err() != nil {
		return err
	}
	return Audited(ctx, m.Store, m.Now, func(ctx context.Context) (*Act, error) {
		removed, err := m.Store.RemoveUser(ctx, id)
		if err != nil || !removed {
			return nil, err
		}
		return &Act{
			Action: protocol.AuditUserErased, Subject: protocol.AuditSubject{Kind: protocol.AuditOfUser, ID: id},
		}, nil
	})
}
