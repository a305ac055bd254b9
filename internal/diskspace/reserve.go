package diskspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"syscall"
	"time"

	"bellhop/internal/wait"
)

const (
	// ReserveSize is enough to recover a database and to journal the ends of some
	// thousand turns.
	ReserveSize = 4 << 20
	checkEvery  = 10 * time.Second
	chunk       = 64 << 10
)

// Guard keeps the reserve of one database and warns about its disk.
type Guard struct {
	Monitor

	Reserve string // path of the reserve, on the same file system
	Log     *slog.Logger
}

// Release gives the reserve's room back if the disk is about full. It is called
// before the database is opened.
func (g *Guard) Release() error {
	space, err := g.Space()
	if errors.Is(err, fs.ErrNotExist) || err == nil && space.FreeBytes >= ReserveSize {
		return nil
	}
	if err := os.Remove(g.Reserve); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return fmt.Errorf("release the reserve: %w", err)
	}
	g.Log.Warn("the disk is full: the reserve was released for the start", "reserve", g.Reserve)
	return nil
}

// Hold fills the reserve as far as there is room.
func (g *Guard) Hold() error {
	file, err := os.OpenFile(g.Reserve, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return ignoreFull(err)
	}
	return errors.Join(ignoreFull(fill(file)), ignoreFull(file.Close()))
}

// fill writes zeros instead of asking for room: not every file system can reserve
// it.
func fill(file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	for size := info.Size(); size < ReserveSize; {
		n, err := file.Write(make([]byte, min(chunk, ReserveSize-size)))
		if err != nil {
			return err
		}
		size += int64(n)
	}
	return nil
}

func ignoreFull(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return nil
	}
	return err
}

// Run holds the reserve and logs when the disk becomes low, until ctx ends. A
// failure is logged: a server works without a reserve too.
func (g *Guard) Run(ctx context.Context) error {
	low := false
	wait.Every(ctx, checkEvery, func(context.Context) {
		if err := g.Hold(); err != nil {
			g.Log.Warn("no reserve on the disk", "err", err)
		}
		if now := g.Low(); now != low {
			low = now
			g.logLow(low)
		}
	})
	return nil
}

func (g *Guard) logLow(low bool) {
	space, err := g.Space()
	if err != nil {
		return
	}
	if low {
		g.Log.Warn("the disk has little room left", "path", g.Path, "free_bytes", space.FreeBytes,
			"warn_below", space.WarnBelowBytes)
		return
	}
	g.Log.Info("the disk has room again", "path", g.Path, "free_bytes", space.FreeBytes)
}
