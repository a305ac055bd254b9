package workspace

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"sync"
	"time"
)

// diskAge is the age after which DiskUse counts again.
const diskAge = time.Minute

// diskUse caches the last sum and tracks the count in progress.
type diskUse struct {
	mu        sync.Mutex
	counted   bool
	bytes     int64
	countedAt time.Time
	counting  chan struct{} // closed when a counting ends; nil = none runs
}

// DiskUse returns the bytes that workspaces, clones and state occupy. A background
// goroutine counts them at most once a minute; only the first call waits for it.
func (m *Manager) DiskUse(ctx context.Context) (int64, error) {
	d := &m.disk
	for {
		d.mu.Lock()
		if d.counting == nil && (!d.counted || m.now().Sub(d.countedAt) >= diskAge) {
			if !m.startCount() {
				d.mu.Unlock()
				return 0, errClosed()
			}
		}
		counted, bytes, counting := d.counted, d.bytes, d.counting
		d.mu.Unlock()
		if counted {
			return bytes, nil
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-counting:
		}
	}
}

// startCount starts a count and reports false if the manager is closed. The
// caller holds m.disk.mu.
func (m *Manager) startCount() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ctx.Err() != nil {
		return false
	}
	done := make(chan struct{})
	m.disk.counting = done
	m.wg.Go(func() {
		var sum int64
		for _, kind := range []string{"workspaces", "projects", "state"} {
			n, err := treeSize(m.ctx, m.dataPath(kind, ""))
			if err != nil && m.ctx.Err() == nil {
				m.log.Warn("disk use cannot be counted", "directory", kind, "error", err)
			}
			sum += n
		}
		d := &m.disk
		d.mu.Lock()
		d.counted, d.bytes, d.countedAt, d.counting = m.ctx.Err() == nil, sum, m.now(), nil
		d.mu.Unlock()
		close(done)
	})
	return true
}

// treeSize sums up the sizes of the regular files below root. It does not follow
// symbolic links and skips files that vanish meanwhile.
func treeSize(ctx context.Context, root string) (int64, error) {
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
