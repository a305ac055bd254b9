package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"bellhop/agenthost/workspace/treereader"
	"bellhop/agenthost/workspace/treesnapshot"
	"bellhop/internal/filelock"
	"bellhop/internal/owner"
	"bellhop/internal/process"
	"bellhop/protocol"
)

// What the host knows of the files in a workspace comes from snapshots: a reader with the rights of the session's
// programs, or less, walks through the tree, and git works on what it tells, in a store that only the host writes. So
// no program of the host opens a file that an agent can exchange.

// defaultLimits bound a reading. New and changed content counts, not unchanged files.
var defaultLimits = treereader.Limits{
	Files: 50_000, Bytes: 512 << 20, FileSize: 64 << 20, Large: 1 << 30, Entries: 1_000_000, Depth: 100,
}

const (
	snapshotTimeout = time.Minute
	maxListing      = 32 << 20 // bytes of names
)

// Confine returns a reader's command with no more rights than the programs of a session have in the workspace whose top
// directory is root. session is "" if no session works there. The command can change what is below root only if it
// writes.
type Confine func(session, root string, writes bool, c process.Command) (process.Command, error)

// SetReader sets the program that reads and changes work trees, and what confines it. Without it the program is this one,
// and has the host's rights. It is called before the first session.
func (m *Manager) SetReader(self string, confine Confine) { m.readerProgram, m.confine = self, confine }

func (m *Manager) snapshotDir(rec *record) string {
	return m.dataPath("workspaces", ".snapshots/"+rec.Key)
}

// Files of a store beside those of the snapshots.
const (
	excludeFile = "exclude" // the project's list of ignored files at the check-in
	freshFile   = "fresh"   // made when the workspace was filled; exists until it was read, before its first program
	diffFile    = "diff"    // the last diff
)

// snapshot is a snapshot of a workspace, whose store the caller holds.
type snapshot struct {
	*treesnapshot.Snapshot
	store   *treesnapshot.Store
	scratch string
	repo    repository // the store, with the attributes of the snapshot and an empty work tree
}

// withSnapshot takes a snapshot of a workspace, and runs do before the next one is taken. The caller has a slot. ask
// changes what the reader is asked for. CodeConflict: the work tree is gone, has more changes than a snapshot takes, or
// takes too long to read.
func (m *Manager) withSnapshot(
	ctx context.Context, rec *record, ask func(*treereader.Request), do func(ctx context.Context, s *snapshot) error,
) error {
	release, err := m.lockStore(ctx, rec)
	if err == nil {
		defer release()
		err = m.withStore(ctx, rec, storeOf{}, ask, do)
	}
	switch {
	case err != nil && ctx.Err() == nil && m.isRemoved(rec):
		return errNoWorkspace()
	case errors.Is(err, context.DeadlineExceeded):
		return errTooSlow(err)
	}
	return err
}

// isRemoved reports whether a workspace was removed since its record was read.
func (m *Manager) isRemoved(rec *record) bool {
	current, err := m.readRecord(rec.Key)
	return protocol.CodeOf(err) == protocol.CodeNotFound || err == nil && current.State != rec.State
}

// storeOf is what a store begins with.
type storeOf struct{ base, objects string }

// withStore is withSnapshot for a caller that holds the store.
func (m *Manager) withStore(
	ctx context.Context, rec *record, of storeOf, ask func(*treereader.Request),
	do func(ctx context.Context, s *snapshot) error,
) error {
	if m.git.program == "" {
		return errNoGit
	}
	if info, err := os.Lstat(m.rootDir(rec)); err != nil || !info.IsDir() {
		return errWorkspaceGone(err)
	}
	store, err := m.openStore(ctx, rec, of)
	if err != nil {
		return err
	}
	scratch, remove, err := m.scratchDir()
	if err != nil {
		return err
	}
	defer remove()
	taken, err := m.takeSnapshot(ctx, rec, store, cmp.Or(of.base, basisOf(rec)), scratch, ask)
	if err != nil {
		return err
	}
	s := &snapshot{Snapshot: taken, store: store, scratch: scratch, repo: repository{
		gitDir: store.GitDir(), workTree: filepath.Join(scratch, "none"), indexFile: filepath.Join(scratch, "attributes"),
	}}
	if err := errors.Join(os.Mkdir(s.repo.workTree, 0o700), store.WriteAttributes(s.repo.indexFile, taken)); err != nil {
		return err
	}
	return do(ctx, s)
}

