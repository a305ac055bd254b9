//go:build unix

package treereader

import (
	"errors"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// hasInodes reports whether a signature says which file it is of.
const hasInodes = true

func (d directory) mkdir(name string) error {
	d.step()
	if err := unix.Mkdirat(d.fd, name, 0o777); err != nil {
		return err
	}
	return d.inherit(name)
}

// inherit gives a new entry the owner of its directory.
func (d directory) inherit(name string) error {
	if unix.Geteuid() != 0 {
		return nil
	}
	var st unix.Stat_t
	if err := unix.Fstat(d.fd, &st); err != nil {
		return err
	}
	return unix.Fchownat(d.fd, name, int(st.Uid), int(st.Gid), unix.AT_SYMLINK_NOFOLLOW)
}

// create makes a file that does not exist, with its content. perm 0 leaves it to the system.
func (d directory) create(name string, isProgram bool, perm uint32, content io.Reader, size, modified int64) error {
	d.step()
	mode := uint32(0o666)
	if isProgram {
		mode = 0o777
	}
	fd, err := unix.Openat(d.fd, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), name)
	n, err := io.Copy(f, content)
	if err == nil && n != size {
		err = io.ErrUnexpectedEOF
	}
	var st unix.Stat_t
	if err == nil && unix.Geteuid() == 0 {
		if err = unix.Fstat(d.fd, &st); err == nil {
			err = f.Chown(int(st.Uid), int(st.Gid))
		}
	}
	if err == nil && perm != 0 {
		err = f.Chmod(os.FileMode(perm))
	}
	if err == nil && modified != 0 {
		at := unix.NsecToTimeval(modified - modified%int64(time.Microsecond))
		err = unix.Futimes(fd, []unix.Timeval{at, at})
	}
	return errors.Join(err, f.Close())
}

func (d directory) symlink(target, name string) error {
	d.step()
	if err := unix.Symlinkat(target, d.fd, name); err != nil {
		return err
	}
	return d.inherit(name)
}

func (d directory) hardLink(from, to string) error {
	d.step()
	return unix.Linkat(d.fd, from, d.fd, to, 0)
}

func (d directory) rename(from, to string) error {
	d.step()
	return unix.Renameat(d.fd, from, d.fd, to)
}

func (d directory) remove(name string) error {
	d.step()
	return unix.Unlinkat(d.fd, name, 0)
}

func (d directory) removeDirectory(name string) error {
	d.step()
	return unix.Unlinkat(d.fd, name, unix.AT_REMOVEDIR)
}

// move gives a name of this directory another one in another directory.
func (d directory) move(from string, to directory, name string) error {
	d.step()
	return unix.Renameat(d.fd, from, to.fd, name)
}

// allow gives the owner all rights in the directory.
func (d directory) allow() {
	if e, err := d.self(); err == nil && e.perm&0o700 != 0o700 {
		_ = unix.Fchmod(d.fd, e.perm|0o700)
	}
}

func isNotEmpty(err error) bool {
	return errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EEXIST)
}
