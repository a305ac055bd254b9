package broker

import (
	"context"
	"log/slog"
	"time"
)

// Reconciler pulls events from hosts when webhooks may have failed.
type Reconciler struct {
	Store          Store
	Link           Link
	Ingest         *Ingest
	Notifier       Notifier
	CustomAgentURL string
	Now            func() time.Time
	Log            *slog.Logger
}

// Run reconciles every task with an open turn, then those that are silent or
// woken, until ctx ends.
func (r *Reconciler) Run(ctx context.Context) error { return nil }

// Task pulls what the host has, then closes turns that the host has no more.
func (r *Reconciler) Task(ctx context.Context, taskID string) error { return nil }

// Wake asks for a reconciliation of a task soon; it never blocks.
func (r *Reconciler) Wake(taskID string) {}
