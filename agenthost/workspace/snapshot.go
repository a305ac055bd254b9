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

// Caps of what is looked at of files that git does not track.
const (
	maxNewFiles   = 50_000
	maxNewBytes   = 512 << 20
	maxListing    = 32 << 20 // bytes of names
	maxNested     = 100      // repositories within
	snapshotLimit = time.Minute
)

// snapshot writes the present content of a work tree as a tree object, by an
// index of its own and into objects: neither the user's index nor the repository
// changes. From is what the tree is built upon if there is no index; known are
// further objects that are there.
func (m *Manager) snapshot(ctx context.Context, repo repository, from, scratch, objects string, known ...string) (string, error) {
	real, err := m.objectsOf(ctx, repo)
	if err != nil {
		return "", err
	}
	if err := alternate(objects, append(known, real)...); err != nil {
		return "", err
	}
	own := repo
	own.index, own.objects = filepath.Join(scratch, "index"), objects
	if err := m.copyIndex(ctx, repo, own, from); err != nil {
		return "", err
	}
	// Files that cannot be read keep the content they had.
	_, err = m.git.run(ctx, call{
		repo: own, time: snapshotLimit,
		args: []string{"add", "--update", "--ignore-errors", "--", "."},
	})
	if err != nil && !exited(err, 1) && !exited(err, 128) {
		return "", err
	}
	if err := m.addNew(ctx, own); err != nil {
		return "", err
	}
	out, err := m.git.run(ctx, call{repo: own, args: []string{"write-tree"}})
	return line(out), err
}

func (m *Manager) objectsOf(ctx context.Context, repo repository) (string, error) {
	out, err := m.git.run(ctx, call{repo: repo, trust: true, args: []string{"rev-parse", "--path-format=absolute", "--git-path", "objects"}})
	return line(out), err
}

// alternate makes an object directory that also finds the objects of others.
func alternate(objects string, others ...string) error {
	if err := os.MkdirAll(filepath.Join(objects, "info"), 0o700); err != nil {
		return err
	}
	var list strings.Builder
	for _, other := range others {
		if strings.ContainsAny(other, "\n\"") {
			return protocol.Errorf(protocol.CodeConflict, "The path %q cannot be given to git", other)
		}
		if other != objects {
			list.WriteString(other + "\n")
		}
	}
	return os.WriteFile(filepath.Join(objects, "info", "alternates"), []byte(list.String()), 0o600)
}

// copyIndex begins with the user's index: it saves reading every file again.
func (m *Manager) copyIndex(ctx context.Context, repo, own repository, from string) error {
	source, err := os.Open(filepath.Join(repo.gitDir, "index"))
	if err == nil {
		defer source.Close()
		var target *os.File
		if target, err = os.OpenFile(own.index, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600); err != nil {
			return err
		}
		_, err = io.Copy(target, source)
		if err = errors.Join(err, target.Close()); err != nil {
			return err
		}
		if _, err = m.git.run(ctx, call{repo: own, args: []string{"ls-files", "--error-unmatch", "--cached", "--", ".bellhop-none"}}); exited(err, 1) {
			return nil // readable
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := os.Remove(own.index); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if from == "" {
		return nil
	}
	_, err = m.git.run(ctx, call{repo: own, args: []string{"read-tree", from}})
	return err
}

// addNew adds what is not tracked and not ignored.
func (m *Manager) addNew(ctx context.Context, own repository) error {
	out, err := m.git.run(ctx, call{
		repo: own, limit: maxListing, time: snapshotLimit,
		args: []string{"ls-files", "--others", "--exclude-standard", "-z"},
	})
	if errors.Is(err, errOutput) {
		return m.errTooMany()
	}
	if err != nil {
		return err
	}
	var files bytes.Buffer
	var nested []string
	count, size := 0, int64(0)
	for name := range strings.SplitSeq(string(out), "\x00") {
		switch {
		case name == "":
			continue
		case strings.HasSuffix(name, "/"):
			nested = append(nested, strings.TrimSuffix(name, "/"))
			continue
		}
		n, ok := readable(filepath.Join(own.workTree, name))
		if !ok {
			continue
		}
		count, size = count+1, size+n
		if count > m.newFiles || size > m.newBytes {
			return m.errTooMany()
		}
		files.WriteString(name + "\x00")
	}
	update := []string{"update-index", "--add", "--remove", "-z", "--stdin"}
	_, err = m.git.run(ctx, call{repo: own, stdin: &files, time: snapshotLimit, args: update})
	if err != nil {
		return err
	}
	for _, name := range nested[:min(len(nested), maxNested)] {
		// A repository within is a link to its commit; one without commits is nothing.
		_, err := m.git.run(ctx, call{repo: own, stdin: strings.NewReader(name + "\x00"), args: update})
		if err != nil && !exited(err, 128) {
			return err
		}
	}
	return nil
}

// readable returns the size of a file that can be read, or of a symbolic link.
func readable(path string) (int64, bool) {
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
		Code:    protocol.CodeConflict,
		Message: fmt.Sprintf("The workspace holds over %d new files, or %d MiB of them", m.newFiles, m.newBytes>>20),
		Hint:    "Name what is no work, such as packages and build output, in .gitignore",
	}
}

// scratch is a temporary directory on the data's own disk.
func (m *Manager) scratch() (dir string, remove func(), err error) {
	parent := m.own("workspaces", ".scratch")
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return "", nil, err
	}
	m.sweep(parent)
	dir, err = os.MkdirTemp(parent, "")
	if err != nil {
		return "", nil, err
	}
	return dir, func() { _ = removeAll(dir) }, nil
}

// sweep removes what a crash left behind; nothing here takes an hour.
func (m *Manager) sweep(parent string) {
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

// slot waits until few enough others do heavy work.
func (m *Manager) slot(ctx context.Context) (release func(), err error) {
	select {
	case m.slots <- struct{}{}:
		return func() { <-m.slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// baseTree is what a directory used in place holds now. Its objects stay in the
// session's state directory.
func (m *Manager) baseTree(ctx context.Context, rec *record, repo repository) (string, error) {
	release, err := m.slot(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	scratch, remove, err := m.scratch()
	if err != nil {
		return "", err
	}
	defer remove()
	tree, err := m.snapshot(ctx, repo, "", scratch, m.baseObjects(rec))
	if err != nil {
		return "", err
	}
	// The index spares later diffs to read every file again.
	if strings.HasPrefix(repo.gitDir, m.baseDir(rec)) {
		err = os.Rename(filepath.Join(scratch, "index"), filepath.Join(repo.gitDir, "index"))
		if errors.Is(err, fs.ErrNotExist) { // an empty directory
			err = nil
		}
	}
	return tree, err
}

func (m *Manager) baseObjects(rec *record) string { return filepath.Join(m.baseDir(rec), "objects") }
