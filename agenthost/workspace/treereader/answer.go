package treereader

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
)

// maxID is the length of the longest id of an object, in hexadecimal.
const maxID = 64

// Answer reads what Serve writes. It trusts nothing of it.
type Answer struct {
	d       *decoder
	request *Request
	known   int
	content *io.LimitedReader // of the last file
	paths   map[string]struct{}
	heads   int
	updates int // facts of known files
	kept    int
	files   int
	names   int
	bytes   int64
	left    int
}

// ReadAnswer returns the answer to a request with some known files.
func ReadAnswer(from io.Reader, r *Request, known Files) *Answer {
	return &Answer{d: newDecoder(from), request: r, known: len(known), paths: map[string]struct{}{}}
}

// Next returns the next fact, and io.EOF after the last one. A *LimitError says that the tree has more than the
// request's limits allow. After any other error the facts before it must not be used.
func (a *Answer) Next() (Fact, error) {
	if err := a.skipContent(); err != nil {
		return nil, err
	}
	fact, err := a.read()
	if err == nil {
		err = a.d.err
	}
	var limit *LimitError
	switch {
	case err == nil:
		return fact, nil
	case errors.As(err, &limit), errors.Is(err, errEnd):
		a.d.err = io.EOF
		if limit != nil {
			return nil, limit
		}
		return nil, io.EOF
	case errors.Is(err, io.EOF):
		err = io.ErrUnexpectedEOF
	}
	a.d.err = fmt.Errorf("%w: %w", errWire, err)
	return nil, a.d.err
}

// errEnd is the end of a whole answer.
var errEnd = errors.New("end")

// skipContent goes on behind the content of the last file.
func (a *Answer) skipContent() error {
	if a.d.err != nil {
		return a.d.err
	}
	if a.content == nil {
		return nil
	}
	left := a.content.N
	n, err := io.Copy(io.Discard, a.content)
	a.content = nil
	if err == nil && n < left {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		a.d.err = fmt.Errorf("%w: %w", errWire, err)
	}
	return a.d.err
}

func (a *Answer) read() (Fact, error) {
	switch kind := a.d.byte(); kind {
	case frameFile:
		return a.file()
	case frameName:
		return a.name()
	case frameInner:
		return a.inner()
	case frameStaged:
		return a.staged()
	case frameSame:
		s := Same{Known: a.index(), Sum: a.d.sum(), Signature: a.d.signature()}
		return s, nil
	case frameDeleted:
		return Deleted{a.index()}, nil
	case frameKept:
		return a.readKept()
	case frameAttributes:
		f := Attributes{a.d.text(maxPath), a.d.bytes(maxRules)}
		return f, a.take(f.Path, int64(len(f.Content)))
	case frameLeftOut:
		if a.left++; a.left > maxLeftOut {
			return nil, errWire
		}
		return LeftOut{a.d.text(maxPath), Reason(a.d.below(int64(reasons)))}, nil
	case frameMore:
		return MoreLeftOut{int(a.d.below(maxKnown))}, nil
	case frameHead:
		return a.head()
	case frameLimit:
		if n := a.d.below(int64(len(limits))); a.d.err == nil {
			return nil, &LimitError{limits[n]}
		}
	case frameEnd:
		if a.d.err == nil {
			return nil, errEnd
		}
	default:
		if a.d.err == nil {
			return nil, fmt.Errorf("a frame of kind %d", kind)
		}
	}
	return nil, a.d.err
}

// limits gives each error of a limit its number on the wire.
var limits = [...]error{errFiles, errBytes, errEntries}

// index returns the index of a known file.
func (a *Answer) index() int {
	if a.updates++; a.updates > a.known && a.d.err == nil {
		a.d.err = errWire
	}
	return int(a.d.below(int64(a.known)))
}

func (a *Answer) file() (Fact, error) {
	f := File{
		Path: a.d.text(maxPath), Mode: a.d.mode(), Signature: a.d.signature(),
		Size: a.d.below(a.request.Limits.FileSize + 1),
	}
	if a.d.err != nil {
		return nil, a.d.err
	}
	if f.Mode != ModeFile && f.Mode != ModeProgram && f.Mode != ModeLink {
		return nil, fmt.Errorf("a file of mode %o", f.Mode)
	}
	if err := a.take(f.Path, f.Size); err != nil {
		return nil, err
	}
	a.content = &io.LimitedReader{R: a.d.r, N: f.Size}
	f.Content = a.content
	return f, nil
}

func (a *Answer) name() (Fact, error) {
	f := Name{a.d.text(maxPath), a.d.bool()}
	return f, a.keep(f.Path)
}

func (a *Answer) inner() (Fact, error) {
	f := Inner{a.d.text(maxPath), int(a.d.below(maxKnown))}
	return f, a.keep(f.Path)
}

func (a *Answer) staged() (Fact, error) {
	f := Staged{a.d.text(maxPath), a.d.mode(), a.d.text(maxID), a.d.bool()}
	if a.d.err == nil && !isID(f.ID, a.request.HashSize) {
		return nil, fmt.Errorf("the entry %.200q", f.Path)
	}
	return f, a.keep(f.Path)
}

// keep checks a path without content.
func (a *Answer) keep(path string) error {
	if a.d.err != nil {
		return a.d.err
	}
	a.kept++
	if a.names += len(path); a.kept > a.request.Limits.Entries || a.names > maxNames || !IsPath(path) {
		return fmt.Errorf("the name %.200q", path)
	}
	return nil
}

// take checks a path with content.
func (a *Answer) take(path string, size int64) error {
	a.files++
	a.bytes += size
	if a.files > a.request.Limits.Files || a.bytes > a.request.Limits.Bytes {
		return errors.New("more files than the limits allow")
	}
	return a.takePath(path)
}

func (a *Answer) takePath(path string) error {
	if a.d.err != nil {
		return a.d.err
	}
	if a.names += len(path); a.names > maxNames || !IsPath(path) {
		return fmt.Errorf("the path %.200q", path)
	}
	if _, ok := a.paths[path]; ok {
		return fmt.Errorf("the path %.200q twice", path)
	}
	a.paths[path] = struct{}{}
	return nil
}

func (a *Answer) readKept() (Fact, error) {
	k := Kept{a.d.text(maxPath), a.d.mode(), a.d.text(maxID)}
	if a.d.err != nil {
		return nil, a.d.err
	}
	if a.kept++; a.kept > a.request.Limits.Entries || !k.isValid(a.request.HashSize) {
		return nil, fmt.Errorf("the entry %.200q", k.Path)
	}
	return k, a.takePath(k.Path)
}

// isValid reports whether git's index can have the entry.
func (k Kept) isValid(hashSize int) bool {
	switch k.Mode {
	case ModeFile, ModeProgram, ModeLink, ModeCommit, ModeTree:
		return IsPath(k.Path) && isID(k.ID, hashSize)
	}
	return false
}

func isID(id string, hashSize int) bool {
	b, err := hex.DecodeString(id)
	return err == nil && len(b) == hashSize && hex.EncodeToString(b) == id
}

func (a *Answer) head() (Fact, error) {
	h := Head{a.d.text(maxPath), a.d.text(maxID), a.d.bool()}
	if a.heads++; a.heads > 1 || h.Ref != "" && !isRef(h.Ref) || h.Commit != "" && !isID(h.Commit, a.request.HashSize) {
		return nil, errors.New("the head")
	}
	return h, nil
}
