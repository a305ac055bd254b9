package treereader

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"strconv"
	"time"
)

// state is what was read of a file or link.
type state struct {
	mode      Mode
	content   []byte
	signature Signature
}

// unsettledTime is how long after its last change the state of a file is not trusted: the next change could have the
// same time.
const unsettledTime = 2 * time.Second

// settled returns a signature if later readings can trust it, else one that only has the size. begin is a moment
// before the content was read.
func (w *walker) settled(s Signature, begin time.Time) Signature {
	if !w.settles || s.Device != w.device {
		return unsettled(s.Size)
	}
	if begin.UnixNano()-s.Changed >= int64(unsettledTime) {
		return s
	}
	if isWholeSeconds := s.Changed%int64(time.Second) == 0; w.isQuiet() && !isWholeSeconds {
		w.youngest = max(w.youngest, s.Changed)
		return s
	}
	return unsettled(s.Size)
}

// clockTick is longer than the step of the clock that gives files their times.
const clockTick = 20 * time.Millisecond

// waitForClock waits until a change after the reading has a later time than those of the signatures.
func (w *walker) waitForClock() {
	if wait := time.Duration(w.youngest-w.now().UnixNano()) + clockTick; w.youngest != 0 && wait > 0 {
		time.Sleep(min(wait, clockTick))
	}
}

// isUnchanged reports whether a file still has the state that is known of it.
func (w *walker) isUnchanged(known int, e entry) bool {
	return w.settles && known >= 0 && w.known[known].Signature == e.signature && w.known[known].Mode == w.modeOf(known, e)
}

// isQuiet reports whether no program of the session runs.
func (w *walker) isQuiet() bool { return w.request.Fresh != 0 }

// takeFresh takes a known file as it is, without its content, if the host has just written it, and nobody since.
func (w *walker) takeFresh(known int, e entry) (ok bool, err error) {
	if e.signature.Modified >= w.request.Fresh || known < 0 || w.known[known].Mode != w.modeOf(known, e) {
		return false, nil
	}
	w.seen[known] = true
	return true, w.same(known, w.known[known].Sum, w.settled(e.signature, w.now()))
}

// modeOf returns the mode of a file or link for git. Where the file system does not say which files are programs, the
// known mode stays.
func (w *walker) modeOf(known int, e entry) Mode {
	switch {
	case e.kind == KindLink:
		return ModeLink
	case !hasModes && known >= 0 && w.known[known].Mode == ModeProgram, e.executable:
		return ModeProgram
	}
	return ModeFile
}

// findKnown returns the index of a known file, or -1. What is known below a directory of a sparse index does not count:
// the host takes that from the tree that the index names, and the files that are present from their content.
func (w *walker) findKnown(p place, path string) int {
	if p.isSparse {
		return -1
	}
	return find(p.known, path, w.knownPath)
}

func (w *walker) link(p place, name, path string, e entry) error {
	known := w.findKnown(p, path)
	if w.isUnchanged(known, e) {
		w.seen[known] = true
		return nil
	}
	if ok, err := w.takeFresh(known, e); ok {
		return err
	}
	begin := w.now()
	target, err := p.link(name)
	if err != nil {
		return err
	}
	after, err := p.entry(name)
	if err != nil {
		return err
	}
	if after.kind != KindLink {
		return errKind
	}
	signature := unsettled(int64(len(target)))
	if after == e {
		signature = w.settled(e.signature, begin)
	}
	return w.give(path, known, state{ModeLink, target, signature})
}

func (w *walker) file(p place, name, path string, e entry) error {
	known := w.findKnown(p, path)
	if w.isUnchanged(known, e) {
		w.seen[known] = true
		return nil
	}
	if ok, err := w.takeFresh(known, e); ok {
		return err
	}
	for attempt := 1; ; attempt++ {
		isStable, err := w.readFile(p, name, path, known, attempt == attempts)
		if err != nil || isStable {
			return err
		}
	}
}

