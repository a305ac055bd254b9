package treereader

import (
	"errors"
	"io"
	"os"
	"syscall"
	"time"
)

// hasInodes reports whether a signature says which file it is of.
const hasInodes = false

func (d directory) mkdir(name string) error {
	d.step()
	return d.root.Mkdir(name, 0o777)
}

// create makes a file that does not exist, with its content.
func (d directory) create(name string, _ bool, _ uint32, content io.Reader, size, modified int64) error {
	d.step()
	f, err := d.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	n, err := io.Copy(f, content)
	if err == nil && n != size {
		err = io.ErrUnexpectedEOF
	}
	err = errors.Join(err, f.Close())
	if err == nil && modified != 0 {
		at := time.Unix(0, modified)
		err = d.root.Chtimes(name, at, at)
	}
	return err
}

func (d directory) symlink(target, name string) error {
	d.step()
	return d.root.Symlink(target, name)
}

func (d directory) hardLink(from, to string) error {
	d.step()
	return d.root.Link(from, to)
}

func (d directory) rename(from, to string) error {
	d.step()
	return d.root.Rename(from, to)
}

func (d directory) remove(name string) error {
	d.step()
	if e, err := d.entry(name); err == nil && e.kind == KindDirectory {
		return errKind
	}
	return d.root.Remove(name)
}

func (d directory) removeDirectory(name string) error {
	d.step()
	return d.root.Remove(name)
}

// move gives a name of this directory another one in another directory, which is not possible here.
func (d directory) move(string, directory, string) error { return errors.ErrUnsupported }

func (d directory) allow()         {}
func (d directory) allowIn(string) {}

func isNotEmpty(err error) bool {
	return errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, errNotEmpty)
}

// errNotEmpty is ERROR_DIR_NOT_EMPTY.
const errNotEmpty = syscall.Errno(145)
