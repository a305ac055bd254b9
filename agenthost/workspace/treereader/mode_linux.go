package treereader

import (
	"errors"
	"strconv"

	"golang.org/x/sys/unix"
)

// allowIn is allow for a directory that cannot be opened yet. It changes the mode of nothing that a link leads to.
func (d directory) allowIn(name string) {
	d.step()
	if err := unix.Fchmodat(d.fd, name, 0o700, unix.AT_SYMLINK_NOFOLLOW); !errors.Is(err, unix.EOPNOTSUPP) {
		return
	}
	fd, err := unix.Openat(d.fd, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer func() { _ = unix.Close(fd) }()
	_ = unix.Chmod("/proc/self/fd/"+strconv.Itoa(fd), 0o700) // kernels before 6.6
}
