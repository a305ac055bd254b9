package treereader

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// Tree asks a process that runs ServeTree about the names in a directory. One goroutine uses it at a time. It trusts
// nothing of the answers. Paths are relative to the directory, and "" is the directory itself; none leads through a link.
// An error is a *Failure, or says that the process does not answer.
type Tree struct {
	e *encoder
	d *decoder
}

// TreeRequest says which directory a Tree is.
type TreeRequest struct {
	Root     string
	HashSize int    // of the repository whose work tree it is, for Ignored
	Exclude  string // as that of a Request, for Ignored
}

// Entry is what a directory says of a name.
type Entry struct {
	Name     string
	Kind     Kind
	Size     int64
	Modified int64 // nanoseconds since 1970
}

// Failure says why a name was not used. It is fs.ErrNotExist if nothing is there that could be.
type Failure struct {
	Path string // up to the element that is the reason
	Why  Cause
}

// Cause is why a name was not used.
type Cause uint8

// The causes.
const (
	IsGone   Cause = iota // nothing is there, or in the place of a directory a file
	IsLink                // in the place of a directory
	IsInUse               // it changes again and again, or is filled while it is removed
	IsClosed              // the system refuses
	causes                // their number
)

func (f *Failure) Error() string {
	return fmt.Sprintf("%q %s", f.Path, [...]string{"does not exist", "is a link", "is in use", "cannot be used"}[f.Why])
}

// Is implements errors.Is.
func (f *Failure) Is(target error) bool { return target == fs.ErrNotExist && f.Why == IsGone }

// Questions of a Tree. The answer to each is frameEnd with what was asked for, or frameRefusal with a Failure.
const (
	askList    = 'l'
	askRead    = 'r'
	askIgnored = 'i'
	askSize    = 's'
	askEmpty   = 'e'
	askRemove  = 'd'
)

// Bounds of questions.
const (
	maxListed  = 1 << 20 // entries of one answer
	maxRead    = 16 << 20
	maxPending = 8 << 10 // bytes of questions that wait for their answers: a pipe holds more
)

// NewTree returns a Tree of a process that reads from to, and whose answers come from from.
func NewTree(to io.Writer, from io.Reader, r *TreeRequest) *Tree {
	t := &Tree{newEncoder(to), newDecoder(from)}
	t.e.text(r.Root)
	t.e.number(uint64(r.HashSize))
	t.e.text(r.Exclude)
	return t
}

// ask sends what the frame has.
func (t *Tree) ask() { _ = errors.Join(t.e.write(), t.e.flush()) } // without an answer its reader fails

// answered returns an error unless what was asked for comes next.
func (t *Tree) answered() error {
	switch kind := t.d.byte(); {
	case t.d.err != nil:
	case kind == frameEnd:
		return nil
	case kind == frameRefusal:
		if f := (&Failure{t.d.text(maxPath), Cause(t.d.below(int64(causes)))}); t.d.err == nil {
			return f
		}
	default:
		t.d.err = fmt.Errorf("a frame of kind %d", kind)
	}
	return t.failed()
}

// failed returns the error of an answer that was read, if it has one.
func (t *Tree) failed() error {
	if t.d.err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", errWire, t.d.err)
}

func (t *Tree) entry() Entry {
	return Entry{t.d.text(maxPath), Kind(t.d.below(int64(kinds))), t.d.below(maxNumber), int64(t.d.number())}
}

// List returns what is in a directory, sorted by names. If that is more than a limit, isCut is true.
func (t *Tree) List(dir string, limit int) (entries []Entry, isCut bool, err error) {
	t.e.b = append(t.e.b, askList)
	t.e.text(dir)
	t.e.number(uint64(limit))
	t.ask()
	if err := t.answered(); err != nil {
		return nil, false, err
	}
	isCut = t.d.bool()
	for range t.d.below(int64(limit) + 1) {
		e := t.entry()
		if t.d.err == nil && !isElement(e.Name) {
			t.d.err = fmt.Errorf("the name %.200q", e.Name)
		}
		if t.d.err != nil {
			break
		}
		entries = append(entries, e)
	}
	return entries, isCut, t.failed()
}

// Part is what is wanted of a file: up to Limit bytes from Offset on, at most 16 MiB.
type Part struct {
	Path    string
	Offset  int64
	Limit   int
	IsWhole bool // nothing of a file that is larger than Limit
}

// Read returns a name's entry with the content of a regular file, or the target of a link. Of others it has the entry
// alone.
func (t *Tree) Read(p Part) (Entry, []byte, error) {
	t.askFor(p)
	t.ask()
	return t.read(p)
}

func (t *Tree) askFor(p Part) {
	t.e.b = append(t.e.b, askRead)
	t.e.text(p.Path)
	t.e.number(uint64(p.Offset))
	t.e.number(uint64(p.Limit))
	t.e.number(number(p.IsWhole))
}

func (t *Tree) read(p Part) (e Entry, content []byte, err error) {
	if err := t.answered(); err != nil {
		return e, nil, err
	}
	e = t.entry()
	limit := p.Limit
	if e.Kind == KindLink {
		limit = maxPath
	}
	content = t.d.bytes(int64(limit))
	return e, content, t.failed()
}

// ReadEach reads many files, and calls do with the index of each. It is much faster than calls of Read. It ends with the first error of
// do; the Tree is of no use then.
func (t *Tree) ReadEach(parts []Part, do func(i int, e Entry, content []byte, err error) error) error {
	asked := 0
	for i := range parts {
		if asked <= i {
			bytes := 0
			for ; asked < len(parts) && (asked == i || bytes+len(parts[asked].Path) < maxPending); asked++ {
				bytes += len(parts[asked].Path) + 32
				t.askFor(parts[asked])
			}
			t.ask()
		}
		e, content, err := t.read(parts[i])
		if err := do(i, e, content, err); err != nil {
			return err
		}
		if t.d.err != nil {
			return t.failed()
		}
	}
	return nil
}

// Ignored reports which names in a directory of a work tree are ignored: those of which a snapshot would have nothing. An
// empty directory is not. What cannot be known is not ignored.
func (t *Tree) Ignored(dir string, names []string) ([]bool, error) {
	t.e.b = append(t.e.b, askIgnored)
	t.e.text(dir)
	t.e.number(uint64(len(names)))
	for _, name := range names {
		t.e.text(name)
	}
	t.ask()
	if err := t.answered(); err != nil {
		return nil, err
	}
	ignored := make([]bool, len(names))
	for i := range ignored {
		ignored[i] = t.d.bool()
	}
	return ignored, t.failed()
}

// Size returns the bytes of all regular files below the directory that can be found.
func (t *Tree) Size() (int64, error) {
	t.e.b = append(t.e.b, askSize)
	t.ask()
	if err := t.answered(); err != nil {
		return 0, err
	}
	size := t.d.below(maxNumber)
	return size, t.failed()
}

// RemoveAll removes all that is below the directory. It goes on after the first name that cannot be removed, and returns
// that. IsInUse: a program fills the directory again and again.
func (t *Tree) RemoveAll() error {
	t.e.b = append(t.e.b, askEmpty)
	t.ask()
	return t.answered()
}

// Remove removes a name that is no directory, or an empty one.
func (t *Tree) Remove(name string) error {
	t.e.b = append(t.e.b, askRemove)
	t.e.text(name)
	t.ask()
	return t.answered()
}
