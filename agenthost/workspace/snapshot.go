package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"bellhop/protocol"
)

// Limits on reading files that git does not track.
const (
	defaultUntrackedFiles = 50_000
	defaultUntrackedBytes = 512 << 20
	maxListing            = 32 << 20 // bytes of names
	maxNestedRepositories = 100      // repositories inside the work tree
	snapshotTimeout       = time.Minute
)

// snapshot writes the current content of a work tree as a tree object and returns
// its name. It uses an index in scratch and writes into the directory objects, so
// that neither the user's index nor the repository changes. If the repository has
// no readable index, the snapshot starts from fallbackTree. objectDirs are further
// object directories to read from.
func (m *Manager) snapshot(
	ctx context.Context, repo repository, fallbackTree, scratch, objects string, objectDirs ...string,
) (string, error) {
	if err := writeAlternates(objects, append(objectDirs, repo.objects())...); err != nil {
		return "", err
	}
	scratchRepo := repo
	scratchRepo.indexFile, scratchRepo.objectDir = filepath.Join(scratch, "index"), objects
	if err := m.copyIndex(ctx, repo, scratchRepo, fallbackTree); err != nil {
		return "", err
	}
	// Files that cannot be read keep the content that the index has.
	_, err := m.git.run(ctx, call{
		repo: scratchRepo, time: snapshotTimeout,
		args: []string{"add", "--update", "--ignore-errors", "--", "."},
	})
	if err != nil && !exitedWith(err, 1) && !exitedWith(err, 128) {
		return "", err
	}
	if err := m.addUntracked(ctx, scratchRepo); err != nil {
		return "", err
	}
	out, err := m.git.run(ctx, call{repo: scratchRepo, args: []string{"write-tree"}})
	return trimNewline(out), err
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
	path := filepath.Join(objects, "info", "alternates")
	if present, err := os.ReadFile(path); err == nil && string(present) == list.String() {
		return nil
	}
	return writeFile(path, []byte(list.String())) // git may read the file meanwhile, so it is never empty
}

