package setup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"bellhop/internal/filelock"
)

// lockPoll is the pause between attempts to take the lock. A blocking flock could not
// be cancelled when ctx ends.
const lockPoll = 100 * time.Millisecond

// lock creates dir and takes its lock. It calls onWait if another one holds the lock. The system releases
// the lock when the process ends.
func lock(ctx context.Context, dir string, onWait func()) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(filepath.Join(dir, ".lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	ticker := time.NewTicker(lockPoll)
	defer ticker.Stop()
	for tries := 0; ; tries++ {
		err := filelock.Try(file)
		if err == nil {
			return func() { _ = filelock.Release(file) }, nil
		}
		if !errors.Is(err, filelock.ErrHeld) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", dir, err), file.Close())
		}
		if tries == 0 {
			onWait()
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), file.Close())
		}
	}
}