// lockStore waits for the store of a workspace. CodeNotFound: the workspace was removed meanwhile.
func (m *Manager) lockStore(ctx context.Context, rec *record) (release func(), err error) {
	path := m.snapshotDir(rec) + ".lock"
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := waitForLock(ctx, file); err != nil {
		return nil, err
	}
	locked, err := file.Stat()
	if err == nil {
		var now fs.FileInfo
		if now, err = os.Lstat(path); err != nil || !os.SameFile(locked, now) {
			err = errNoWorkspace()
		}
	}
	if err == nil && m.isRemoved(rec) {
		err = errNoWorkspace()
	}
	release = func() { _ = filelock.Release(file) }
	if err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// openStore opens the store of a workspace, and makes it if it is missing.
func (m *Manager) openStore(ctx context.Context, rec *record, of storeOf) (*treesnapshot.Store, error) {
	hashSize := 20
	if !isSHA1(rec.Format) {
		hashSize = 32
	}
	if rec.Kind == kindClone {
		src, err := m.recordSource(ctx, rec)
		if err != nil {
			return nil, err
		}
		of = storeOf{rec.Base, filepath.Join(src.gitDir, "objects")}
	}
	return treesnapshot.Open(m.snapshotDir(rec), of.objects, of.base, hashSize, m.runInStore)
}

// runInStore implements treesnapshot.Git.
func (m *Manager) runInStore(ctx context.Context, c treesnapshot.Call) ([]byte, error) {
	return m.git.run(ctx, call{
		repo: repository{gitDir: c.GitDir, workTree: c.WorkTree, indexFile: c.IndexFile}, args: c.Args, stdin: c.Stdin,
		limit: c.Limit, time: snapshotTimeout, noFiles: true, // the store's settings name no filter
	})
}

// takeSnapshot takes a snapshot of a workspace that began with a tree.
func (m *Manager) takeSnapshot(
	ctx context.Context, rec *record, store *treesnapshot.Store, base, scratch string, ask func(*treereader.Request),
) (*treesnapshot.Snapshot, error) {
	exclude, err := m.excludeOf(rec)
	if err != nil {
		return nil, err
	}
	var submodules []string
	if base != emptyTree {
		if submodules, err = store.Submodules(ctx, base); err != nil {
			return nil, err
		}
	}
	request := &treereader.Request{
		Root: m.rootDir(rec), HashSize: store.HashSize(), Exclude: exclude, Limits: m.limits, Submodules: submodules,
	}
	if ask != nil {
		ask(request)
	}
	read, err := m.reader(rec, request)
	if err != nil {
		return nil, err
	}
	taken, err := store.Take(ctx, scratch, read)
	if err != nil {
		return nil, m.errReading(err)
	}
	return taken, nil
}

// excludeOf returns the list of ignored files that the project had when the workspace was made.
func (m *Manager) excludeOf(rec *record) (string, error) {
	exclude, err := os.ReadFile(filepath.Join(m.snapshotDir(rec), excludeFile))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return string(exclude), err
}

// reader returns what starts a confined reader.
func (m *Manager) reader(rec *record, r *treereader.Request) (treesnapshot.Read, error) {
	c, err := m.helper(m.sessionIn(rec), m.rootDir(rec), treereader.Command, false)
	if err != nil {
		return nil, err
	}
	return treesnapshot.Process(c, r), nil
}

// errReading explains why a work tree was not read.
func (m *Manager) errReading(err error) error {
	var limit *treereader.LimitError
	switch {
	case errors.As(err, &limit):
		return m.errTooMany(limit)
	case errors.Is(err, context.DeadlineExceeded):
		return errTooSlow(err)
	}
	return fmt.Errorf("read a workspace: %w", err)
}

func (m *Manager) errTooMany(err error) error {
	return &protocol.Error{
		Code: protocol.CodeConflict,
		Message: fmt.Sprintf("The workspace holds over %d new or changed files, or %d MiB of them, or %d files at all",
			m.limits.Files, m.limits.Bytes>>20, m.limits.Entries),
		Hint: "List packages and build output in .gitignore", Err: err,
	}
}

// beginStore replaces the store of a workspace that is made. src is the project's repository, nil for none. isFresh says
// that the work tree is that of the record's base, and that no program works in it before Begin.
func (m *Manager) beginStore(ctx context.Context, rec *record, src *source, isFresh bool) error {
	dir := m.snapshotDir(rec)
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if isFresh {
		if err := writeFile(filepath.Join(dir, freshFile), nil); err != nil {
			return err
		}
	}
	if src == nil {
		return nil
	}
	files, err := m.filesOfProject(ctx, src)
	if err != nil {
		return err
	}
	return writeOrRemove(filepath.Join(dir, excludeFile), files.exclude)
}

// removeStore removes the store of a workspace. The lock goes last: who waits for it finds no workspace.
func (m *Manager) removeStore(rec *record) error {
	if err := os.RemoveAll(m.snapshotDir(rec)); err != nil {
		return fmt.Errorf("remove the workspace's snapshots: %w", err)
	}
	if err := os.Remove(m.snapshotDir(rec) + ".lock"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Begin reads the state of a new workspace's files before the first program of its session starts, and after the files
// belong to the session's user. So later snapshots read only the files that have changed. It does nothing for other
// workspaces, and later.
func (m *Manager) Begin(ctx context.Context, path string) error {
	rec, err := m.findByPath(path)
	if err != nil {
		return err
	}
	fresh := filepath.Join(m.snapshotDir(rec), freshFile)
	if _, err := os.Lstat(fresh); err != nil {
		return nil // a program may have changed the files
	}
	release, err := m.lockStore(ctx, rec)
	if err != nil {
		return err
	}
	defer release()
	filled, err := os.Lstat(fresh)
	if err != nil {
		return nil // another call has read them
	}
	err = m.withStore(ctx, rec, storeOf{}, func(r *treereader.Request) { r.Fresh = filled.ModTime().UnixNano() },
		func(context.Context, *snapshot) error { return nil })
	return errors.Join(err, os.Remove(fresh))
}

// scratchDir creates a temporary directory in the data directory. On the same file
// system a file can be renamed out of it.
func (m *Manager) scratchDir() (dir string, remove func(), err error) {
	parent := m.dataPath("workspaces", ".scratch")
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return "", nil, err
	}
	m.removeOldScratch(parent)
	dir, err = os.MkdirTemp(parent, "")
	if err != nil {
		return "", nil, err
	}
	return dir, func() { _ = os.RemoveAll(dir) }, nil
}

// removeOldScratch removes scratch directories that a crash left behind. No
// snapshot takes an hour, so younger ones may be in use.
func (m *Manager) removeOldScratch(parent string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && m.now().Sub(info.ModTime()) > time.Hour {
			_ = os.RemoveAll(filepath.Join(parent, entry.Name()))
		}
	}
}

// basisOf returns what diffs of a workspace compare with, as the store knows it.
func basisOf(rec *record) string {
	if rec.Kind == kindOwn { // its first commit is in the session's own repository
		return emptyTree
	}
	return rec.Base
}

// emptyTree is a tree without files, which git knows in each repository with SHA-1.
const emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

// mustRefuse returns what of a snapshot's left-out files git could have: a commit without these would not be the state
// of the work tree. A FIFO, socket or device in whose place git has nothing is none of them.
func mustRefuse(s *treesnapshot.Snapshot) []treereader.LeftOut {
	var all []treereader.LeftOut
	for _, left := range s.LeftOut {
		switch left.Reason {
		case treereader.IsFIFO, treereader.IsSocket, treereader.IsDevice:
			if !s.Has(left.Path) {
				continue
			}
		}
		all = append(all, left)
	}
	return all
}

// errLeftOut names files that are not in a snapshot.
func errLeftOut(left []treereader.LeftOut, more int) error {
	const shown = 5
	var names []string
	for _, l := range left[:min(len(left), shown)] {
		names = append(names, fmt.Sprintf("%q %s", protocol.CutText(l.Path, 200), l.Reason))
	}
	if more += len(left) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return &protocol.Error{
		Code: protocol.CodeConflict, Message: "The workspace has files that cannot be committed: " + strings.Join(names, ", "),
		Hint: "Ask the agent to remove them, or to list them in .gitignore",
	}
}

// ownerOf returns to whom the files of a workspace belong.
func (m *Manager) ownerOf(rec *record) owner.ID {
	id, err := owner.OfPath(m.rootDir(rec))
	if err != nil {
		return owner.Self()
	}
	return id
}
