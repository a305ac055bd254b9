package treesnapshot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bellhop/agenthost/workspace/objectpack"
	"bellhop/agenthost/workspace/treereader"
)

// Snapshot is a state of a work tree.
type Snapshot struct {
	ID      string // a commit of the store
	Tree    string
	Head    treereader.Head
	LeftOut []treereader.LeftOut // the first ones
	More    int                  // what else was left out
	Inner   []string             // directories that are repositories of their own, and whose files the snapshot has

	Files   treereader.Files // of the tree
	Skipped map[string]bool  // paths that a sparse checkout leaves without files, if the request asks for them

	began time.Time
}

// File returns what the snapshot has of a path.
func (s *Snapshot) File(path string) (treereader.Known, bool) {
	at, ok := find(s.Files, path)
	if !ok {
		return treereader.Known{}, false
	}
	return s.Files[at], true
}

// Below returns the files of the snapshot below a path.
func (s *Snapshot) Below(path string) treereader.Files {
	from, _ := find(s.Files, path+"/")
	to := from
	for to < len(s.Files) && strings.HasPrefix(s.Files[to].Path, path+"/") {
		to++
	}
	return s.Files[from:to]
}

// Has reports whether the snapshot has a file of a path, or below it.
func (s *Snapshot) Has(path string) bool {
	if _, ok := find(s.Files, path); ok {
		return true
	}
	return len(s.Below(path)) > 0
}

// Facts are what a reading tells, as Answer.Next of package treereader has it. Close ends the reading.
type Facts interface {
	Next() (treereader.Fact, error)
	Close()
}

// Read starts a reading.
type Read func(ctx context.Context, known treereader.Files) (Facts, error)

// told is a file that the reader has told.
type told struct {
	known  treereader.Known
	offset int64 // of its content in the spool
	size   int64
	isKept bool // it has an id, and no content
}

// taking makes one snapshot.
type taking struct {
	*Store
	scratch    string
	spool      *os.File
	spooled    int64
	known      treereader.Files
	tree       string // of what is known; "" = not in the repository yet
	told       map[string]*told
	deleted    map[int]bool
	kept       []treereader.Kept
	trees      []treereader.Kept // of a sparse index
	attributes map[string][]byte // files .gitattributes that git does not track
	isNew      bool              // sums or signatures are new
	snapshot   Snapshot
}

// Take reads the work tree and makes a snapshot. scratch is an empty directory. A *treereader.LimitError says that the
// tree has more changes than a reading takes.
func (s *Store) Take(ctx context.Context, scratch string, read Read) (*Snapshot, error) {
	t := &taking{
		Store: s, scratch: scratch, told: map[string]*told{}, deleted: map[int]bool{}, attributes: map[string][]byte{},
		snapshot: Snapshot{Skipped: map[string]bool{}, began: time.Now()},
	}
	var err error
	if t.known, t.tree, err = s.read(ctx); err != nil {
		return nil, err
	}
	if t.spool, err = os.OpenFile(filepath.Join(scratch, "spool"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
		return nil, err
	}
	defer t.spool.Close()
	if err := t.collect(ctx, read); err != nil {
		return nil, err
	}
	if err := t.expandTrees(ctx); err != nil {
		return nil, err
	}
	t.dropReplaced()
	return t.finish(ctx)
}

// collect takes all facts of a reading.
func (t *taking) collect(ctx context.Context, read Read) error {
	facts, err := read(ctx, t.known)
	if err != nil {
		return err
	}
	defer facts.Close()
	for {
		fact, err := facts.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = t.take(fact)
		}
		if err != nil {
			return err
		}
	}
}

func (t *taking) take(fact treereader.Fact) error {
	switch f := fact.(type) {
	case treereader.File:
		return t.takeFile(f)
	case treereader.Same:
		t.known[f.Known].Sum, t.known[f.Known].Signature, t.isNew = f.Sum, f.Signature, true
	case treereader.Deleted:
		t.deleted[f.Known] = true
	case treereader.Kept:
		if f.Mode == treereader.ModeTree {
			t.trees = append(t.trees, f)
			return nil
		}
		t.kept = append(t.kept, f)
	case treereader.Attributes:
		t.attributes[f.Path] = f.Content
	case treereader.Inner:
		t.snapshot.Inner = append(t.snapshot.Inner, f.Path)
	case treereader.LeftOut:
		t.snapshot.LeftOut = append(t.snapshot.LeftOut, f)
	case treereader.MoreLeftOut:
		t.snapshot.More = f.Count
	case treereader.Head:
		t.snapshot.Head = f
	}
	return nil
}

