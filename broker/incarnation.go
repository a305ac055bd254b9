package broker

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"bellhop/internal/wait"
)

// Incarnation holds the id of the database's present life. A new one begins when
// a backup was restored or a standby was promoted; hosts that see another id send
// again what the database lacks. A nil Incarnation has no id.
//
// A message to a host with a cursor or a receipt names the id that was known
// before the database was read. With a later one, a host would take data of the former
// life for those of the present one, and would send nothing again.
type Incarnation struct {
	Store IncarnationStore
	Log   *slog.Logger

	mu sync.Mutex
	id string
}

// IncarnationStore stores the lives of the database.
type IncarnationStore interface {
	// Incarnation returns the id of the present life. It begins one at the first
	// call, and when the data are another copy than before.
	Incarnation(ctx context.Context) (string, error)
	// EndIncarnation begins a new life, unless id is over already, and returns the
	// id of the present one.
	EndIncarnation(ctx context.Context, id string) (string, error)
}

const incarnationEvery = 5 * time.Second

// ID returns the id that was loaded last.
func (i *Incarnation) ID() string {
	if i == nil {
		return ""
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.id
}

// Load reads the id from the database.
func (i *Incarnation) Load(ctx context.Context) error {
	id, err := i.Store.Incarnation(ctx)
	if err != nil {
		return err
	}
	i.set(ctx, id)
	return nil
}

// end ends the life id, unless it is over already, and loads the id of the present one.
func (i *Incarnation) end(ctx context.Context, id string) error {
	next, err := i.Store.EndIncarnation(ctx, id)
	if err == nil {
		i.set(ctx, next)
	}
	return err
}

func (i *Incarnation) set(ctx context.Context, id string) {
	i.mu.Lock()
	former := i.id
	i.id = id
	i.mu.Unlock()
	if former != "" && former != id {
		i.Log.WarnContext(ctx, "the database was restored or failed over: hosts send again what it lacks", "incarnation", id)
	}
}

// Run loads the id every few seconds until ctx ends, since another server may
// answer after a failover.
func (i *Incarnation) Run(ctx context.Context) error {
	wait.Every(ctx, incarnationEvery, func(ctx context.Context) {
		if err := i.Load(ctx); err != nil && ctx.Err() == nil {
			i.Log.DebugContext(ctx, "incarnation not loaded", "error", err)
		}
	})
	return nil
}
