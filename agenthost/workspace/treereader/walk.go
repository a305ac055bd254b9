package treereader

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"time"
)

// walker makes one reading.
type walker struct {
	request *Request
	known   Files
	seen    []bool // of known: whether it still has a file, or keeps its content for another reason
	tracked []tracked
	modules map[string]bool // paths that .gitmodules names
	root    directory
	device  uint64
	settles bool // signatures on the file system can be trusted
	tell    func(Fact) error
	now     func() time.Time

	entries, files, names, left int
	bytes, large                int64
	youngest                    int64 // the latest change that a signature of a quiet reading has
	buffer                      []byte
}

// place is a directory of the walk.
type place struct {
	directory
	prefix    string // its path, with a slash at its end; "" for the work tree
	known     span   // what is known below it
	tracked   span   // what git tracks below it
	lists     []rules
	isIgnored bool // then only tracked files in it count
	isSparse  bool // a sparse index leaves it out, so that it does not say which files in it are tracked
	depth     int
}

// attempts is how often the reader uses a name whose file changes between two of its steps.
const attempts = 3

// run tells all facts of the tree.
func (w *walker) run() error {
	root, err := w.begin()
	if err != nil {
		return err
	}
	if err := w.walk(root); err != nil {
		return err
	}
	if w.request.Unkept {
		err = w.staged()
	} else {
		err = w.keepSparse()
	}
	if err != nil {
		return err
	}
	for i, seen := range w.seen {
		if !seen {
			if err := w.tell(Deleted{i}); err != nil {
				return err
			}
		}
	}
	if w.left > maxLeftOut {
		if err := w.tell(MoreLeftOut{min(w.left-maxLeftOut, maxKnown-1)}); err != nil {
			return err
		}
	}
	w.waitForClock()
	return nil
}

// begin returns the place of the work tree.
func (w *walker) begin() (root place, err error) {
	self, err := w.root.self()
	if err != nil {
		return root, err
	}
	w.device, w.settles = self.signature.Device, w.root.settles()
	if err := w.openRepository(); err != nil {
		return root, err
	}
	root = place{directory: w.root, known: span{0, len(w.known)}, tracked: span{0, len(w.tracked)}}
	if w.request.Exclude != "" {
		root.lists = []rules{parseRules(w.request.Exclude, "")}
	}
	return root, nil
}

// openRepository reads which names are tracked. If that cannot be read, what the last snapshot has counts as tracked.
func (w *walker) openRepository() error {
	w.modules = w.readModules()
	dir, err := w.root.open(".git")
	if err == nil {
		defer dir.close()
		git := repository{dir, w.request.HashSize}
		var ok bool
		w.tracked, ok = git.readIndex(w.request.Unkept)
		if w.request.Unkept && !ok {
			if err := w.leaveOut(".git/index", Unreadable); err != nil {
				return err
			}
		}
		head := git.head()
		head.IsUnmerged = slices.ContainsFunc(w.tracked, func(e tracked) bool { return e.isUnmerged })
		if err := w.tell(head); err != nil || ok {
			return err
		}
	}
	w.tracked = make([]tracked, len(w.known))
	for i := range w.known {
		w.tracked[i] = tracked{path: w.known[i].Path, mode: w.known[i].Mode, id: w.known[i].ID}
	}
	return nil
}

func (w *walker) knownPath(i int) string   { return w.known[i].Path }
func (w *walker) trackedPath(i int) string { return w.tracked[i].path }

// isTracked reports whether a file in a place is tracked.
func (w *walker) isTracked(p place, path string) bool {
	return find(p.tracked, path, w.trackedPath) >= 0 || p.isSparse && find(p.known, path, w.knownPath) >= 0
}

func (w *walker) walk(p place) error {
	if !p.isIgnored {
		p.lists = w.withRules(p)
	}
	names, err := p.names(w.request.Limits.Entries - w.entries)
	if errors.Is(err, errEntries) {
		return &LimitError{err}
	}
	if errors.Is(err, fs.ErrNotExist) { // the directory was removed meanwhile
		return nil
	}
	if err != nil {
		return w.leaveOut(p.prefix, Unreadable)
	}
	w.entries += len(names)
	for _, name := range names {
		if name == ".git" {
			if err := w.repositoryInside(p); err != nil {
				return err
			}
			continue
		}
		if err := w.visit(p, name); err != nil {
			return err
		}
	}
	return nil
}

// withRules returns the lists of ignored files that count in a place. A .gitignore that is no regular file has no
// rules, as for git.
func (w *walker) withRules(p place) []rules {
	content, err := p.read(".gitignore", maxRules)
	if errors.Is(err, errSize) {
		_ = w.leaveOut(p.prefix+".gitignore", RulesTooLarge)
	}
	if err != nil {
		return p.lists
	}
	return append(p.lists[:len(p.lists):len(p.lists)], parseRules(string(content), p.prefix))
}