func (t *taking) takeFile(f treereader.File) error {
	sum := treereader.NewSum()
	n, err := io.Copy(io.MultiWriter(t.spool, sum), f.Content)
	if err == nil && n != f.Size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return err
	}
	t.told[f.Path] = &told{
		known:  treereader.Known{Path: f.Path, Mode: f.Mode, Sum: treereader.Sum(sum.Sum(nil)), Signature: f.Signature},
		offset: t.spooled, size: n,
	}
	t.spooled += n
	return nil
}

// content returns what the reader told of a file.
func (t *taking) content(f *told) *io.SectionReader {
	return io.NewSectionReader(t.spool, f.offset, f.size)
}

// expandTrees takes what a sparse checkout leaves without files: entries of the index, and the files of the trees that a
// sparse index names in the place of what is known below them. The repository in the work tree may have objects that
// the store cannot read: what needs them is left out.
func (t *taking) expandTrees(ctx context.Context) error {
	has, err := t.has(ctx, t.kept, t.trees)
	if err != nil {
		return err
	}
	for _, kept := range t.kept {
		if kept.Mode != treereader.ModeCommit {
			if !has[kept.ID] {
				t.leaveOut(kept.Path)
				continue
			}
			t.snapshot.Skipped[kept.Path] = true
		}
		t.told[kept.Path] = &told{known: treereader.Known{Path: kept.Path, Mode: kept.Mode, ID: kept.ID}, isKept: true}
	}
	for _, kept := range t.trees {
		if !has[kept.ID] {
			t.leaveOut(kept.Path)
			continue
		}
		if err := t.expandTree(ctx, kept); err != nil {
			return err
		}
	}
	return nil
}

func (t *taking) leaveOut(path string) {
	t.snapshot.LeftOut = append(t.snapshot.LeftOut, treereader.LeftOut{Path: path, Reason: treereader.NoObject})
}

func (t *taking) expandTree(ctx context.Context, kept treereader.Kept) error {
	inside := kept.Path + "/"
	for i := range t.known {
		if strings.HasPrefix(t.known[i].Path, inside) {
			t.deleted[i] = true
		}
	}
	files, err := t.list(ctx, kept.ID)
	if err != nil {
		return err
	}
	for _, k := range files {
		k.Path = inside + k.Path
		if t.told[k.Path] == nil {
			t.told[k.Path] = &told{known: k, isKept: true}
			t.snapshot.Skipped[k.Path] = true
		}
	}
	return nil
}

// has returns which objects of entries the store can read.
func (t *taking) has(ctx context.Context, lists ...[]treereader.Kept) (map[string]bool, error) {
	found := map[string]bool{}
	var wanted bytes.Buffer
	for _, list := range lists {
		for _, kept := range list {
			if kept.Mode != treereader.ModeCommit {
				wanted.WriteString(kept.ID + "\n")
			}
		}
	}
	if wanted.Len() == 0 {
		return found, nil
	}
	out, err := t.git(ctx, Call{
		GitDir: t.GitDir(), Stdin: &wanted, Limit: maxListing,
		Args: []string{"cat-file", "--batch-check=%(objectname) %(objecttype)"},
	})
	if err != nil {
		return nil, err
	}
	types := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if id, kind, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " "); ok {
			types[id] = kind
		}
	}
	for _, list := range lists {
		for _, kept := range list {
			wants := "blob"
			if kept.Mode == treereader.ModeTree {
				wants = "tree"
			}
			found[kept.ID] = types[kept.ID] == wants
		}
	}
	return found, nil
}

// dropReplaced drops entries without files that cannot be beside a file: a file stands for a directory of theirs, or is
// below their path. An index can name both.
func (t *taking) dropReplaced() {
	for _, path := range slices.Sorted(maps.Keys(t.told)) {
		f := t.told[path]
		for i := range path {
			if path[i] != '/' {
				continue
			}
			above := t.told[path[:i]]
			switch {
			case above == nil:
			case f.isKept:
				delete(t.told, path)
				delete(t.snapshot.Skipped, path)
			case above.isKept:
				delete(t.told, path[:i])
				delete(t.snapshot.Skipped, path[:i])
			}
		}
	}
}

