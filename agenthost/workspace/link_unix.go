//go:build unix

package workspace

import (
	"os"

	"golang.org/x/sys/unix"
)

// linkAt makes a hard link to the file of this name in an open directory.
func linkAt(dir *os.File, name, target string) error {
	fd := int(dir.Fd()) //nolint:gosec // a file descriptor fits
	return unix.Linkat(fd, name, unix.AT_FDCWD, target, 0)
}
