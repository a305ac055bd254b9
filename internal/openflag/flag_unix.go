//go:build unix

package openflag

import "syscall"

// Flags of open files.
const (
	NoWait    = syscall.O_NONBLOCK  // do not wait for the writer of a FIFO
	NoFollow  = syscall.O_NOFOLLOW  // fail at a symbolic link
	Directory = syscall.O_DIRECTORY // fail unless it is a directory
)
