package workspace

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"sync"
	"time"
)

// diskAge is how old an answer of DiskUse may be.
const diskAge = time.Minute

// diskUse is the last sum, and the counting under way.
type diskUse struct {
	mu    sync.Mutex
	known bool
	bytes int64
	at    time.Time
	next  chan struct{} // closed when a counting ends; nil = none runs
}

// DiskUse is how much workspaces, clones and state take, in bytes. It is counted
// in the background, at most once a minute; only the first call waits for it.
func (m *Manager) DiskUse(ctx context.Context) (int64, error) {
	d := &m.disk
	for {
		d.mu.Lock()
		if d.next == nil && (!d.known || m.now().Sub(d.at) >= diskAge) {
			if !m.count() {
				d.mu.Unlock()
				return 0, errClosed()
			}
		}
		known, bytes, next := d.known, d.bytes, d.next
		d.mu.Unlock()
		if known {
			return bytes, nil
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-next:
		}
	}
}

// count begins a counting; the lock is held.
func (m *Manager) count() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ctx.Err() != nil {
		return false
	}
	done := make(chan struct{})
	m.disk.next = done
	m.wg.Go(func() {
		var sum int64
		for _, kind := range []string{"workspaces", "projects", "state"} {
			n, err := bytesBelow(m.ctx, m.own(kind, ""))
			if err != nil && m.ctx.Err() == nil {
				m.log.Warn("disk use cannot be counted", "directory", kind, "error", err)
			}
			sum += n
		}
		d := &m.disk
		d.mu.Lock()
		d.known, d.bytes, d.at, d.next = m.ctx.Err() == nil, sum, m.now(), nil
		d.mu.Unlock()
		close(done)
	})
	return true
}

// bytesBelow sums up the files of a tree; symbolic links are not followed, what
// vanishes meanwhile does not count.
func bytesBelow(ctx context.Context, root string) (int64, error) {
	var sum int64
	err := filepath.WalkDir(root, func(_ string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
				return nil
			}
			return err
		}
		if info, err := d.Info(); err == nil && d.Type().IsRegular() {
			sum += info.Size()
		}
		return nil
	})
	return sum, err
}
