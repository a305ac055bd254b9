package treereader

import (
	"errors"
	"io"
	"io/fs"
	"strings"
	"syscall"
)

// Kind is the kind of a file, as far as the reader tells them apart.
type Kind uint8

// The kinds.
const (
	KindOther Kind = iota
	KindFile
	KindDirectory
	KindLink
	KindFIFO
	KindSocket
	KindDevice
	kinds // their number
)

// entry is what a directory says of one name.
type entry struct {
	kind       Kind
	executable bool
	perm       uint32 // the bits of its mode that say who may do what
	signature  Signature
}

// errKind means that a file is not of the kind with which it can be read.
var errKind = errors.New("the file is of another kind")

// errSize means that a file is larger than the caller wants to read.
var errSize = errors.New("the file is too large")

// read returns the content of a small regular file.
func (d directory) read(name string, limit int64) ([]byte, error) {
	f, err := d.openFile(name)
	if err != nil {
		return nil, err
	}
	defer f.close()
	e, err := f.entry()
	if err != nil {
		return nil, err
	}
	if e.kind != KindFile {
		return nil, errKind
	}
	if e.signature.Size > limit {
		return nil, errSize
	}
	content := make([]byte, e.signature.Size)
	n, err := f.fill(content)
	return content[:n], err
}

// elementError means that an element of a path cannot be opened as a directory.
type elementError struct {
	path   string // up to the element
	isLink bool
	err    error
}

func (e *elementError) Error() string { return e.err.Error() }
func (e *elementError) Unwrap() error { return e.err }

// in calls do with the directory of a path below this one, and the path's last element. An *elementError names the element
// that is no directory.
func (d directory) in(path string, do func(d directory, name string) error) error {
	at, err := d.again()
	if err != nil {
		return err
	}
	defer func() { at.close() }()
	for from := 0; ; {
		name, _, isInside := strings.Cut(path[from:], "/")
		switch {
		case name == "" || name == "." || name == "..":
			return errKind
		case !isInside:
			return do(at, name)
		}
		next, err := at.open(name)
		if err != nil {
			e, entryErr := at.entry(name)
			return &elementError{path[:from+len(name)], entryErr == nil && e.kind == KindLink, err}
		}
		at.close()
		at, from = next, from+len(name)+1
	}
}

// openPath opens a directory below this one; path "" is this one.
func (d directory) openPath(path string) (found directory, err error) {
	if path == "" {
		return d.again()
	}
	err = d.in(path, func(d directory, name string) error {
		found, err = d.open(name)
		if err != nil {
			e, entryErr := d.entry(name)
			err = &elementError{path, entryErr == nil && e.kind == KindLink, err}
		}
		return err
	})
	return found, err
}

// isNoDirectory reports whether an error says that something else is where a directory should be.
func isNoDirectory(err error) bool {
	return errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP) || errors.Is(err, errKind)
}

// fill reads until the buffer is full or the file ends.
func (f file) fill(buffer []byte) (int, error) {
	n := 0
	for n < len(buffer) {
		m, err := f.read(buffer[n:])
		n += m
		if m == 0 || errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// isGone reports whether an error only says that a name was removed or exchanged since its directory was read.
func isGone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP)
}
