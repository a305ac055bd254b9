package broker

import (
	"context"
	"log/slog"
	"time"

	"bellhop/protocol"
)

// Maintenance is what happens by time alone.
type Maintenance struct {
	Store    Store
	Notifier Notifier
	Now      func() time.Time
	Log      *slog.Logger
}

const (
	sweepEvery     = 10 * time.Second
	pruneEvery     = 10 * time.Minute
	sendingLimit   = 30 * time.Second
	basicSilence   = 15 * time.Minute // of a turn on a host without events
	tombstoneLife  = 48 * time.Hour
	changesPerTask = 10_000
	sweepBatch     = 500
)

// Run works until ctx ends.
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
	now := at(m.Now)
	stuck, err := m.Store.StuckMessages(ctx, now.Add(-sendingLimit), sweepBatch)
	m.report(ctx, "find stuck messages", err)
	for _, s := range stuck {
		m.report(ctx, "fail a stuck message", m.edit(ctx, s.TaskID, func(ctx context.Context, e *edit) error {
			message, err := m.Store.Message(ctx, s.TaskID, s.MessageID)
			if err != nil {
				return err
			}
			return e.undelivered(ctx, s.MessageID, message.TurnID)
		}))
	}
	limit := now.Add(-basicSilence)
	due, err := m.Store.DueTasks(ctx, false, limit, limit)
	m.report(ctx, "find silent turns", err)
	for _, d := range due {
		m.report(ctx, "close a silent turn", m.edit(ctx, d.ID, func(ctx context.Context, e *edit) error {
			return e.closeSilent(ctx, limit)
		}))
	}
}

// closeSilent ends the turns of a basic host that has not been heard since limit.
func (e *edit) closeSilent(ctx context.Context, limit time.Time) error {
	if e.task.HostEvents {
		return nil
	}
	turns, err := e.unfinished(ctx)
	if err != nil {
		return err
	}
	for _, t := range turns {
		heard := t.AnnouncedAt
		if last := e.task.LastEventAt; t.State == TurnOpen && last != nil && last.After(heard) {
			heard = *last
		}
		if heard.After(limit) {
			continue
		}
		end := protocol.LastTurn{FinishReason: protocol.FinishOther, Reason: reasonNoFinish}
		if err := e.closeTurn(ctx, t, end); err != nil {
			return err
		}
	}
	return nil
}

func (m *Maintenance) edit(ctx context.Context, taskID string, do func(context.Context, *edit) error) error {
	var e *edit
	err := m.Store.Write(ctx, func(ctx context.Context) error {
		task, err := m.Store.LockTask(ctx, taskID)
		if err != nil {
			return err
		}
		e = newEdit(m.Store, task, at(m.Now))
		if task.DeletedAt != nil {
			return nil
		}
		if err := do(ctx, e); err != nil {
			return err
		}
		return e.save(ctx)
	})
	if err == nil && len(e.batch.Changes) > 0 && m.Notifier != nil {
		m.Notifier.Changed(e.task.UserID, taskID, e.task.Rev)
	}
	return err
}

// Prune removes logins and sign-in links that are over, tombstones of more than
// 48 h with all their rows, and old changes.
func (m *Maintenance) Prune(ctx context.Context) {
	now := at(m.Now)
	_, err := m.Store.PruneLogins(ctx, now)
	m.report(ctx, "prune logins", err)
	_, err = m.Store.PurgeTasks(ctx, now.Add(-tombstoneLife))
	m.report(ctx, "remove tombstones", err)
	_, err = m.Store.PruneChanges(ctx, changesPerTask)
	m.report(ctx, "prune changes", err)
}

func (m *Maintenance) report(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil {
		m.Log.WarnContext(ctx, "maintenance failed", "step", what, "error", err)
	}
}
