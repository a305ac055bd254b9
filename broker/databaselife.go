package broker

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"bellhop/internal/wait"
	"bellhop/protocol"
)

// DatabaseLife holds the life of the database that this broker uses, which it names in all requests to hosts and in all
// answers. Replicas have it in common. Brokers on copies of one database have the same name, keys and passwords, and
// hosts tell them apart by it.
type DatabaseLife struct {
	Store    DatabaseLifeStore
	BrokerID string
	Place    string // where the broker runs, for people
	Log      *slog.Logger

	mu sync.Mutex
	id string
}

// DatabaseLifeStore identifies the database; nothing is stored.
type DatabaseLifeStore interface {
	DatabaseLife(ctx context.Context) (string, error)
}

const databaseLifeEvery = time.Second

// Life returns the life that was loaded last.
func (l *DatabaseLife) Life() protocol.Life {
	l.mu.Lock()
	defer l.mu.Unlock()
	return protocol.Life{Host: l.BrokerID, ID: l.id, Place: l.Place}
}

// Load reads the life from the database.
func (l *DatabaseLife) Load(ctx context.Context) error {
	id, err := l.Store.DatabaseLife(ctx)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.id = id
	return nil
}

// Run loads the life every second until ctx ends: after a failover another server answers.
func (l *DatabaseLife) Run(ctx context.Context) error {
	wait.Every(ctx, databaseLifeEvery, func(ctx context.Context) {
		if err := l.Load(ctx); err != nil && ctx.Err() == nil {
			l.Log.DebugContext(ctx, "life of the database not loaded", "error", err)
		}
	})
	return nil
}
