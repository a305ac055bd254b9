package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"bellhop/internal/lazyregexp"
	"bellhop/internal/openflag"
	"bellhop/protocol"
)

// The mirror of a workspace is a git directory that only the host writes. Git runs
// in the mirror, never in the git directory that the agent can change: so neither
// the agent's configuration, hooks and alternates nor its symbolic links have an
// effect. A mirror holds hard links to the agent's object files, and copies of its
// refs. It has no work tree and no index: what the files are, a snapshot says.

// Limits of what a mirror reads, in bytes.
const (
	maxRefFile     = 16 << 20 // packed-refs
	maxLooseRef    = 4 << 10
	maxRefs        = 100_000
	maxExcludeFile = 1 << 20
	maxIndexFile   = 1 << 30
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
	agent, err := m.openGitDir(rec)
	if err != nil {
		return repo, nil, err
	}
	defer agent.Close()
	if rec.Kind == kindClone {
		if src, err = m.recordSource(ctx, rec); err != nil {
			return repo, nil, err
		}
	}
	dir := m.mirrorDir(rec)
	if err := m.makeMirror(ctx, rec, src); err != nil {
		return repo, nil, err
	}
	err = errors.Join(
		mirrorObjects(agent, filepath.Join(dir, "objects")), mirrorRefs(agent, dir),
		copyFile(agent, "shallow", filepath.Join(dir, "shallow"), maxRefFile),
	)
	if err != nil {
		return repo, nil, fmt.Errorf("read the workspace's repository: %w", err)
	}
	return repository{gitDir: dir}, src, nil
}

// openGitDir opens the git directory of a workspace. Nothing outside the workspace
// can be reached through the result, whatever symbolic links the agent makes.
func (m *Manager) openGitDir(rec *record) (*os.Root, error) {
	path := m.rootDir(rec)
	info, err := os.Lstat(path)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a directory", path)
	}
	if err != nil {
		return nil, errNoRepository(err)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, errNoRepository(err)
	}
	defer root.Close()
	dir, err := openDir(root, ".git")
	if err != nil {
		return nil, errNoRepository(err)
	}
	defer dir.Close()
	gitDir, err := rootOf(root, dir, ".git")
	if err != nil {
		return nil, errNoRepository(err)
	}
	return gitDir, nil
}

// rootOf returns the root of an open directory, which has a name below a root. On Linux the name is not used again: an
// agent that puts a FIFO in its place would have the host wait for a writer.
func rootOf(root *os.Root, dir *os.File, name string) (*os.Root, error) {
	if runtime.GOOS == "linux" {
		return os.OpenRoot("/proc/self/fd/" + strconv.FormatUint(uint64(dir.Fd()), 10))
	}
	return root.OpenRoot(name)
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

// mirrorObjects links new object files and removes those that the agent's
// repository no longer has.
func mirrorObjects(agent *os.Root, target string) error {
	entries, err := readDir(agent, "objects")
	if err != nil {
		return err
	}
	for _, name := range entries {
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
		if fanOutName.MatchString(entry.Name()) && !slices.Contains(entries, entry.Name()) {
			if err := os.RemoveAll(filepath.Join(target, entry.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// openDir opens a directory of the agent. If the agent put a FIFO in its place, openDir
// fails at once instead of waiting for a writer.
func openDir(agent *os.Root, name string) (*os.File, error) {
	return agent.OpenFile(name, os.O_RDONLY|openflag.NoWait|openflag.Directory, 0)
}

// readDir returns the names in a directory of the agent. A missing directory is
// empty.
func readDir(agent *os.Root, name string) ([]string, error) {
	dir, err := openDir(agent, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

// mirrorDirectory gives target the same files as the agent's directory. A pack gets
// its index last: git reads a pack only through its index.
func mirrorDirectory(agent *os.Root, source, target string, wanted *lazyregexp.Regexp) error {
	names, err := readDir(agent, source)
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !wanted.MatchString(name) })
	slices.SortStableFunc(names, func(a, b string) int { return indexRank(a) - indexRank(b) })
	if err := os.MkdirAll(target, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(target)
	if err != nil {
		return err
	}
	existing := map[string]bool{}
	for _, entry := range entries {
		existing[entry.Name()] = true
	}
	dir, err := openDir(agent, source)
	if err != nil {
		return err
	}
	defer dir.Close()
	for _, name := range names {
		if !existing[name] {
			if err := linkFile(agent, dir, source+"/"+name, filepath.Join(target, name)); err != nil {
				return err
			}
		}
		delete(existing, name)
	}
	for name := range existing {
		if err := os.Remove(filepath.Join(target, name)); err != nil {
			return err
		}
	}
	return nil
}

func indexRank(name string) int {
	if strings.HasSuffix(name, ".idx") {
		return 1
	}
	return 0
}

// linkFile makes a hard link to a regular file of the agent, or a copy on a file system
// without hard links. It checks the link instead of the agent's file, because the agent
// can replace its file between check and link.
func linkFile(agent *os.Root, dir *os.File, name, target string) error {
	err := linkAt(dir, filepath.Base(name), target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // the agent's git has just removed it
	case err != nil:
		return copyFile(agent, name, target, maxIndexFile)
	}
	info, err := os.Lstat(target)
	if err == nil && !info.Mode().IsRegular() {
		err = os.Remove(target)
	}
	return err
}

// openRegular opens a regular file of the agent with at most limit bytes. It never
// waits for the writer of a FIFO.
func openRegular(agent *os.Root, name string, limit int64) (*os.File, fs.FileInfo, error) {
	file, err := agent.OpenFile(name, os.O_RDONLY|openflag.NoWait, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && (!info.Mode().IsRegular() || info.Size() > limit) {
		err = protocol.Errorf(protocol.CodeConflict, "%s in the workspace's git directory is no file of at most %d bytes",
			name, limit)
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, info, nil
}

func readFile(agent *os.Root, name string, limit int64) ([]byte, error) {
	file, _, err := openRegular(agent, name, limit)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, limit))
}

// copyFile copies a file of the agent unless the copy has its size and time. If the
// agent has no such file, the copy is removed.
func copyFile(agent *os.Root, name, target string, limit int64) error {
	file, info, err := openRegular(agent, name, limit)
	if errors.Is(err, fs.ErrNotExist) {
		err = os.Remove(target)
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return err
	}
	if err != nil {
		return err
	}
	defer file.Close()
	if old, err := os.Lstat(target); err == nil && old.Size() == info.Size() && old.ModTime().Equal(info.ModTime()) {
		return nil
	}
	next, err := os.CreateTemp(filepath.Dir(target), ".new-*")
	if err != nil {
		return err
	}
	_, err = io.Copy(next, io.LimitReader(file, limit))
	if err = errors.Join(err, next.Close()); err == nil {
		err = errors.Join(os.Chtimes(next.Name(), info.ModTime(), info.ModTime()), os.Rename(next.Name(), target))
	}
	if err != nil {
		_ = os.Remove(next.Name())
	}
	return err
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
