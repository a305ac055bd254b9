package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// Try takes the exclusive lock of an open file, or returns ErrHeld at once. It locks the byte behind the
// last that a file can have, so that the file itself can be read.
func Try(file *os.File) error {
	behind := &windows.Overlapped{Offset: ^uint32(0), OffsetHigh: ^uint32(0) >> 1}
	err := windows.LockFileEx(windows.Handle(file.Fd()),
		windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, behind)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrHeld
	}
	return err
}

// Release releases a lock and closes its file.
func Release(file *os.File) error { return file.Close() }
