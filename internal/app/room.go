package app

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"bellhop/internal/database"
	"bellhop/internal/diskspace"
	"bellhop/internal/httpapi"
	"bellhop/protocol"
)

// roomEvery is the pause between two attempts to open on a full disk.
const roomEvery = time.Second

var errNoRoom = &protocol.Error{
	Code: protocol.CodeStorageFull, Message: "The disk is full",
	Hint: "Make room; the server starts by itself then. Nothing that was acknowledged is lost",
}

// newGuard returns the guard of a database in a file or folder.
func newGuard(path, reserve string, warnBelow int64, log *slog.Logger) *diskspace.Guard {
	return &diskspace.Guard{Monitor: diskspace.Monitor{Path: path, WarnBelow: warnBelow}, Reserve: reserve, Log: log}
}

// fileGuard returns the guard of the database at a URL, nil for one on a server.
func fileGuard(url string, warnBelow int64, log *slog.Logger) *diskspace.Guard {
	path := database.FilePath(url)
	if path == "" {
		return nil
	}
	return newGuard(filepath.Dir(path), path+".reserve", warnBelow, log)
}

// openWithRoom calls open again for as long as it fails for want of room, until ctx
// ends. Meanwhile the listener answers /healthz, and 507 to all else.
func openWithRoom(ctx context.Context, listener net.Listener, log *slog.Logger, open func() error) error {
	err := open()
	if !noRoom(err) {
		return err
	}
	log.Error("the disk is full: nothing is served until there is room", "err", err)
	waiting := serveOnlyHealth(listener, log)
	defer waiting()
	ticker := time.NewTicker(roomEvery)
	defer ticker.Stop()
	for noRoom(err) {
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-ticker.C:
			err = open()
		}
	}
	return err
}

func noRoom(err error) bool {
	return err != nil &&
		(protocol.CodeOf(err) == protocol.CodeStorageFull || database.SQLiteFull(err) || errors.Is(err, syscall.ENOSPC))
}

// serveOnlyHealth serves until the returned function is called. The listener stays
// open then.
func serveOnlyHealth(listener net.Listener, log *slog.Logger) (stop func()) {
	server := httpapi.Server(httpapi.OnlyHealth(errNoRoom, log), httpapi.ServerOptions{Log: log})
	server.SetKeepAlivesEnabled(false)
	borrowed := &borrowedListener{Listener: listener}
	var group sync.WaitGroup
	group.Go(func() {
		if err := server.Serve(borrowed); !errors.Is(err, http.ErrServerClosed) {
			log.Error("health routes are not served", "err", err)
		}
	})
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			_ = server.Close()
		}
		group.Wait()
		borrowed.giveBack()
	}
}

// borrowedListener ends Accept when it is closed, and leaves the listener open.
type borrowedListener struct{ net.Listener }

type deadliner interface{ SetDeadline(t time.Time) error }

func (b *borrowedListener) Close() error {
	if d, ok := b.Listener.(deadliner); ok {
		return d.SetDeadline(time.Unix(1, 0))
	}
	return nil
}

func (b *borrowedListener) giveBack() {
	if d, ok := b.Listener.(deadliner); ok {
		_ = d.SetDeadline(time.Time{})
	}
}