// visit reads what one name stands for. If that changes meanwhile, it begins again.
func (w *walker) visit(p place, name string) error {
	path := p.prefix + name
	if i := find(p.tracked, path, w.trackedPath); i >= 0 {
		w.tracked[i].isPresent = true
	}
	for range attempts {
		err := w.visitOnce(p, name, path)
		switch {
		case err == nil, isOfReading(err):
			return err
		case errors.Is(err, fs.ErrNotExist): // it was removed meanwhile
			return nil
		case !changesKind(err):
			return w.leaveOut(path, Unreadable)
		}
	}
	return w.leaveOut(path, Unstable)
}

// changesKind reports whether an error says that a name stands for another kind of file than a moment ago.
func changesKind(err error) bool {
	return errors.Is(err, errKind) || isGone(err) || errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENXIO)
}

// isOfReading reports whether an error ends the reading, rather than being one of a file.
func isOfReading(err error) bool {
	var limit *LimitError
	var answer *answerError
	return errors.As(err, &limit) || errors.As(err, &answer) || errors.Is(err, errFound)
}

func (w *walker) visitOnce(p place, name, path string) error {
	e, err := p.entry(name)
	if err != nil {
		return err
	}
	if e.kind == KindDirectory {
		return w.visitDirectory(p, name, path)
	}
	isIgnored := !w.isTracked(p, path) && (p.isIgnored || ignores(p.lists, path, false))
	if w.request.Unkept {
		return w.unkept(name, path, e, isIgnored)
	}
	if isIgnored {
		if w.request.Ignored && len(path) <= maxPath {
			return w.name(path, true)
		}
		return w.attributes(p, name, path, e)
	}
	switch {
	case len(path) > maxPath:
		return w.leaveOut(path, PathTooLong)
	case isRefused(name), e.kind == KindLink && isRefusedLink(name):
		return w.leaveOut(path, RefusedName)
	}
	if w.request.NamesOnly && (e.kind == KindFile || e.kind == KindLink) {
		return w.name(path, false)
	}
	switch e.kind {
	case KindFile:
		return w.file(p, name, path, e)
	case KindLink:
		return w.link(p, name, path, e)
	case KindFIFO:
		return w.leaveOut(path, IsFIFO)
	case KindSocket:
		return w.leaveOut(path, IsSocket)
	case KindDevice:
		return w.leaveOut(path, IsDevice)
	default:
		return w.leaveOut(path, Unreadable)
	}
}

// repositoryInside tells that a directory whose files are told is a repository of its own.
func (w *walker) repositoryInside(p place) error {
	if p.prefix == "" || p.isIgnored || w.request.NamesOnly || w.request.Unkept {
		return nil
	}
	path := strings.TrimSuffix(p.prefix, "/")
	if w.names += len(path); w.names > maxNames {
		return &LimitError{errEntries}
	}
	return w.tell(Inner{Path: path})
}

// child returns the place of a directory in a place, which is not opened yet. link is the index of the tracked commit of
// a repository there, or -1.
func (w *walker) child(p place, path string) (child place, link int) {
	child = place{
		prefix: path + "/", lists: p.lists, isIgnored: p.isIgnored, isSparse: p.isSparse, depth: p.depth + 1,
		known:   below(p.known, path+"/", w.knownPath),
		tracked: below(p.tracked, path+"/", w.trackedPath),
	}
	if link = find(p.tracked, path, w.trackedPath); link >= 0 && w.tracked[link].mode != ModeCommit {
		link = -1
	}
	if child.tracked.from < child.tracked.to && w.tracked[child.tracked.from].path == child.prefix {
		child.isSparse = true
	}
	if link < 0 && !child.isIgnored {
		child.isIgnored = ignores(p.lists, path, true)
	}
	return child, link
}

func (w *walker) visitDirectory(p place, name, path string) error {
	child, link := w.child(p, path)
	isLink := link >= 0
	isSubmodule := w.isSubmodule(path, isLink)
	hasTracked := child.tracked.from < child.tracked.to || child.isSparse && child.known.from < child.known.to
	isUnkept := child.isIgnored && !hasTracked && !isLink
	switch {
	case isUnkept && !w.request.Ignored && !w.request.Unkept, isUnkept && w.request.Unkept && madeDirectories[name]:
		return nil
	case isRefused(name):
		return w.leaveOut(path, RefusedName)
	case len(path) > maxPath:
		return w.leaveOut(path, PathTooLong)
	case child.depth > w.request.Limits.Depth:
		return w.leaveOut(path, TooDeep)
	}
	var err error
	if child.directory, err = p.open(name); err != nil {
		return err
	}
	defer child.close()
	self, err := child.self()
	if err != nil {
		return err
	}
	if self.signature.Device != w.device {
		return w.leaveOut(path, OtherFileSystem)
	}
	if w.request.Unkept {
		if isInner, err := w.inner(child.directory, path, isSubmodule && isLink); isInner || err != nil {
			return err
		}
		return w.walk(child)
	}
	if isSubmodule && (isLink || !hasTracked) && !w.request.Ignored {
		id, isRepository := w.nestedCommit(child.directory, path)
		switch {
		case id != "":
			return w.commit(p, path, id)
		case isLink:
			return w.commit(p, path, w.tracked[link].id)
		case isRepository:
			return w.leaveOut(path, NoCommit)
		}
	}
	return w.walk(child)
}

