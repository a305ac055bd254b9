package workspace

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bellhop/agenthost/workspace/treereader"
	"bellhop/internal/lazyregexp"
	"bellhop/protocol"
)

// The mirror of a workspace is a git directory that only the host writes. Git runs
// in the mirror, never in the git directory that the agent can change: so neither
// the agent's configuration, hooks and alternates nor its symbolic links have an
// effect. A mirror holds copies of the agent's object files and refs, which a confined process
// has read. It has no work tree and no index: what the files are, a snapshot says.

// Limits of what a mirror reads, in bytes.
const (
	maxRefFile     = 16 << 20 // packed-refs
	maxLooseRef    = 4 << 10
	maxRefs        = 100_000
	maxExcludeFile = 1 << 20
	maxObjectFile  = 4 << 30 // a pack
	maxObjectFiles = 100_000 // of one directory
	objectPiece    = 4 << 20 // what is read at once
)

var (
	fanOutName = lazyregexp.New(`^[0-9a-f]{2}$`)
	looseName  = lazyregexp.New(`^([0-9a-f]{38}|[0-9a-f]{62})$`)
	packName   = lazyregexp.New(`^pack-([0-9a-f]{40}|[0-9a-f]{64})\.(pack|idx|rev)$`)
	objectID   = lazyregexp.New(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
)

func (m *Manager) mirrorDir(rec *record) string {
	return m.dataPath("workspaces", ".mirrors/"+rec.Key)
}

// mirror updates the mirror of a workspace and returns it, and with it the project of a clone. CodeConflict: the workspace has no git directory any more.
func (m *Manager) mirror(ctx context.Context, rec *record) (repo repository, src *source, err error) {
	release, err := m.mirrorLocks.acquire(ctx, rec.Key)
	if err != nil {
		return repo, nil, err
	}
	defer release()
	if rec.Kind == kindClone {
		if src, err = m.recordSource(ctx, rec); err != nil {
			return repo, nil, err
		}
	}
	if err := m.settled(func() error { return m.updateMirror(ctx, rec, src) }); err != nil {
		return repo, nil, err
	}
	return repository{gitDir: m.mirrorDir(rec)}, src, nil
}

func (m *Manager) updateMirror(ctx context.Context, rec *record, src *source) error {
	agent, err := m.openGitDir(ctx, rec)
	if err != nil {
		return err
	}
	defer agent.close()
	if _, err := agent.names("refs"); err != nil {
		return err
	}
	dir := m.mirrorDir(rec)
	if err := m.makeMirror(ctx, rec, src); err != nil {
		return err
	}
	for _, step := range []func() error{
		func() error { return mirrorObjects(agent, filepath.Join(dir, "objects")) },
		func() error { return mirrorRefs(agent, dir) },
		func() error { return agent.copyFile("shallow", filepath.Join(dir, "shallow"), maxRefFile) },
	} {
		if err := step(); err != nil {
			return fmt.Errorf("read the workspace's repository: %w", err)
		}
	}
	return nil
}

// openGitDir opens the git directory of a workspace. Nothing outside the workspace can be reached through the result,
// whatever links the agent makes. If it is no directory, each use of the result returns errNoRepository.
func (m *Manager) openGitDir(ctx context.Context, rec *record) (*tree, error) {
	return m.openTree(ctx, m.sessionIn(rec), m.rootDir(rec), &treereader.TreeRequest{Root: m.gitDir(rec)})
}

func errNoRepository(err error) error {
	return &protocol.Error{
		Code: protocol.CodeConflict, Message: "The session's workspace is no git repository any more",
		Hint: "Its .git directory was removed or replaced", Err: err,
	}
}

// makeMirror creates an empty mirror if it is missing. The mirror of a clone reads
// the objects of its project src too.
func (m *Manager) makeMirror(ctx context.Context, rec *record, src *source) error {
	dir := m.mirrorDir(rec)
	if _, err := os.Lstat(filepath.Join(dir, "HEAD")); err != nil {
		if err := m.initBare(ctx, dir, rec.Format); err != nil {
			return err
		}
	}
	if src == nil {
		return nil
	}
	return writeAlternates(filepath.Join(dir, "objects"), filepath.Join(src.gitDir, "objects"))
}

// initBare makes an empty bare repository with objects of a format; "" = sha1.
func (m *Manager) initBare(ctx context.Context, dir, format string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if isSHA1(format) {
		return initRepository(dir, "master", true)
	}
	_, err := m.git.run(ctx, call{
		dir: dir, noFiles: true, args: []string{"init", "--quiet", "--template=", "--object-format=" + format, "--bare", dir},
	})
	return err
}

func isSHA1(format string) bool { return format == "" || format == "sha1" }

// mirrorObjects copies new object files and removes those that the agent's
// repository no longer has.
func mirrorObjects(agent *tree, target string) error {
	names, err := agent.names("objects")
	if err != nil {
		return err
	}
	for _, name := range names {
		switch {
		case fanOutName.MatchString(name):
			err = mirrorDirectory(agent, "objects/"+name, filepath.Join(target, name), looseName)
		case name == "pack":
			err = mirrorDirectory(agent, "objects/pack", filepath.Join(target, "pack"), packName)
		}
		if err != nil {
			return err
		}
	}
	existing, err := os.ReadDir(target)
	if err != nil {
		return err
	}
	for _, entry := range existing { // directories that the agent's git has removed
		if fanOutName.MatchString(entry.Name()) && !slices.Contains(names, entry.Name()) {
			if err := os.RemoveAll(filepath.Join(target, entry.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// mirrorDirectory gives target the same files as the agent's directory. A pack gets
// its index last: git reads a pack only through its index.
func mirrorDirectory(agent *tree, source, target string, wanted *lazyregexp.Regexp) error {
	entries, err := agent.entries(source)
	if err != nil {
		return err
	}
	entries = slices.DeleteFunc(entries, func(e treereader.Entry) bool {
		return e.Kind != treereader.KindFile || !wanted.MatchString(e.Name)
	})
	slices.SortStableFunc(entries, func(a, b treereader.Entry) int { return indexRank(a.Name) - indexRank(b.Name) })
	if err := os.MkdirAll(target, 0o700); err != nil {
		return err
	}
	present, err := os.ReadDir(target)
	if err != nil {
		return err
	}
	existing := map[string]fs.DirEntry{}
	for _, entry := range present {
		existing[entry.Name()] = entry
	}
	entries = slices.DeleteFunc(entries, func(e treereader.Entry) bool {
		isCopied := isCopy(existing[e.Name], e)
		delete(existing, e.Name)
		return isCopied
	})
	for name := range existing {
		if err := os.Remove(filepath.Join(target, name)); err != nil {
			return err
		}
	}
	return agent.copyObjects(source, target, entries)
}

// isCopy reports whether a file of the mirror is a copy of an agent's file.
func isCopy(file fs.DirEntry, of treereader.Entry) bool {
	if file == nil {
		return false
	}
	info, err := file.Info()
	return err == nil && info.Size() == of.Size && info.ModTime().UnixNano() == of.Modified
}

func indexRank(name string) int {
	if strings.HasSuffix(name, ".idx") {
		return 1
	}
	return 0
}

// copyObjects copies files of the agent, in their order. One that is removed or changes meanwhile is left to the next
// time. CodeConflict: one cannot be read.
func (t *tree) copyObjects(source, target string, entries []treereader.Entry) error {
	for len(entries) > 0 {
		isLarge := func(e treereader.Entry) bool { return e.Size > objectPiece }
		small := slices.IndexFunc(entries, isLarge)
		if small < 0 {
			small = len(entries)
		}
		parts := make([]treereader.Part, small)
		for i := range parts {
			parts[i] = treereader.Part{Path: source + "/" + entries[i].Name, Limit: objectPiece, IsWhole: true}
		}
		err := t.ReadEach(parts, func(i int, e treereader.Entry, content []byte, err error) error {
			if err != nil {
				return t.errGitDir(err)
			}
			if e.Kind != treereader.KindFile || int64(len(content)) != e.Size {
				return nil // a program changes it
			}
			return writeCopy(filepath.Join(target, entries[i].Name), e, func(to *os.File) error {
				_, err := to.Write(content)
				return err
			})
		})
		if err != nil {
			return t.explain(err)
		}
		if small < len(entries) {
			if err := t.copyLarge(source+"/"+entries[small].Name, filepath.Join(target, entries[small].Name)); err != nil {
				return err
			}
			small++
		}
		entries = entries[small:]
	}
	return nil
}

// errChanging means that a program changes a file while it is copied.
var errChanging = errors.New("the file changes while it is read")

// copyLarge copies a file of the agent in pieces. Pieces without content stay holes: an agent could fill the host's disk
// otherwise with what takes none of its own.
func (t *tree) copyLarge(name, target string) error {
	first, piece, err := t.Read(treereader.Part{Path: name, Limit: objectPiece})
	switch {
	case err != nil:
		return t.errGitDir(err)
	case first.Kind != treereader.KindFile:
		return nil
	case first.Size > maxObjectFile:
		return errNotMirrored(name, maxObjectFile)
	}
	err = writeCopy(target, first, func(to *os.File) error {
		for offset := int64(0); len(piece) > 0; {
			if bytes.Count(piece, []byte{0}) < len(piece) {
				if _, err := to.WriteAt(piece, offset); err != nil {
					return err
				}
			}
			if offset += int64(len(piece)); offset >= first.Size {
				break
			}
			var now treereader.Entry
			if now, piece, err = t.Read(treereader.Part{Path: name, Offset: offset, Limit: objectPiece}); err != nil {
				return cmp.Or(t.errGitDir(err), errChanging)
			}
			if now != first {
				return errChanging
			}
		}
		return to.Truncate(first.Size)
	})
	if errors.Is(err, errChanging) {
		return nil
	}
	return err
}

// writeCopy makes a file with the time of the agent's, by which the next mirror knows it.
func writeCopy(target string, of treereader.Entry, fill func(to *os.File) error) error {
	next, err := os.CreateTemp(filepath.Dir(target), ".new-*")
	if err != nil {
		return err
	}
	if err = errors.Join(fill(next), next.Close()); err == nil {
		at := time.Unix(0, of.Modified)
		err = errors.Join(os.Chtimes(next.Name(), at, at), os.Rename(next.Name(), target))
	}
	if err != nil {
		_ = os.Remove(next.Name())
	}
	return err
}

// entries returns what is in a directory of a git directory. A missing directory is empty. CodeConflict: it cannot be
// read, or has too many entries.
func (t *tree) entries(dir string) ([]treereader.Entry, error) {
	entries, isCut, err := t.List(dir, maxObjectFiles)
	switch {
	case err != nil:
		return nil, t.errGitDir(err)
	case isCut:
		return nil, protocol.Errorf(protocol.CodeConflict, "%s in the workspace's git directory has over %d entries", dir, maxObjectFiles)
	}
	return entries, nil
}

// names returns the names of entries.
func (t *tree) names(dir string) ([]string, error) {
	entries, err := t.entries(dir)
	names := make([]string, len(entries))
	for i := range entries {
		names[i] = entries[i].Name
	}
	return names, err
}

// errGitDir explains why something in a git directory was not read. What is not there is no error, unless it is the git
// directory itself. Only that is errNoRepository: what cannot be read may be all there.
func (t *tree) errGitDir(err error) error {
	f := (*treereader.Failure)(nil)
	switch {
	case !errors.As(err, &f):
		return t.explain(err)
	case f.Path == "" && (f.Why == treereader.IsGone || f.Why == treereader.IsLink):
		return errNoRepository(f)
	case f.Why == treereader.IsGone:
		return nil
	}
	what := "The workspace's git directory"
	if f.Path != "" {
		what = f.Path + " in the workspace's git directory"
	}
	return &protocol.Error{
		Code: protocol.CodeConflict, Message: what + " cannot be read", Err: f,
		Hint: "It is a link, the agent's programs cannot read it either, or they change it again and again",
	}
}

// isNoRepository reports whether an error is errNoRepository.
func isNoRepository(err error) bool {
	f := (*treereader.Failure)(nil)
	return errors.As(err, &f) && f.Path == "" && (f.Why == treereader.IsGone || f.Why == treereader.IsLink)
}

func errNotMirrored(name string, limit int64) error {
	return protocol.Errorf(protocol.CodeConflict, "%s in the workspace's git directory is no file of at most %d bytes", name, limit)
}

// readFile returns the content of a file of a git directory, nil if there is none.
func (t *tree) readFile(name string, limit int) ([]byte, error) {
	e, content, err := t.Read(treereader.Part{Path: name, Limit: limit, IsWhole: true})
	if err != nil {
		return nil, t.errGitDir(err)
	}
	if e.Kind != treereader.KindFile || e.Size > int64(limit) {
		return nil, errNotMirrored(name, int64(limit))
	}
	return content, nil
}

// copyFile copies a file of a git directory. If there is none, the copy is removed.
func (t *tree) copyFile(name, target string, limit int) error {
	content, err := t.readFile(name, limit)
	if err != nil {
		return err
	}
	return writeOrRemove(target, content)
}

// writeOrRemove writes a file, or removes it if the content is nil.
func writeOrRemove(target string, content []byte) error {
	if content != nil {
		return writeFile(target, content)
	}
	if err := os.Remove(target); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// writeAlternates creates an object directory that also reads from others.
func writeAlternates(objects string, others ...string) error {
	if err := os.MkdirAll(filepath.Join(objects, "info"), 0o700); err != nil {
		return err
	}
	var list strings.Builder
	for _, other := range others {
		if strings.ContainsAny(other, "\n\"") {
			return protocol.Errorf(protocol.CodeConflict, "git cannot use the path %q", other)
		}
		if other != objects {
			list.WriteString(other + "\n")
		}
	}
	return writeFile(filepath.Join(objects, "info", "alternates"), []byte(list.String()))
}