func (t *taking) finish(ctx context.Context) (*Snapshot, error) {
	file, err := os.OpenFile(filepath.Join(t.scratch, "new.pack"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	pack, err := objectpack.New(file, t.hashSize)
	if err != nil {
		return nil, err
	}
	isChanged := t.tree == "" || len(t.told)+len(t.deleted) > 0
	if isChanged {
		err = t.makeTree(ctx, pack)
	} else {
		t.snapshot.Files, t.snapshot.Tree = t.known, t.tree
	}
	if err != nil {
		return nil, err
	}
	if t.snapshot.ID, err = pack.Commit(t.message()); err != nil {
		return nil, err
	}
	if !slices.Contains(t.snapshots(), t.snapshot.ID) {
		err = t.give(ctx, pack, file)
	}
	if err == nil {
		err = t.keep(ctx, t.snapshot.ID)
	}
	if err == nil && (isChanged || t.isNew) {
		err = t.save(t.snapshot.Files, t.snapshot.Tree)
	}
	return &t.snapshot, err
}

// makeTree adds the files that were told and the trees that have changed to the pack.
func (t *taking) makeTree(ctx context.Context, pack *objectpack.Writer) error {
	if err := t.nameFiles(ctx, pack); err != nil {
		return err
	}
	t.snapshot.Files = t.next()
	before := map[string]bool{}
	if t.base != "" || t.tree != "" { // the repository has the trees of what is known
		if _, err := pack.Tree(entries(t.known), func(id string) bool { before[id] = true; return true }); err != nil {
			return err
		}
	}
	var err error
	t.snapshot.Tree, err = pack.Tree(entries(t.snapshot.Files), func(id string) bool { return before[id] })
	return err
}

// message is the commit that names the state. Its times are fixed, so that the same state has the same id.
func (t *taking) message() string {
	const person = "Bellhop <bellhop@localhost> 0 +0000"
	return fmt.Sprintf("tree %s\nauthor %s\ncommitter %s\n\nbase %s\nhead %s %s\n",
		t.snapshot.Tree, person, person, t.base, t.snapshot.Head.Ref, t.snapshot.Head.Commit)
}

// nameFiles gives the files that were told the ids of their objects.
func (t *taking) nameFiles(ctx context.Context, pack *objectpack.Writer) error {
	converted, err := t.convert(ctx)
	if err != nil {
		return err
	}
	for _, path := range slices.Sorted(maps.Keys(t.told)) {
		f := t.told[path]
		if f.isKept {
			continue
		}
		if id, ok := converted[path]; ok {
			f.known.ID = id
			continue
		}
		if f.known.ID, err = pack.Blob(t.content(f), f.size); err != nil {
			return err
		}
	}
	return nil
}

// next returns what is known after the snapshot. A file that was told replaces what is known above and below its path.
func (t *taking) next() treereader.Files {
	for path := range t.told {
		for i := range path {
			if path[i] == '/' {
				if at, ok := find(t.known, path[:i]); ok {
					t.deleted[at] = true
				}
			}
		}
		at, _ := find(t.known, path+"/")
		for ; at < len(t.known) && strings.HasPrefix(t.known[at].Path, path+"/"); at++ {
			t.deleted[at] = true
		}
	}
	next := make(treereader.Files, 0, len(t.known)+len(t.told))
	for i := range t.known {
		if !t.deleted[i] && t.told[t.known[i].Path] == nil {
			next = append(next, t.known[i])
		}
	}
	for _, f := range t.told {
		next = append(next, f.known)
	}
	slices.SortFunc(next, func(a, b treereader.Known) int { return strings.Compare(a.Path, b.Path) })
	return next
}

// give puts the pack into the repository.
func (t *taking) give(ctx context.Context, pack *objectpack.Writer, file *os.File) error {
	if err := pack.Close(); err != nil {
		return err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err := t.git(ctx, Call{GitDir: t.GitDir(), Stdin: file, Args: []string{"index-pack", "--stdin"}})
	return err
}
