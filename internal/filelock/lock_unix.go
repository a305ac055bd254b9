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
