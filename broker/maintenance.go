package broker

import (
	"context"
	"log/slog"
	"time"
)

// Maintenance is what happens by time alone.
type Maintenance struct {
	Store    Store
	Notifier Notifier
	Now      func() time.Time
	Log      *slog.Logger
}

// Run works until ctx ends.
func (m *Maintenance) Run(ctx context.Context) error { return nil }
