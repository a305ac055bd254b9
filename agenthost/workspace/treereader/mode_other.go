//go:build unix && !linux

package treereader

import "golang.org/x/sys/unix"

// allowIn is allow for a directory that cannot be opened yet. It changes the mode of nothing that a link leads to.
func (d directory) allowIn(name string) {
	d.step()
	_ = unix.Fchmodat(d.fd, name, 0o700, unix.AT_SYMLINK_NOFOLLOW)
}
