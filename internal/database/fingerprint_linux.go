package database

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// fileFingerprint is the file's number, and when it was created: file systems use
// the number of a removed file again.
func fileFingerprint(path string) (string, error) {
	var stat unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_INO|unix.STATX_BTIME, &stat); err != nil {
		return "", unusable(path, err)
	}
	return fmt.Sprintf("%d/%d.%09d", stat.Ino, stat.Btime.Sec, stat.Btime.Nsec), nil
}
