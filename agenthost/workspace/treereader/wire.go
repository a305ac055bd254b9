package treereader

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"slices"
)

// The wire is a sequence of frames: a byte for the kind, then numbers of variable length, and texts with their length.
const (
	frameFile       = 'f'
	frameName       = 'n'
	frameInner      = 'i'
	frameStaged     = 't'
	frameSame       = 's'
	frameKept       = 'k'
	frameDeleted    = 'd'
	frameAttributes = 'a'
	frameLeftOut    = 'l'
	frameMore       = 'm' // the number of what was left out and not told
	frameHead       = 'h'
	frameEnd        = 'e'
	frameLimit      = 'x' // the end of a reading that would take more than its limits
)

// maxNames bounds the paths of an answer together, in bytes.
const maxNames = 64 << 20

var errWire = errors.New("the reader and the host do not understand each other")

// answerError means that the host does not take the answer.
type answerError struct{ err error }

func (e *answerError) Error() string { return "write the answer: " + e.err.Error() }
func (e *answerError) Unwrap() error { return e.err }

type encoder struct {
	w *bufio.Writer
	b []byte // of the frame that is being written
}

func newEncoder(w io.Writer) *encoder { return &encoder{w: bufio.NewWriterSize(w, 256<<10)} }

func (e *encoder) number(v uint64)   { e.b = binary.AppendUvarint(e.b, v) }
func (e *encoder) text(s string)     { e.number(uint64(len(s))); e.b = append(e.b, s...) }
func (e *encoder) bytes(data []byte) { e.number(uint64(len(data))); e.b = append(e.b, data...) }
func (e *encoder) sum(s Sum)         { e.b = append(e.b, s[:]...) }

func (e *encoder) signature(s Signature) {
	for _, v := range [...]uint64{
		uint64(s.Size), uint64(s.Modified), uint64(s.Changed), s.Inode, s.Device,
	} {
		e.number(v)
	}
}

// write ends a frame.
func (e *encoder) write() error {
	_, err := e.w.Write(e.b)
	e.b = e.b[:0]
	if err != nil {
		return &answerError{err}
	}
	return nil
}

func (e *encoder) flush() error {
	if err := e.w.Flush(); err != nil {
		return &answerError{err}
	}
	return nil
}

// fact writes a fact.
func (e *encoder) fact(fact Fact) error {
	switch f := fact.(type) {
	case File:
		e.b = append(e.b, frameFile)
		e.text(f.Path)
		e.number(uint64(f.Mode))
		e.signature(f.Signature)
		e.number(uint64(f.Size))
		if err := e.write(); err != nil {
			return err
		}
		e.b = append(e.b, f.content...)
	case Name:
		e.b = append(e.b, frameName)
		e.text(f.Path)
		e.number(number(f.IsIgnored))
	case Inner:
		e.b = append(e.b, frameInner)
		e.text(f.Path)
		e.number(uint64(f.Files))
	case Staged:
		e.b = append(e.b, frameStaged)
		e.text(f.Path)
		e.number(uint64(f.Mode))
		e.text(f.ID)
		e.number(number(f.IsHidden))
	case Same:
		e.b = append(e.b, frameSame)
		e.number(uint64(f.Known))
		e.sum(f.Sum)
		e.signature(f.Signature)
	case Kept:
		e.b = append(e.b, frameKept)
		e.text(f.Path)
		e.number(uint64(f.Mode))
		e.text(f.ID)
	case Deleted:
		e.b = append(e.b, frameDeleted)
		e.number(uint64(f.Known))
	case Attributes:
		e.b = append(e.b, frameAttributes)
		e.text(f.Path)
		e.bytes(f.Content)
	case LeftOut:
		e.b = append(e.b, frameLeftOut)
		e.text(f.Path)
		e.number(uint64(f.Reason))
	case Head:
		e.b = append(e.b, frameHead)
		e.text(f.Ref)
		e.text(f.Commit)
		e.number(number(f.IsUnmerged))
	case MoreLeftOut:
		e.b = append(e.b, frameMore)
		e.number(uint64(f.Count))
	}
	return e.write()
}

