package setup

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// awaitWriters returns when no process has the file open for writing: until then Linux does not execute it (ETXTBSY). A
// process that this one is starting has a copy of each open file for a moment, until it executes its own program.
func awaitWriters(ctx context.Context, root *os.Root, name string) error {
	file, err := root.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	for {
		// A lease for reading is refused with EAGAIN while the file is open for writing (fcntl(2)). It ends with the
		// descriptor. A file system without leases has another error.
		if _, err := unix.FcntlInt(file.Fd(), unix.F_SETLEASE, unix.F_RDLCK); !errors.Is(err, unix.EAGAIN) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
}
