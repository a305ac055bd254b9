//go:build unix

package openflag

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// openBelow opens each element of name in the directory that the one before it is.
func openBelow(dir, name string, flags int) (*os.File, error) {
	above, err := openAt(unix.AT_FDCWD, dir, unix.O_DIRECTORY)
	elements := strings.Split(name, "/")
	for i, element := range elements {
		if err != nil {
			break
		}
		kind := unix.O_NOFOLLOW | flags
		if i < len(elements)-1 {
			kind |= unix.O_DIRECTORY
		}
		var next int
		next, err = openAt(above, element, kind)
		_ = unix.Close(above)
		above = next
	}
	path := filepath.Join(dir, name)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(above), path), nil
}

func openAt(dir int, name string, flags int) (int, error) {
	for {
		fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC|flags, 0)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}
