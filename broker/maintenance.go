package broker

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"bellhop/internal/observe"
	"bellhop/internal/wait"
	"bellhop/protocol"
)

// Maintenance does the work that is due by time alone.
type Maintenance struct {
	Store   MaintenanceStore
	Updater *Updater
	Tasks   *Tasks // of deleted users
	Now     func() time.Time
	Held    func() time.Time // by which rows are removed; nil = Now
	Log     *slog.Logger

	Retention Retention
	Observer  observe.Observer // of retention; nil = none
}

// MaintenanceStore finds and removes overdue or expired rows.
type MaintenanceStore interface {
	DueStore
	// SilentTasks are busy tasks of hosts without events, whose last event came at since or earlier, but in the
	// open turn. It looks at limit unfinished turns of tasks with ids above after. The next page is after last,
	// which is "" at the end.
	SilentTasks(ctx context.Context, since time.Time, after string, limit int) (ids []string, last string, err error)
	// HastenRetries makes due at a time the queued messages, ends of sessions and revocations that are due after far. It
	// returns how many.
	HastenRetries(ctx context.Context, far, at time.Time) (int64, error)
	// StuckMessages returns messages that are SENDING since before a time. Those in a queue are left
	// out: they are sent again.
	StuckMessages(ctx context.Context, before time.Time, limit int) ([]StuckMessage, error)
	RetentionStore
}

// StuckMessage is a message that its host did not accept in time.
type StuckMessage struct{ TaskID, MessageID string }

const (
	sweepEvery   = 10 * time.Second
	sendingLimit = 30 * time.Second
	basicSilence = protocol.BasicSilence
	sweepBatch   = 500
	// farRetry is further ahead than any schedule of queued messages, ends of sessions and revocations reaches.
	farRetry = 6 * maxEndPause
)

// Run sweeps and prunes until ctx ends. Pruning may take long and delays no sweep.
func (m *Maintenance) Run(ctx context.Context) error {
	var beside sync.WaitGroup
	beside.Go(func() { wait.Every(ctx, pruneEvery, m.Prune) })
	beside.Go(func() { wait.Every(ctx, quietEvery, m.MarkQuiet) })
	wait.Every(ctx, sweepEvery, m.Sweep)
	beside.Wait()
	return nil
}

// Sweep fails messages that were SENDING for 30 s and closes turns of basic
// hosts that were silent for 15 min. What a clock that was ahead has put off becomes due.
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
	when := Overdue{Silent: limit, Announced: limit, Future: now.Add(clockSkew)}
	err = eachDue(ctx, m.Store, false, when, func(d DueTask) {
		_, err := m.Updater.updateAnyTask(ctx, d.ID, func(ctx context.Context, tx *taskTx) error {
			return tx.closeSilent(ctx, limit)
		})
		m.report(ctx, "close a silent turn", err)
	})
	m.report(ctx, "find silent turns", err)
	hastened, err := m.Store.HastenRetries(ctx, now.Add(farRetry), now)
	m.report(ctx, "hasten retries", err)
	if hastened > 0 {
		m.Log.WarnContext(ctx, "retries that a clock ahead of this one had put off are due now", "rows", hastened)
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

func (m *Maintenance) report(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil {
		m.Log.WarnContext(ctx, "maintenance failed", "step", what, "error", err)
	}
}
