package treereader

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"syscall"
	"time"
)

// ServeTree answers the questions of a Tree until there are no more. The process has the rights of the session's programs
// or less.
func ServeTree(in io.Reader, out io.Writer) error { return serveTree(in, out, time.Now, func() {}) }

// serveTree is ServeTree with a clock, and with a function that runs before each use of a name.
func serveTree(in io.Reader, out io.Writer, now func() time.Time, step func()) error {
	l := &looker{d: newDecoder(in), e: newEncoder(out), now: now}
	path := l.d.text(maxPath)
	l.request = Request{
		Root: path, HashSize: int(l.d.below(33)), Exclude: l.d.text(maxRules), NamesOnly: true,
		Limits: Limits{Entries: maxVisited, Depth: maxDepth},
	}
	if l.d.err != nil {
		return fmt.Errorf("read the request: %w", l.d.err)
	}
	root, err := openDirectory(path, step)
	if err == nil {
		defer root.close()
	}
	l.root, l.unopened = root, err
	for {
		kind := l.d.byte()
		if errors.Is(l.d.err, io.EOF) {
			return l.e.flush()
		}
		if err := l.answer(kind); err != nil {
			return err
		}
		if l.d.r.Buffered() == 0 {
			if err := l.e.flush(); err != nil {
				return err
			}
		}
	}
}

// Bounds of the search for names that are not ignored, and of the walk that adds sizes.
const (
	maxVisited = 200_000
	maxDepth   = 100
)

// looker answers questions about a tree.
type looker struct {
	d        *decoder
	e        *encoder
	now      func() time.Time
	root     directory
	unopened error // why there is no root
	request  Request
	buffer   []byte
}

func (l *looker) answer(kind byte) error {
	do, path := l.question(kind)
	if l.d.err != nil {
		return fmt.Errorf("read a question: %w", l.d.err)
	}
	var f *Failure
	if l.unopened != nil {
		f = failureOf("", &elementError{"", false, l.unopened})
	} else {
		l.e.b = append(l.e.b, frameEnd)
		if err := do(); err != nil {
			f = failureOf(path, err)
		}
	}
	if f != nil {
		l.e.b = append(l.e.b[:0], frameRefusal)
		l.e.text(f.Path[:min(len(f.Path), maxPath)])
		l.e.number(uint64(f.Why))
	}
	return l.e.write()
}

// question reads a question, and returns what answers it into the encoder, with the path that it is about.
func (l *looker) question(kind byte) (do func() error, path string) {
	switch kind {
	case askList:
		dir, limit := l.d.text(maxPath), int(l.d.below(maxListed+1))
		return func() error { return l.list(dir, limit) }, dir
	case askRead:
		p := Part{l.d.text(maxPath), l.d.below(maxNumber), int(l.d.below(maxRead + 1)), l.d.bool()}
		return func() error { return l.read(p) }, p.Path
	case askIgnored:
		dir := l.d.text(maxPath)
		names := make([]string, l.d.below(maxListed+1))
		for i := range names {
			names[i] = l.d.text(maxPath)
		}
		return func() error { return l.ignored(dir, names) }, dir
	case askSize:
		return l.size, ""
	case askEmpty:
		return func() error { return (&remover{root: l.root, now: l.now}).run() }, ""
	case askRemove:
		name := l.d.text(maxPath)
		return func() error { return l.remove(name) }, name
	}
	if l.d.err == nil {
		l.d.err = errWire
	}
	return nil, ""
}

// failureOf says why a path was not used.
func failureOf(path string, err error) *Failure {
	f := &Failure{Path: path, Why: IsClosed}
	if errors.As(err, &f) {
		return f
	}
	at := (*elementError)(nil)
	if errors.As(err, &at) {
		f.Path = at.path
	}
	switch {
	case at != nil && at.isLink:
		f.Why = IsLink
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENAMETOOLONG), at != nil && isNoDirectory(err):
		f.Why = IsGone
	case changesKind(err), isNotEmpty(err):
		f.Why = IsInUse
	}
	return f
}

// isElement reports whether a name can be one of a directory's.
func isElement(name string) bool {
	return name != "" && name != "." && name != ".." && len(name) <= maxPath && !strings.ContainsAny(name, "/\x00")
}

func (l *looker) list(dir string, limit int) error {
	d, err := l.root.openPath(dir)
	if err != nil {
		return err
	}
	defer d.close()
	names, err := d.names(limit)
	isCut := errors.Is(err, errEntries)
	if err != nil && !isCut {
		return err
	}
	entries := make([]Entry, 0, len(names))
	for _, name := range names {
		if e, err := d.entry(name); err == nil { // else it was removed
			entries = append(entries, newListed(name, e))
		}
	}
	l.e.number(number(isCut))
	l.e.number(uint64(len(entries)))
	for i := range entries {
		l.entry(entries[i])
		if len(l.e.b) > 64<<10 {
			if err := l.e.write(); err != nil {
				return err
			}
		}
	}
	return nil
}

func newListed(name string, e entry) Entry {
	return Entry{name, e.kind, max(e.signature.Size, 0), e.signature.Modified}
}

