package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"sync"
	"time"

	"bellhop/agenthost/workspace/treereader"
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
			n, err := m.dataSize(m.ctx, m.dataPath(kind, ""))
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

// treeSize adds the sizes of the regular files of a workspace. What its session's programs cannot read does not count.
func (m *Manager) treeSize(ctx context.Context, rec *record) (int64, error) {
	root := m.rootDir(rec)
	if _, err := os.Lstat(root); errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	files, err := m.openTree(ctx, m.sessionIn(rec), root, &treereader.TreeRequest{Root: root})
	if err != nil {
		return 0, err
	}
	defer files.close()
	size, err := files.Size()
	return size, files.explain(err)
}

// dataSize adds the sizes of the regular files in a directory of the host, with the workspaces of all sessions. These can
// belong to many users, so the process that adds has the host's rights. It opens directories alone, and tells a number.
func (m *Manager) dataSize(ctx context.Context, dir string) (int64, error) {
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	command, err := m.command(treereader.TreeCommand)
	if err != nil {
		return 0, err
	}
	files, err := startTree(ctx, walkTime, command, &treereader.TreeRequest{Root: dir})
	if err != nil {
		return 0, err
	}
	defer files.close()
	size, err := files.Size()
	return size, files.explain(err)
}