// name tells the name of a file.
func (w *walker) name(path string, isIgnored bool) error {
	if w.names += len(path); w.names > maxNames {
		return &LimitError{errEntries}
	}
	return w.tell(Name{path, isIgnored})
}

// commit tells the commit of a repository inside.
func (w *walker) commit(p place, path, id string) error {
	if w.request.NamesOnly {
		return w.name(path, false)
	}
	if i := w.see(path); i >= 0 && !p.isSparse && w.known[i].Mode == ModeCommit && w.known[i].ID == id {
		return nil
	}
	return w.keep(Kept{path, ModeCommit, id})
}

// see marks a known path as present, and returns its index, or -1.
func (w *walker) see(path string) int {
	i := find(span{0, len(w.known)}, path, w.knownPath)
	if i >= 0 {
		w.seen[i] = true
	}
	return i
}

// seeBelow marks what is known below a directory as present. The directory ends in a slash, or is "".
func (w *walker) seeBelow(dir string) {
	s := below(span{0, len(w.known)}, dir, w.knownPath)
	for i := s.from; i < s.to; i++ {
		w.seen[i] = true
	}
}

// maxLeftOut bounds how much is told of what was left out.
const maxLeftOut = 1000

// leaveOut tells that a path is not read. What is known of it stays. A directory may end in a slash.
func (w *walker) leaveOut(path string, reason Reason) error {
	if path == "" {
		path = "."
		w.seeBelow("")
	} else {
		if path[len(path)-1] == '/' {
			path = path[:len(path)-1]
		}
		w.see(path)
		w.seeBelow(path + "/")
	}
	if w.left++; w.left > maxLeftOut {
		return nil
	}
	return w.tell(LeftOut{path[:min(len(path), maxPath)], reason})
}

// attributes tells a .gitattributes that is ignored: git obeys it all the same.
func (w *walker) attributes(p place, name, path string, e entry) error {
	if name != ".gitattributes" || e.kind != KindFile || p.isIgnored || w.request.NamesOnly {
		return nil
	}
	content, err := p.read(name, maxRules)
	if err != nil {
		return nil //nolint:nilerr // then git has no attributes either
	}
	if err := w.count(path, int64(len(content))); err != nil {
		return err
	}
	return w.tell(Attributes{path, content})
}

// count adds a file to what the limits bound.
func (w *walker) count(path string, size int64) error {
	w.files++
	w.names += len(path)
	w.bytes += size
	switch {
	case w.files > w.request.Limits.Files, w.names > maxNames:
		return &LimitError{errFiles}
	case w.bytes > w.request.Limits.Bytes:
		return &LimitError{errBytes}
	}
	return nil
}

func (w *walker) keep(k Kept) error {
	if !k.isValid(w.request.HashSize) {
		return w.leaveOut(k.Path, RefusedName)
	}
	if w.names += len(k.Path); w.names > maxNames {
		return &LimitError{errFiles}
	}
	return w.tell(k)
}

// keepSparse tells the entries of the index that have no file by intent.
func (w *walker) keepSparse() error {
	for i := range w.tracked {
		e := &w.tracked[i]
		if !e.skipWorktree || e.isPresent {
			continue
		}
		if w.request.NamesOnly {
			if e.mode == ModeTree || !IsPath(e.path) {
				continue
			}
			if err := w.name(e.path, false); err != nil {
				return err
			}
			continue
		}
		if e.mode == ModeTree {
			if err := w.keepDirectory(e); err != nil {
				return err
			}
			continue
		}
		known := find(span{0, len(w.known)}, e.path, w.knownPath)
		if known >= 0 {
			wasSeen := w.seen[known]
			w.seen[known] = true
			if wasSeen || !w.request.Skipped && w.known[known].ID == e.id && w.known[known].Mode == e.mode {
				continue
			}
		}
		if w.isReplaced(e.path) {
			continue
		}
		if err := w.keep(Kept{e.path, e.mode, e.id}); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) keepDirectory(e *tracked) error {
	w.seeBelow(e.path)
	path := e.path
	if path != "" && path[len(path)-1] == '/' {
		path = path[:len(path)-1]
	}
	return w.keep(Kept{path, ModeTree, e.id})
}

// isReplaced reports whether the tree has a directory in the place of a path, or a file in that of a directory above.
func (w *walker) isReplaced(path string) bool {
	s := below(span{0, len(w.known)}, path+"/", w.knownPath)
	for i := s.from; i < s.to; i++ {
		if w.seen[i] {
			return true
		}
	}
	for i := range len(path) {
		if path[i] != '/' {
			continue
		}
		if above := find(span{0, len(w.known)}, path[:i], w.knownPath); above >= 0 && w.seen[above] {
			return true
		}
	}
	return false
}
