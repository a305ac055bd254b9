//go:build unix

package filelock

import (
	"errors"
	"os"
	"syscall"
)

// Try takes the exclusive lock of an open file, or returns ErrHeld at once.
func Try(file *os.File) error {
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EWOULDBLOCK):
			return ErrHeld
		}
		return err
	}
}

// Release releases a lock and closes its file. A close alone leaves the lock to a child that was forked meanwhile and
// has not yet begun its program.
func Release(file *os.File) error {
	return errors.Join(syscall.Flock(int(file.Fd()), syscall.LOCK_UN), file.Close())
}
