package journal

import (
	"errors"
	"fmt"
	"os"

	"bellhop/internal/filelock"
)

// lock makes a second process on the same directory fail at its start. Without it
// both would assign the same positions. The system releases the lock when the
// process ends.
func lock(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("journal lock: %w", err)
	}
	if err := filelock.Try(file); err != nil {
		return nil, errors.Join(fmt.Errorf("the journal is in use by another agent host: %s: %w", path, err), file.Close())
	}
	return file, nil
}
