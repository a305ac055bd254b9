package workspace

import (
	"context"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// locks keep two from working on one workspace, in this process and in others:
// the commands work beside a running host. A lock is one of a few files, shared
// by keys with the same hash, so that none has ever to be removed.
type locks struct{ dir string }

const (
	lockFiles = 64
	lockRetry = 20 * time.Millisecond
)

// hold waits for the lock until ctx ends. Whoever holds one takes no other.
func (l locks) hold(ctx context.Context, key string) (release func(), err error) {
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return nil, err
	}
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(key))
	path := filepath.Join(l.dir, fmt.Sprintf("%02d.lock", sum.Sum32()%lockFiles))
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	tick := time.NewTicker(lockRetry)
	defer tick.Stop()
	for {
		// Each open file has its own lock, also within one process.
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = file.Close() }, nil
		}
		if err != syscall.EWOULDBLOCK && err != syscall.EINTR {
			_ = file.Close()
			return nil, fmt.Errorf("lock a workspace: %w", err)
		}
		select {
		case <-ctx.Done():
			_ = file.Close()
			return nil, fmt.Errorf("wait for another who works on the workspace: %w", ctx.Err())
		case <-tick.C:
		}
	}
}