// readFile reads a file and tells of it. If the file changes meanwhile, it reports false; with isLast it tells the
// state that it has read.
func (w *walker) readFile(p place, name, path string, known int, isLast bool) (isStable bool, err error) {
	f, err := p.openFile(name)
	if err != nil {
		return false, err
	}
	defer f.close()
	begin := w.now()
	before, err := f.entry()
	if err != nil {
		return false, err
	}
	if before.kind != KindFile {
		return false, errKind
	}
	signature := w.settled(before.signature, begin)
	if signature == before.signature && !w.isQuiet() && f.writeBack() != nil {
		signature = unsettled(before.signature.Size)
	}
	if before.signature.Size > w.request.Limits.FileSize {
		return true, w.largeFile(f, path, known, before, signature)
	}
	content := w.grown(before.signature.Size)
	n, err := f.fill(content)
	if err != nil {
		return false, err
	}
	after, err := f.entry()
	if err != nil {
		return false, err
	}
	if isStable = after == before && n == len(content); !isStable {
		if !isLast {
			return false, nil
		}
		signature = unsettled(int64(n)) // it goes on changing: this is one of its states
	}
	return true, w.give(path, known, state{w.modeOf(known, after), content[:n], signature})
}

// grown returns the reader's buffer with a size.
func (w *walker) grown(size int64) []byte {
	if int64(cap(w.buffer)) < size {
		w.buffer = make([]byte, size+size/4)
	}
	return w.buffer[:size]
}

// give tells of content that was read, or only of its signature if the content is known.
func (w *walker) give(path string, known int, s state) error {
	if known >= 0 {
		w.seen[known] = true
		if k := &w.known[known]; k.Mode == s.mode {
			sum := SumOf(s.content)
			if isSame := k.Sum == sum || k.Sum == (Sum{}) && k.ID == w.blob(s.content); isSame {
				return w.same(known, sum, s.signature)
			}
		}
	}
	size := int64(len(s.content))
	if err := w.count(path, size); err != nil {
		return err
	}
	return w.tell(File{Path: path, Mode: s.mode, Signature: s.signature, Size: size, content: s.content})
}

func (w *walker) same(known int, sum Sum, signature Signature) error {
	if k := &w.known[known]; k.Sum == sum && k.Signature == signature {
		return nil
	}
	return w.tell(Same{known, sum, signature})
}

// blob returns the id of git's object with some content.
func (w *walker) blob(content []byte) string {
	h := w.newBlob(int64(len(content)))
	h.Write(content)
	return hex.EncodeToString(h.Sum(nil))
}

func (w *walker) newBlob(size int64) hash.Hash {
	var h hash.Hash
	if w.request.HashSize == sha256.Size {
		h = sha256.New()
	} else {
		h = sha1.New() // as git
	}
	h.Write([]byte("blob " + strconv.FormatInt(size, 10) + "\x00"))
	return h
}

// largeFile tells whether a file that is too large to be told of is what is known. It reads no file of another size.
func (w *walker) largeFile(f file, path string, known int, before entry, signature Signature) error {
	size := before.signature.Size
	if known < 0 || w.known[known].Mode != w.modeOf(known, before) {
		return w.leaveOut(path, TooLarge)
	}
	k := &w.known[known]
	if k.Sum != (Sum{}) && k.Signature.Size != size {
		return w.leaveOut(path, TooLarge)
	}
	if w.large += size; w.large > w.request.Limits.Large {
		return w.leaveOut(path, ManyLarge)
	}
	blob, sum := w.newBlob(size), sha256.New()
	buffer := w.grown(min(w.request.Limits.FileSize, 1<<20))
	for left := size; left > 0; {
		n, err := f.fill(buffer[:min(left, int64(len(buffer)))])
		if err != nil || n == 0 {
			return w.leaveOut(path, TooLarge) // it became shorter, or cannot be read
		}
		blob.Write(buffer[:n])
		sum.Write(buffer[:n])
		left -= int64(n)
	}
	after, err := f.entry()
	now := Sum(sum.Sum(nil))
	isSame := k.Sum == now || k.Sum == (Sum{}) && k.ID == hex.EncodeToString(blob.Sum(nil))
	if err != nil || !isSame {
		return w.leaveOut(path, TooLarge)
	}
	if after != before {
		signature = unsettled(size)
	}
	w.seen[known] = true
	return w.same(known, now, signature)
}
