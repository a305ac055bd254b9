package treereader

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"syscall"
)

// Change is what becomes of one file of a tree, if it is as the host expects.
type Change struct {
	Path string
	Old  Old
	New  New
	Lock bool // take git's lock on the file; of a file that stays, remove a lock that nobody holds

	// StaleBefore is when a lock of another program was made at the latest that no longer runs; 0 = none is removed.
	StaleBefore int64
}

// Old is what the host expects of a file. Where it expects none, there can be a directory with nothing but directories and
// files that other changes remove, or in the place of a directory of the path a file that another change removes.
type Old struct {
	Any  bool // it may be anything but a directory
	Mode Mode // 0 = there is no file
	Size int64
	Sum  Sum    // of the content, or of a link's target
	ID   string // of git's object with the content, if the sum is not known
}

// New is what a file becomes.
type New struct {
	Stays    bool // it is only checked
	Told     bool // what it is now is told to the host
	Mode     Mode // 0 = it is removed, with the directories that are empty then
	Size     int64
	Content  io.Reader // Size bytes: of the host, and of a link the target
	Perm     uint32    // 0 = that of the old file of the same mode, or what the system gives a new file
	Modified int64     // nanoseconds since 1970; 0 = now
}

// Refusal says why the files were not changed.
type Refusal struct {
	Path   string // "" = the directory that has them is none
	Why    Obstacle
	Partly bool // some of them were, before a program got in the way
}

// Obstacle is what keeps the writer from changing a file.
type Obstacle uint8

// The obstacles.
const (
	HasChanged Obstacle = iota // the file is not as the host expects
	IsNoFile                   // it is a directory, or what should be a directory of its path is none
	IsLocked                   // another git command has the lock
	Unwritable                 // the system refuses
	IsInTheWay                 // it is in a directory that a file replaces
	obstacles                  // their number
)

func (r *Refusal) Error() string {
	return fmt.Sprintf("%q %s", r.Path, [...]string{"has changed", "is no file", "is locked", "cannot be written", "is in the way"}[r.Why])
}

// Bounds of the changes of one request.
const (
	maxChanges = 4096
	maxWritten = 4 << 30 // bytes of one file
	maxTold    = 64 << 20
)

// Frames of the writer's answer, beside frameEnd.
const frameRefusal = 'r'

// WriteChanges writes changes of the tree below root, for ServeChanges: first all that is expected, then the content.
func WriteChanges(to io.Writer, root string, hashSize int, changes []Change) error {
	e := newEncoder(to)
	e.text(root)
	e.number(uint64(hashSize))
	e.number(uint64(len(changes)))
	for i := range changes {
		c := &changes[i]
		e.text(c.Path)
		e.number(number(c.Old.Any))
		e.number(uint64(c.Old.Mode))
		e.number(uint64(c.Old.Size))
		e.sum(c.Old.Sum)
		e.text(c.Old.ID)
		e.number(number(c.New.Stays))
		e.number(number(c.New.Told))
		e.number(uint64(c.New.Mode))
		e.number(uint64(c.New.Size))
		e.number(uint64(c.New.Perm))
		e.number(uint64(c.New.Modified))
		e.number(number(c.Lock))
		e.number(uint64(c.StaleBefore))
		if err := e.write(); err != nil {
			return err
		}
	}
	for i := range changes {
		c := &changes[i].New
		if c.Stays || c.Mode == 0 {
			continue
		}
		if n, err := io.Copy(e.w, io.LimitReader(c.Content, c.Size)); err != nil || n != c.Size {
			return errors.Join(err, io.ErrUnexpectedEOF)
		}
	}
	return e.flush()
}

func readChanges(d *decoder) (root string, hashSize int, changes []Change) {
	root, hashSize = d.text(maxPath), int(d.below(33))
	count := d.below(maxChanges + 1)
	for range count {
		changes = append(changes, Change{
			Path: d.text(maxPath),
			Old: Old{
				Any: d.bool(), Mode: d.mode(), Size: d.below(maxNumber), Sum: d.sum(), ID: d.text(maxID),
			},
			New: New{
				Stays: d.bool(), Told: d.bool(), Mode: d.mode(), Size: d.below(maxWritten + 1), Perm: uint32(d.below(0o1000)),
				Modified: int64(d.number()),
			},
			Lock: d.bool(), StaleBefore: int64(d.number()),
		})
	}
	return root, hashSize, changes
}

// ReadOutcome reads what ServeChanges answers: the content of the file that was to be told. A *Refusal says that nothing
// was changed, and why.
func ReadOutcome(from io.Reader) (told []byte, err error) {
	d := newDecoder(from)
	switch kind := d.byte(); {
	case d.err == nil && kind == frameEnd:
		if told = d.bytes(maxTold); d.err == nil {
			return told, nil
		}
	case d.err == nil && kind == frameRefusal:
		if r := (&Refusal{d.text(maxPath), Obstacle(d.below(int64(obstacles))), d.bool()}); d.err == nil {
			return nil, r
		}
	}
	return nil, errors.Join(errWire, d.err)
}