// number returns 1 for true.
func number(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// decoder reads frames. After an error all values are zero.
type decoder struct {
	r   *bufio.Reader
	err error
}

func newDecoder(r io.Reader) *decoder { return &decoder{r: bufio.NewReaderSize(r, 256<<10)} }

func (d *decoder) byte() (b byte) {
	if d.err == nil {
		b, d.err = d.r.ReadByte()
	}
	return b
}

func (d *decoder) number() (v uint64) {
	if d.err == nil {
		v, d.err = binary.ReadUvarint(d.r)
	}
	return v
}

// below returns a number that is less than a limit.
func (d *decoder) below(limit int64) int64 {
	v := d.number()
	if d.err == nil && (limit <= 0 || v >= uint64(limit)) {
		d.err = errWire
	}
	if d.err != nil {
		return 0
	}
	return int64(v)
}

func (d *decoder) bool() bool { return d.below(2) == 1 }

func (d *decoder) bytes(limit int64) []byte {
	n := d.below(limit + 1)
	if d.err != nil {
		return nil
	}
	b := make([]byte, n)
	_, d.err = io.ReadFull(d.r, b)
	return b
}

func (d *decoder) text(limit int64) string { return string(d.bytes(limit)) }

func (d *decoder) mode() Mode { return Mode(d.below(1 << 17)) }

func (d *decoder) sum() (s Sum) {
	if d.err == nil {
		_, d.err = io.ReadFull(d.r, s[:])
	}
	return s
}

func (d *decoder) signature() (s Signature) {
	s.Size, s.Modified, s.Changed = int64(d.number()), int64(d.number()), int64(d.number())
	s.Inode, s.Device = d.number(), d.number()
	return s
}

// WriteRequest writes a request and what is known of the tree, in the order of the paths, for Serve.
func WriteRequest(to io.Writer, r *Request, known Files) error {
	e := newEncoder(to)
	e.text(r.Root)
	e.text(r.Exclude)
	for _, v := range [...]uint64{
		uint64(r.HashSize), uint64(r.Fresh), number(r.Skipped), number(r.NamesOnly), number(r.Ignored), number(r.Unkept),
		uint64(r.Limits.Files), uint64(r.Limits.Bytes), uint64(r.Limits.FileSize), uint64(r.Limits.Large), uint64(r.Limits.Entries), uint64(r.Limits.Depth),
	} {
		e.number(v)
	}
	e.number(uint64(len(r.Submodules)))
	for _, path := range r.Submodules {
		e.text(path)
	}
	if err := e.known(known); err != nil {
		return err
	}
	return e.flush()
}

// known writes files, after what the frame has so far.
func (e *encoder) known(files Files) error {
	e.number(uint64(len(files)))
	for i := range files {
		k := &files[i]
		e.text(k.Path)
		e.number(uint64(k.Mode))
		e.text(k.ID)
		e.sum(k.Sum)
		e.signature(k.Signature)
		if err := e.write(); err != nil {
			return err
		}
	}
	return e.write()
}

// Bounds of a request, which the host writes.
const (
	maxKnown  = 16 << 20
	maxNumber = 1 << 50
)

// readRequest is the reverse of WriteRequest.
func readRequest(from io.Reader) (*Request, Files, error) {
	d := newDecoder(from)
	r := &Request{Root: d.text(maxPath), Exclude: d.text(maxRules)}
	r.HashSize, r.Fresh = int(d.below(33)), int64(d.number())
	r.Skipped, r.NamesOnly, r.Ignored, r.Unkept = d.bool(), d.bool(), d.bool(), d.bool()
	r.Limits = Limits{
		Files: int(d.below(maxKnown)), Bytes: d.below(maxNumber), FileSize: d.below(maxNumber),
		Large: d.below(maxNumber), Entries: int(d.below(maxKnown)), Depth: int(d.below(maxKnown)),
	}
	for range d.below(maxKnown) {
		if r.Submodules = append(r.Submodules, d.text(maxPath)); d.err != nil {
			break
		}
	}
	known := d.known()
	if d.err != nil {
		return nil, nil, d.err
	}
	if !slices.IsSorted(r.Submodules) {
		return nil, nil, errOrder
	}
	return r, known, known.check()
}

func (d *decoder) known() Files {
	count := int(d.below(maxKnown))
	files := make(Files, 0, min(count, 1<<20))
	for range count {
		k := Known{Path: d.text(maxPath), Mode: d.mode(), ID: d.text(maxID), Sum: d.sum(), Signature: d.signature()}
		if d.err != nil {
			break
		}
		files = append(files, k)
	}
	return files
}

// WriteFiles writes what is known of a tree, for ReadFiles.
func WriteFiles(to io.Writer, files Files) error {
	e := newEncoder(to)
	if err := e.known(files); err != nil {
		return err
	}
	return e.flush()
}

// ReadFiles is the reverse of WriteFiles.
func ReadFiles(from io.Reader) (Files, error) {
	d := newDecoder(from)
	files := d.known()
	if d.err != nil {
		return nil, d.err
	}
	return files, files.check()
}
