//go:build unix

package treereader

import (
	"errors"
	"slices"

	"golang.org/x/sys/unix"
)

// hasModes reports whether the file system says which files are programs.
const hasModes = true

// directory is an open directory. Its methods use one name in it each, follow no link, and wait for no program.
type directory struct {
	fd   int
	step func() // runs before each use of a name or file: tests change the tree there
}

// file is an open file of any kind but a link.
type file struct {
	fd   int
	step func()
}

const openFlags = unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC

// openDirectory opens the work tree itself. Only the last element of its path must not be a link.
func openDirectory(path string, step func()) (directory, error) {
	fd, err := openAt(unix.AT_FDCWD, path, unix.O_DIRECTORY)
	return directory{fd, step}, err
}

func openAt(dir int, name string, flags int) (int, error) {
	for {
		fd, err := unix.Openat(dir, name, openFlags|flags, 0)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

func (d directory) close() { _ = unix.Close(d.fd) }

// again returns the same directory, which is closed by itself.
func (d directory) again() (directory, error) {
	fd, err := unix.FcntlInt(uintptr(d.fd), unix.F_DUPFD_CLOEXEC, 0)
	return directory{fd, d.step}, err
}

func (d directory) open(name string) (directory, error) {
	d.step()
	fd, err := openAt(d.fd, name, unix.O_DIRECTORY)
	return directory{fd, d.step}, err
}

func (d directory) openFile(name string) (file, error) {
	d.step()
	fd, err := openAt(d.fd, name, 0)
	return file{fd, d.step}, err
}

func (d directory) entry(name string) (entry, error) {
	d.step()
	var st unix.Stat_t
	if err := unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return entry{}, err
	}
	return newEntry(&st), nil
}

// self returns the directory's own entry.
func (d directory) self() (entry, error) { return file(d).entry() }

func (d directory) link(name string) ([]byte, error) {
	d.step()
	target := make([]byte, maxPath+1)
	n, err := unix.Readlinkat(d.fd, name, target)
	return target[:max(n, 0)], err
}

// names returns the sorted names in the directory. errEntries: there are more than the limit, and only so many are
// returned.
func (d directory) names(limit int) ([]string, error) {
	if _, err := unix.Seek(d.fd, 0, unix.SEEK_SET); err != nil { // it may have been read before
		return nil, err
	}
	var names []string
	buffer := make([]byte, 32<<10)
	for {
		n, err := unix.ReadDirent(d.fd, buffer)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if n <= 0 {
			break
		}
		if _, _, names = unix.ParseDirent(buffer[:n], -1, names); len(names) > limit {
			names = names[:limit]
			slices.Sort(names)
			return names, errEntries
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil // a name that moves can be listed twice
}

func (f file) close() { _ = unix.Close(f.fd) }

func (f file) entry() (entry, error) {
	f.step()
	var st unix.Stat_t
	if err := unix.Fstat(f.fd, &st); err != nil {
		return entry{}, err
	}
	return newEntry(&st), nil
}

func (f file) read(buffer []byte) (int, error) {
	f.step()
	for {
		n, err := unix.Read(f.fd, buffer)
		if !errors.Is(err, unix.EINTR) {
			return max(n, 0), err
		}
	}
}

func (f file) readAt(buffer []byte, offset int64) (int, error) {
	f.step()
	for {
		n, err := unix.Pread(f.fd, buffer, offset)
		if !errors.Is(err, unix.EINTR) {
			return max(n, 0), err
		}
	}
}

func newEntry(st *unix.Stat_t) entry {
	perm := uint32(st.Mode & 0o777) //nolint:unconvert // types differ between systems
	e := entry{executable: st.Mode&0o100 != 0, perm: perm, signature: Signature{
		Size: st.Size, Modified: st.Mtim.Nano(), Changed: st.Ctim.Nano(),
		Inode: st.Ino, Device: uint64(st.Dev), //nolint:unconvert // types differ between systems
	}}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		e.kind = KindFile
	case unix.S_IFDIR:
		e.kind = KindDirectory
	case unix.S_IFLNK:
		e.kind = KindLink
	case unix.S_IFIFO:
		e.kind = KindFIFO
	case unix.S_IFSOCK:
		e.kind = KindSocket
	case unix.S_IFCHR, unix.S_IFBLK:
		e.kind = KindDevice
	}
	return e
}