// ServeChanges reads changes of WriteChanges, makes all of them or none, and writes the answer. The process is the
// writer alone, with the rights of the session's programs or less.
func ServeChanges(in io.Reader, out io.Writer) error { return serveChanges(in, out, func() {}) }

// serveChanges is ServeChanges with a function that runs before each use of a name.
func serveChanges(in io.Reader, out io.Writer, step func()) error {
	d := newDecoder(in)
	path, hashSize, changes := readChanges(d)
	if d.err != nil {
		return fmt.Errorf("read the changes: %w", d.err)
	}
	w := &writer{changes: changes, hashSize: hashSize, perms: make([]uint32, len(changes)), removed: map[string]bool{}}
	for i := range changes {
		if c := &changes[i]; !c.New.Stays && c.New.Mode == 0 && !c.Old.Any && c.Old.Mode != 0 {
			w.removed[c.Path] = true
		}
	}
	root, err := openDirectory(path, step)
	if isNoDirectory(err) || errors.Is(err, fs.ErrNotExist) {
		err = &Refusal{Why: IsNoFile}
	}
	if err == nil {
		defer root.close()
		w.root = root
		err = w.run(d)
	}
	e := newEncoder(out)
	var refusal *Refusal
	switch {
	case errors.As(err, &refusal):
		e.b = append(e.b, frameRefusal)
		e.text(refusal.Path)
		e.number(uint64(refusal.Why))
		e.number(number(refusal.Partly))
	case err != nil:
		return err
	default:
		e.b = append(e.b, frameEnd)
		e.bytes(w.told)
	}
	if err := e.write(); err != nil {
		return err
	}
	return e.flush()
}

// writer changes named files of a tree.
type writer struct {
	root     directory
	changes  []Change
	hashSize int
	perms    []uint32 // of the files before
	removed  map[string]bool
	made     []string // temporary files and locks
	dirs     []string // that were made
	changed  bool     // a file
	told     []byte
}

// run checks all files, writes the new ones beside them, checks again, and only then changes the first one.
func (w *writer) run(content *decoder) (err error) {
	if err := w.each(w.check); err != nil {
		return err
	}
	defer func() { w.cleanUp(err != nil) }()
	for _, step := range []func(int) error{
		func(i int) error { return w.prepare(i, io.LimitReader(content.r, w.changes[i].New.Size)) },
		w.lock, w.check,
		func(i int) error { return w.apply(i, true) },
		func(i int) error { return w.apply(i, false) },
	} {
		if err := w.each(step); err != nil {
			return err
		}
	}
	return nil
}

