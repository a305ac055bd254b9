package treesnapshot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bellhop/agenthost/workspace/objectpack"
	"bellhop/agenthost/workspace/treereader"
)

// Snapshot is a state of a work tree.
type Snapshot struct {
	ID      string // a commit of the store
	Tree    string
	Head    treereader.Head
	LeftOut []treereader.LeftOut
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
	told       map[string]*told
	deleted    map[int]bool
	trees      []treereader.Kept // of a sparse index
	attributes map[string][]byte // files .gitattributes that git does not track
	isNew      bool              // sums or signatures are new
	snapshot   Snapshot
}

// Take reads the work tree and makes a snapshot. scratch is an empty directory. A *treereader.LimitError says that the
// tree has more changes than a reading takes.
func (s *Store) Take(ctx context.Context, scratch string, read Read) (*Snapshot, error) {
	known, err := s.Files(ctx)
	if err != nil {
		return nil, err
	}
	t := &taking{
		Store: s, scratch: scratch, known: known, told: map[string]*told{}, deleted: map[int]bool{},
		attributes: map[string][]byte{},
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
		t.told[f.Path] = &told{known: treereader.Known{Path: f.Path, Mode: f.Mode, ID: f.ID}, isKept: true}
	case treereader.Attributes:
		t.attributes[f.Path] = f.Content
	case treereader.LeftOut:
		t.snapshot.LeftOut = append(t.snapshot.LeftOut, f)
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

// expandTrees puts the files of the trees that a sparse index names in the place of what is known below them.
func (t *taking) expandTrees(ctx context.Context) error {
	for _, kept := range t.trees {
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
			}
		}
	}
	return nil
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
	if err := t.nameFiles(ctx, pack); err != nil {
		return nil, err
	}
	next := t.next()
	before := map[string]bool{}
	if _, err := pack.Tree(entries(t.known), func(id string) bool { before[id] = true; return true }); err != nil {
		return nil, err
	}
	if t.snapshot.Tree, err = pack.Tree(entries(next), func(id string) bool { return before[id] && t.hasBase() }); err != nil {
		return nil, err
	}
	if t.snapshot.ID, err = pack.Commit(t.message()); err != nil {
		return nil, err
	}
	if t.snapshot.ID != t.last() { // else the repository has all of it
		if err := t.give(ctx, pack, file); err != nil {
			return nil, err
		}
	}
	if t.isNew || len(t.told)+len(t.deleted) > 0 {
		if err := t.save(next); err != nil {
			return nil, err
		}
	}
	return &t.snapshot, nil
}

// hasBase reports whether the trees of what is known are in the repository: not before the first snapshot of a tree that
// began with nothing.
func (t *taking) hasBase() bool { return t.base != "" || len(t.known) > 0 }

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
	if _, err := t.git(ctx, Call{GitDir: t.GitDir(), Stdin: file, Args: []string{"index-pack", "--stdin"}}); err != nil {
		return err
	}
	return os.WriteFile(t.lastPath(), []byte(t.snapshot.ID), 0o600)
}
