package broker

import (
	"context"
	"log/slog"
	"time"

	"bellhop/protocol"
)

// Maintenance does the work that is due by time alone.
type Maintenance struct {
	Store   MaintenanceStore
	Updater *Updater
	Tasks   *Tasks // of deleted users
	Now     func() time.Time
	Log     *slog.Logger

	AuditRetention time.Duration // how long entries of the audit log are kept; 0 = forever
}

// MaintenanceStore finds and removes overdue or expired rows.
type MaintenanceStore interface {
	DueStore
	// StuckMessages returns messages that are SENDING since before a time. Those in a queue are left
	// out: they are sent again.
	StuckMessages(ctx context.Context, before time.Time, limit int) ([]StuckMessage, error)
	PruneLogins(ctx context.Context, now time.Time) (int64, error)
	// PurgeTasks removes deleted tasks and all their rows.
	PurgeTasks(ctx context.Context, deletedBefore time.Time) (int64, error)
	// PruneChanges keeps the newest keep changes of each task.
	PruneChanges(ctx context.Context, keep int64) (int64, error)
	// DeletedUsers returns the ids of users whose erasure is not complete.
	DeletedUsers(ctx context.Context) ([]string, error)
	// EraseUser removes the rows of a deleted user, and the user themselves when they have no task left.
	EraseUser(ctx context.Context, id string) error
	// PruneAudit removes the entries of the audit log before a time.
	PruneAudit(ctx context.Context, before time.Time) (int64, error)
}

// StuckMessage is a message that its host did not accept in time.
type StuckMessage struct{ TaskID, MessageID string }

const (
	sweepEvery     = 10 * time.Second
	pruneEvery     = 10 * time.Minute
	sendingLimit   = 30 * time.Second
	basicSilence   = protocol.BasicSilence
	tombstoneLife  = 48 * time.Hour
	changesPerTask = 10_000
	sweepBatch     = 500
)

// Run sweeps and prunes until ctx ends.
func (m *Maintenance) Run(ctx context.Context) error {
	sweep, prune := time.NewTicker(sweepEvery), time.NewTicker(pruneEvery)
	defer sweep.Stop()
	defer prune.Stop()
	m.Sweep(ctx)
	m.Prune(ctx)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-sweep.C:
			m.Sweep(ctx)
		case <-prune.C:
			m.Prune(ctx)
		}
	}
}

// Sweep fails messages that were SENDING for 30 s and closes turns of basic
// hosts that were silent for 15 min.
func (m *Maintenance) Sweep(ctx context.Context) {
	now := nowUTC(m.Now)
	stuck, err := m.Store.StuckMessages(ctx, now.Add(-sendingLimit), sweepBatch)
	m.report(ctx, "find stuck messages", err)
	for _, s := range stuck {
		_, err := m.Updater.updateAnyTask(ctx, s.TaskID, func(ctx context.Context, tx *taskTx) error {
			return tx.markUndelivered(ctx, s.MessageID, "")
		})
		m.report(ctx, "fail a stuck message", err)
	}
	limit := now.Add(-basicSilence)
	due, err := m.Store.DueTasks(ctx, false, Overdue{Silent: limit, Announced: limit, Future: now.Add(clockSkew)})
	m.report(ctx, "find silent turns", err)
	for _, d := range due {
		_, err := m.Updater.updateAnyTask(ctx, d.ID, func(ctx context.Context, tx *taskTx) error {
			return tx.closeSilent(ctx, limit)
		})
		m.report(ctx, "close a silent turn", err)
	}
}

// closeSilent ends the turns of a basic host that has sent nothing since limit.
func (tx *taskTx) closeSilent(ctx context.Context, limit time.Time) error {
	if tx.task.HostEvents {
		return nil
	}
	return tx.closeUnreported(ctx, func(t *Turn) bool {
		lastSign := t.AnnouncedAt
		if last := tx.task.LastEventAt; t.State == TurnOpen && last != nil && last.After(lastSign) {
			lastSign = *last
		}
		return !lastSign.After(limit)
	})
}

// Prune removes expired logins and sign-in links, tasks that were deleted more
// than 48 h ago with all their rows, deleted users, old changes, and the audit log before its retention.
func (m *Maintenance) Prune(ctx context.Context) {
	now := nowUTC(m.Now)
	_, err := m.Store.PruneLogins(ctx, now)
	m.report(ctx, "prune logins", err)
	_, err = m.Store.PurgeTasks(ctx, now.Add(-tombstoneLife))
	m.report(ctx, "remove tombstones", err)
	_, err = m.Store.PruneChanges(ctx, changesPerTask)
	m.report(ctx, "prune changes", err)
	m.eraseUsers(ctx)
	if m.AuditRetention > 0 {
		_, err = m.Store.PruneAudit(ctx, now.Add(-m.AuditRetention))
		m.report(ctx, "prune the audit log", err)
	}
}

// eraseUsers goes on with the erasure of deleted users. One that fails is tried again next time.
func (m *Maintenance) eraseUsers(ctx context.Context) {
	ids, err := m.Store.DeletedUsers(ctx)
	m.report(ctx, "find deleted users", err)
	for _, id := range ids {
		err := m.Tasks.DeleteAll(ctx, id)
		if err == nil {
			err = m.Store.EraseUser(ctx, id)
		}
		m.report(ctx, "erase a user", err)
	}
}

func (m *Maintenance) report(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil {
		m.Log.WarnContext(ctx, "maintenance failed", "step", what, "error", err)
	}
}