func (l *looker) entry(e Entry) {
	l.e.text(e.Name)
	l.e.number(uint64(e.Kind))
	l.e.number(uint64(e.Size))
	l.e.number(uint64(e.Modified))
}

// read reads what a path stands for. If that changes meanwhile, it begins again.
func (l *looker) read(p Part) error {
	return l.root.in(p.Path, func(d directory, name string) (err error) {
		for range attempts {
			if err = l.readOnce(d, name, p); err == nil || !changesKind(err) || errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		return err
	})
}

func (l *looker) readOnce(d directory, name string, p Part) error {
	e, err := d.entry(name)
	if err != nil {
		return err
	}
	var content []byte
	switch {
	case e.kind == KindLink:
		content, err = d.link(name)
	case e.kind == KindFile && p.Limit > 0:
		e, content, err = l.readFile(d, name, p)
	}
	if err != nil {
		return err
	}
	l.entry(newListed(name, e))
	l.e.bytes(content)
	return nil
}

func (l *looker) readFile(d directory, name string, p Part) (e entry, content []byte, err error) {
	f, err := d.openFile(name)
	if err != nil {
		return e, nil, err
	}
	defer f.close()
	if e, err = f.entry(); err != nil {
		return e, nil, err
	}
	if e.kind != KindFile {
		return e, nil, errKind
	}
	if p.IsWhole && e.signature.Size > int64(p.Limit) {
		return e, nil, nil
	}
	size := int(min(int64(p.Limit), max(e.signature.Size-p.Offset, 0)))
	if cap(l.buffer) < size {
		l.buffer = make([]byte, size+size/4)
	}
	content = l.buffer[:size]
	for n := 0; n < size; {
		m, err := f.readAt(content[n:], p.Offset+int64(n))
		if m == 0 || errors.Is(err, io.EOF) { // it became shorter
			return e, content[:n+m], nil
		}
		if err != nil {
			return e, nil, err
		}
		n += m
	}
	return e, content, nil
}

// errFound ends a walk: a name was found.
var errFound = errors.New("a name was found")

// ignored answers which names in a directory are ignored.
func (l *looker) ignored(dir string, names []string) error {
	w := &walker{request: &l.request, root: l.root, now: l.now, tell: func(f Fact) error {
		if _, ok := f.(Name); ok {
			return errFound
		}
		return nil
	}}
	p, err := w.enter(dir)
	if err != nil {
		return err
	}
	defer p.close()
	isKnown := true
	for _, name := range names {
		isIgnored := false
		if isKnown && isElement(name) {
			err := w.visit(p, name)
			isKnown = err == nil || errors.Is(err, errFound) // else there are too many names
			isIgnored = err == nil && !isEmpty(p.directory, name)
		}
		l.e.number(number(isIgnored))
	}
	return nil
}

// enter returns the place of a directory of the work tree, with the lists of ignored files that count there.
func (w *walker) enter(dir string) (p place, err error) {
	if p, err = w.begin(); err != nil {
		return p, err
	}
	if p.directory, err = w.root.again(); err != nil {
		return p, err
	}
	for rest := dir; ; {
		if !p.isIgnored {
			p.lists = w.withRules(p)
		}
		if rest == "" {
			return p, nil
		}
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		child, _ := w.child(p, p.prefix+name)
		child.directory, err = p.open(name)
		p.close()
		if err != nil {
			return p, err
		}
		p = child
	}
}

// isEmpty reports whether a name stands for nothing that a user would miss in git: a directory without names, or what is
// no file.
func isEmpty(d directory, name string) bool {
	e, err := d.entry(name)
	switch {
	case err != nil:
		return true
	case e.kind == KindDirectory:
		dir, err := d.open(name)
		if err != nil {
			return true
		}
		defer dir.close()
		names, err := dir.names(1)
		return len(names) == 0 && !errors.Is(err, errEntries)
	}
	return e.kind != KindFile && e.kind != KindLink
}

// size answers how large all regular files are.
func (l *looker) size() error {
	l.e.number(uint64(min(sizeBelow(l.root, 0), maxNumber-1)))
	return nil
}

// sizeBelow adds sizes. What cannot be read, or is removed meanwhile, has none.
func sizeBelow(d directory, depth int) (sum int64) {
	names, _ := d.names(maxListed)
	for _, name := range names {
		e, err := d.entry(name)
		switch {
		case err != nil:
		case e.kind == KindFile:
			sum += max(e.signature.Size, 0)
		case e.kind == KindDirectory && depth < maxRemovalDepth:
			if child, err := d.open(name); err == nil {
				sum += sizeBelow(child, depth+1)
				child.close()
			}
		}
	}
	return sum
}

// remove removes a name that is no directory, or an empty one.
func (l *looker) remove(path string) error {
	return l.root.in(path, func(d directory, name string) error {
		e, err := d.entry(name)
		if err != nil {
			return err
		}
		if e.kind == KindDirectory {
			return d.removeDirectory(name)
		}
		return d.remove(name)
	})
}