// each does something for each change. What the system refuses there is a *Refusal.
func (w *writer) each(do func(i int) error) error {
	for i := range w.changes {
		err := do(i)
		if errno := syscall.Errno(0); errors.As(err, &errno) {
			err = &Refusal{Path: w.changes[i].Path, Why: Unwritable}
		}
		if refusal := (*Refusal)(nil); errors.As(err, &refusal) {
			refusal.Partly = w.changed
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// temporary and lockName return the names of files beside one of a path. The temporary one is always the same, so that
// the writer finds that of one which was killed.
func temporary(path string) string {
	sum := sha256.Sum256([]byte(path))
	return inDirectoryOf(path, ".bellhop-"+hex.EncodeToString(sum[:8]))
}

// temporary is the function temporary, but for a file below one that is removed: then the temporary file is beside that.
func (w *writer) temporary(path string) string {
	temp := temporary(path)
	for i := range path {
		if path[i] == '/' && w.removed[path[:i]] {
			return inDirectoryOf(path[:i], temp[strings.LastIndexByte(temp, '/')+1:])
		}
	}
	return temp
}

func lockName(path string) string { return path + ".lock" }

func inDirectoryOf(path, name string) string { return path[:strings.LastIndexByte(path, '/')+1] + name }

// in calls do with the directory of a path, and the path's last element.
func (w *writer) in(path string, do func(d directory, name string) error) error {
	err := w.root.in(path, do)
	if at := (*elementError)(nil); errors.As(err, &at) && isNoDirectory(at.err) {
		return &Refusal{Path: at.path, Why: IsNoFile}
	}
	return err
}

// check compares a file with what the host expects.
func (w *writer) check(at int) error {
	c := &w.changes[at]
	if !IsPath(c.Path) {
		return fmt.Errorf("the path %.200q", c.Path)
	}
	err := w.in(c.Path, func(d directory, name string) error { return w.compare(d, name, at) })
	if r := (*Refusal)(nil); errors.As(err, &r) && r.Why == IsNoFile && r.Path != c.Path && c.isNew() && w.removed[r.Path] {
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) { // the directory, or the file
		err = nil
		if !c.Old.Any && c.Old.Mode != 0 {
			err = &Refusal{Path: c.Path}
		}
	}
	return err
}

// compare compares a file with what is expected of it. fs.ErrNotExist: there is none.
func (w *writer) compare(d directory, name string, at int) error {
	c := &w.changes[at]
	e, err := d.entry(name)
	if err != nil {
		return err
	}
	changed := &Refusal{Path: c.Path}
	switch e.kind {
	case KindDirectory:
		if !c.isNew() {
			return &Refusal{Path: c.Path, Why: IsNoFile}
		}
		visited := 0
		return w.checkBelow(d, name, c.Path, &visited)
	case KindFile:
		w.perms[at] = e.perm
	}
	if c.Old.Any && c.New.Told {
		w.told, err = d.read(name, maxTold)
		return err
	}
	if c.Old.Any {
		return nil
	}
	mode := ModeFile
	switch {
	case e.kind == KindLink:
		mode = ModeLink
	case e.kind != KindFile:
		return changed
	case e.executable, !hasModes && c.Old.Mode == ModeProgram:
		mode = ModeProgram
	}
	if mode != c.Old.Mode || e.signature.Size != c.Old.Size {
		return changed
	}
	if mode == ModeLink {
		target, err := d.link(name)
		if err != nil || !c.Old.is(target, w.hashSize) {
			return changedUnless(err, changed)
		}
		return nil
	}
	content, err := d.read(name, c.Old.Size)
	if err != nil || !c.Old.is(content, w.hashSize) {
		return changedUnless(err, changed)
	}
	if c.New.Told {
		w.told = content
	}
	return nil
}

// isNew reports whether the change makes a file that is expected not to be there.
func (c *Change) isNew() bool {
	return !c.Old.Any && c.Old.Mode == 0 && !c.New.Stays && c.New.Mode != 0 && !c.Lock
}

// maxVisitedBelow bounds the names in a directory that a file replaces.
const maxVisitedBelow = 4 * maxChanges

// checkBelow refuses what is in a directory but for files that are removed. fs.ErrNotExist: there is nothing else.
func (w *writer) checkBelow(d directory, name, path string, visited *int) error {
	child, err := d.open(name)
	if err != nil {
		return err
	}
	defer child.close()
	names, err := child.names(maxVisitedBelow)
	if *visited += len(names); errors.Is(err, errEntries) || *visited > maxVisitedBelow {
		return &Refusal{Path: path, Why: IsNoFile}
	}
	for _, name := range names {
		inside := path + "/" + name
		e, entryErr := child.entry(name)
		switch {
		case errors.Is(entryErr, fs.ErrNotExist):
		case entryErr != nil:
			return entryErr
		case e.kind == KindDirectory && len(inside) <= maxPath:
			if err := w.checkBelow(child, name, inside, visited); !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		case !w.removed[inside]:
			return &Refusal{Path: inside[:min(len(inside), maxPath)], Why: IsInTheWay}
		}
	}
	if err == nil {
		err = fs.ErrNotExist
	}
	return err
}

// changedUnless returns an error of the system, or else that the file has changed.
func changedUnless(err error, changed *Refusal) error {
	if err == nil || errors.Is(err, errKind) || errors.Is(err, errSize) || isGone(err) {
		return changed
	}
	return err
}

// is reports whether some content is what is expected.
func (o *Old) is(content []byte, hashSize int) bool {
	if o.Sum != (Sum{}) {
		return SumOf(content) == o.Sum
	}
	w := walker{request: &Request{HashSize: hashSize}}
	return w.blob(content) == o.ID
}

// prepare writes a new file beside the one that it replaces.
func (w *writer) prepare(at int, content io.Reader) error {
	c := &w.changes[at]
	if c.Lock {
		if err := w.release(c); err != nil {
			return err
		}
	}
	if c.New.Stays || c.New.Mode == 0 {
		return nil
	}
	temp := w.temporary(c.Path)
	if err := w.makeParents(temp); err != nil {
		return err
	}
	return w.in(temp, func(d directory, name string) error {
		if err := d.removeIfThere(name); err != nil {
			return err
		}
		w.made = append(w.made, temp)
		if c.New.Mode == ModeLink {
			target, err := io.ReadAll(io.LimitReader(content, maxPath+1))
			if err == nil {
				err = d.symlink(string(target), name)
			}
			return err
		}
		perm := c.New.Perm
		if isProgram := w.perms[at]&0o100 != 0; perm == 0 && w.perms[at] != 0 && isProgram == (c.New.Mode == ModeProgram) {
			perm = w.perms[at] & 0o777
		}
		return d.create(name, c.New.Mode == ModeProgram, perm, content, c.New.Size, c.New.Modified)
	})
}

// release removes a lock that nobody holds: one that is too old, or that is the temporary file of a writer that was killed.
func (w *writer) release(c *Change) error {
	err := w.in(lockName(c.Path), func(d directory, lock string) error {
		locked, err := d.entry(lock)
		if err != nil {
			return err
		}
		temp := temporary(c.Path)
		own, err := d.entry(temp[strings.LastIndexByte(temp, '/')+1:])
		isOwn := err == nil && hasInodes && own.signature.Inode == locked.signature.Inode && own.signature.Device == locked.signature.Device
		if !isOwn && locked.signature.Modified >= c.StaleBefore {
			return nil
		}
		return d.removeIfThere(lock)
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (d directory) removeIfThere(name string) error {
	err := d.remove(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// makeParents makes the missing directories of a path.
func (w *writer) makeParents(path string) error {
	for i := range path {
		if path[i] != '/' {
			continue
		}
		err := w.in(path[:i], func(d directory, name string) error { return d.mkdir(name) })
		switch {
		case err == nil:
			w.dirs = append(w.dirs, path[:i])
		case !errors.Is(err, fs.ErrExist):
			return err
		}
	}
	return nil
}

// lock takes git's lock on a file: the lock is the new file by another name.
func (w *writer) lock(at int) error {
	path := w.changes[at].Path
	if !w.changes[at].Lock || w.changes[at].New.Stays {
		return nil
	}
	return w.in(lockName(path), func(d directory, name string) error {
		temp := temporary(path)
		err := d.hardLink(temp[strings.LastIndexByte(temp, '/')+1:], name)
		if errors.Is(err, fs.ErrExist) {
			return &Refusal{Path: path, Why: IsLocked}
		}
		if err == nil {
			w.made = append(w.made, lockName(path))
		}
		return err
	})
}

// apply makes one change, if it removes a file as wanted, or does not.
func (w *writer) apply(at int, removes bool) error {
	c := &w.changes[at]
	if c.New.Stays || removes != (c.New.Mode == 0) {
		return nil
	}
	var err error
	switch temp := w.temporary(c.Path); {
	case removes:
		err = w.in(c.Path, func(d directory, name string) error { return d.remove(name) })
	case temp != temporary(c.Path):
		if err = w.makeParents(c.Path); err == nil {
			err = w.in(temp, func(from directory, old string) error {
				return w.in(c.Path, func(to directory, name string) error { return from.move(old, to, name) })
			})
		}
	default:
		if c.Lock {
			temp = lockName(c.Path)
		}
		err = w.in(c.Path, func(d directory, name string) error {
			if c.isNew() {
				d.removeDirectories(name, 0)
			}
			return d.rename(temp[strings.LastIndexByte(temp, '/')+1:], name)
		})
	}
	switch {
	case c.New.Mode == 0 && errors.Is(err, fs.ErrNotExist):
		err = nil
	case errors.Is(err, syscall.EISDIR), errors.Is(err, syscall.EEXIST), errors.Is(err, syscall.ENOTEMPTY):
		return &Refusal{Path: c.Path, Why: IsNoFile}
	}
	if err == nil {
		w.changed = true
		if c.New.Mode == 0 {
			w.removeEmptyParents(c.Path)
		}
	}
	return err
}

// removeDirectories removes a directory in which there are only directories. What cannot be removed stays.
func (d directory) removeDirectories(name string, depth int) {
	e, err := d.entry(name)
	if err != nil || e.kind != KindDirectory || !isNotEmpty(d.removeDirectory(name)) || depth > maxDepth {
		return
	}
	child, err := d.open(name)
	if err != nil {
		return
	}
	names, _ := child.names(maxVisitedBelow)
	for _, inside := range names {
		child.removeDirectories(inside, depth+1)
	}
	child.close()
	_ = d.removeDirectory(name)
}

// removeEmptyParents removes the directories that are empty without a file.
func (w *writer) removeEmptyParents(path string) {
	for {
		at := strings.LastIndexByte(path, '/')
		if at < 0 {
			return
		}
		path = path[:at]
		if w.in(path, func(d directory, name string) error { return d.removeDirectory(name) }) != nil {
			return
		}
	}
}

// cleanUp removes what the writer has made for its own use, and after a failure the directories, too.
func (w *writer) cleanUp(failed bool) {
	for _, path := range w.made {
		_ = w.in(path, func(d directory, name string) error { return d.remove(name) }) // most were renamed
	}
	for i := len(w.dirs) - 1; i >= 0 && failed; i-- {
		_ = w.in(w.dirs[i], func(d directory, name string) error { return d.removeDirectory(name) })
	}
}
