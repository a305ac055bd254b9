package treereader

import (
	"errors"
	"io"
	"io/fs"
	"syscall"
)

// kind is the kind of a file, as far as the reader tells them apart.
type kind uint8

const (
	kindOther kind = iota
	kindFile
	kindDirectory
	kindLink
	kindFIFO
	kindSocket
	kindDevice
)

// entry is what a directory says of one name.
type entry struct {
	kind       kind
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
	if e.kind != kindFile {
		return nil, errKind
	}
	if e.signature.Size > limit {
		return nil, errSize
	}
	content := make([]byte, e.signature.Size)
	n, err := f.fill(content)
	return content[:n], err
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