// copyIndex starts the scratch index as a copy of the user's, so that git need not
// read unchanged files again. If that fails, it reads fallbackTree instead.
func (m *Manager) copyIndex(ctx context.Context, repo, scratchRepo repository, fallbackTree string) error {
	source, err := os.Open(filepath.Join(repo.gitDir, "index"))
	if err == nil {
		defer source.Close()
		var target *os.File
		if target, err = os.OpenFile(scratchRepo.indexFile, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600); err != nil {
			return err
		}
		_, err = io.Copy(target, source)
		if err = errors.Join(err, target.Close(), keepTime(source, scratchRepo.indexFile)); err != nil {
			return err
		}
		if _, err = m.git.run(
			ctx, call{repo: scratchRepo, args: []string{"ls-files", "--error-unmatch", "--cached", "--", ".bellhop-none"}},
		); exitedWith(err, 1) {
			return nil // git can read the copy
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := os.Remove(scratchRepo.indexFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if fallbackTree == "" {
		return nil
	}
	_, err = m.git.run(ctx, call{repo: scratchRepo, args: []string{"read-tree", fallbackTree}})
	return err
}

// keepTime gives the copy of an index its time. Git trusts the size of a file that is older than the index, so
// in a copy with a later time it would miss a change of the same second that keeps the size.
func keepTime(index *os.File, target string) error {
	info, err := index.Stat()
	if err != nil {
		return err
	}
	return os.Chtimes(target, info.ModTime(), info.ModTime())
}

var updateIndex = []string{"update-index", "--add", "--remove", "-z", "--stdin"}

// addUntracked adds files that are neither tracked nor ignored to the index. A
// nested repository becomes a link to its commit.
func (m *Manager) addUntracked(ctx context.Context, scratchRepo repository) error {
	out, err := m.git.run(ctx, call{
		repo: scratchRepo, limit: maxListing, time: snapshotTimeout,
		args: []string{"ls-files", "--others", "--exclude-standard", "-z"},
	})
	if errors.Is(err, errOutputLimit) {
		return m.errTooMany()
	}
	if err != nil {
		return err
	}
	files, nested, err := m.selectUntracked(scratchRepo.workTree, string(out))
	if err != nil {
		return err
	}
	if _, err = m.git.run(
		ctx, call{repo: scratchRepo, stdin: files, time: snapshotTimeout, args: updateIndex},
	); err != nil {
		return err
	}
	for _, name := range nested[:min(len(nested), maxNestedRepositories)] {
		_, err := m.git.run(ctx, call{repo: scratchRepo, stdin: strings.NewReader(name + "\x00"), args: updateIndex})
		if err != nil && !exitedWith(err, 128) { // 128: the nested repository has no commit
			return err
		}
	}
	return nil
}

// selectUntracked splits git's list into readable files, separated by NUL, and
// nested repositories, whose names end in "/". CodeConflict: the files exceed a cap.
func (m *Manager) selectUntracked(workTree, list string) (files *bytes.Buffer, nested []string, err error) {
	files = new(bytes.Buffer)
	count, size := 0, int64(0)
	for name := range strings.SplitSeq(list, "\x00") {
		if directory, ok := strings.CutSuffix(name, "/"); ok {
			nested = append(nested, directory)
			continue
		}
		n, ok := readableSize(filepath.Join(workTree, name))
		if name == "" || !ok {
			continue
		}
		count, size = count+1, size+n
		if count > m.maxUntrackedFiles || size > m.maxUntrackedBytes {
			return nil, nil, m.errTooMany()
		}
		files.WriteString(name + "\x00")
	}
	return files, nested, nil
}

// readableSize returns the size of a regular file that this process can read. A
// symbolic link counts as size 0.
func readableSize(path string) (int64, bool) {
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Type() == fs.ModeSymlink {
		return 0, err == nil
	}
	if !info.Mode().IsRegular() {
		return 0, false
	}
	file, err := os.Open(path)
	if err != nil {
		return 0, false
	}
	return info.Size(), file.Close() == nil
}

func (m *Manager) errTooMany() error {
	return &protocol.Error{
		Code: protocol.CodeConflict,
		Message: fmt.Sprintf("The workspace holds over %d new files, or %d MiB of them",
			m.maxUntrackedFiles, m.maxUntrackedBytes>>20),
		Hint: "List packages and build output in .gitignore",
	}
}

// scratchDir creates a temporary directory in the data directory. On the same file
// system an index can be renamed out of it.
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
	return dir, func() { _ = removeAll(dir) }, nil
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
			_ = removeAll(filepath.Join(parent, entry.Name()))
		}
	}
}

// acquireSlot waits until another diff or snapshot may run.
func (m *Manager) acquireSlot(ctx context.Context) (release func(), err error) {
	return acquire(ctx, m.heavySlots)
}

func acquire(ctx context.Context, slots chan struct{}) (release func(), err error) {
	select {
	case slots <- struct{}{}:
		return func() { <-slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// snapshotBase returns a tree of the current content of a directory used in place.
// Its objects are stored in the session's state directory.
func (m *Manager) snapshotBase(ctx context.Context, rec *record, repo repository) (string, error) {
	release, err := m.acquireSlot(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	scratch, remove, err := m.scratchDir()
	if err != nil {
		return "", err
	}
	defer remove()
	tree, err := m.snapshot(ctx, repo, "", scratch, m.baseObjects(rec))
	if err != nil {
		return "", err
	}
	// Keeping the index saves later diffs from reading every file again.
	if strings.HasPrefix(repo.gitDir, m.baseDir(rec)) {
		err = os.Rename(filepath.Join(scratch, "index"), filepath.Join(repo.gitDir, "index"))
		if errors.Is(err, fs.ErrNotExist) { // an empty directory has no index
			err = nil
		}
	}
	return tree, err
}

func (m *Manager) baseObjects(rec *record) string { return filepath.Join(m.baseDir(rec), "objects") }
