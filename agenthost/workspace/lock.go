package workspace

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"time"

	"bellhop/internal/filelock"
)

// locks serialize work on a workspace across goroutines and processes, because
// `bellhop workspaces` may run beside a host. Keys with the same hash share one
// of a fixed set of lock files, so that no lock file ever needs to be removed.
type locks struct{ dir, prefix string }

const (
	lockFiles = 64
	lockRetry = 20 * time.Millisecond
)

// acquire waits for the lock of key until ctx ends. A caller that holds a lock
// must not acquire another of the same set: both keys may share one file.
func (l locks) acquire(ctx context.Context, key string) (release func(), err error) {
	file, err := l.open(key)
	if err != nil {
		return nil, err
	}
	if err := waitForLock(ctx, file); err != nil {
		return nil, err
	}
	return func() { _ = filelock.Release(file) }, nil
}

// waitForLock waits until ctx ends. It closes the file unless that is locked then.
func waitForLock(ctx context.Context, file *os.File) error {
	tick := time.NewTicker(lockRetry)
	defer tick.Stop()
	for {
		err := filelock.Try(file)
		if err == nil {
			return nil
		}
		if !errors.Is(err, filelock.ErrHeld) {
			return errors.Join(fmt.Errorf("lock a workspace: %w", err), file.Close())
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("wait for the lock of the workspace: %w", ctx.Err()), file.Close())
		case <-tick.C:
		}
	}
}

func (l locks) open(key string) (*os.File, error) {
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return nil, err
	}
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(key))
	path := filepath.Join(l.dir, fmt.Sprintf("%s%02d.lock", l.prefix, sum.Sum32()%lockFiles))
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
}
