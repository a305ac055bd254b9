package treereader

import (
	"io/fs"
	"os"
	"slices"
)

// hasModes reports whether the file system says which files are programs.
const hasModes = false

// directory is an open directory. Its methods use one name in it each, and leave it by no link.
type directory struct {
	root *os.Root
	step func() // runs before each use of a name: tests change the tree there
}

type file struct{ *os.File }

func openDirectory(path string, step func()) (directory, error) {
	root, err := os.OpenRoot(path)
	return directory{root, step}, err
}

func (d directory) close() { _ = d.root.Close() }

func (d directory) again() (directory, error) {
	root, err := d.root.OpenRoot(".")
	return directory{root, d.step}, err
}

func (d directory) open(name string) (directory, error) {
	d.step()
	root, err := d.root.OpenRoot(name)
	if err != nil {
		return directory{}, err
	}
	child := directory{root, d.step}
	if !d.is(name, root.Stat) {
		child.close()
		return directory{}, errKind
	}
	return child, nil
}

// is reports whether a name is no link, and still that of what was opened.
func (d directory) is(name string, opened func(string) (fs.FileInfo, error)) bool {
	info, err := d.root.Lstat(name)
	if err != nil {
		return false
	}
	now, err := opened(".")
	return err == nil && os.SameFile(info, now)
}

func (d directory) openFile(name string) (file, error) {
	d.step()
	f, err := d.root.Open(name)
	if err != nil {
		return file{}, err
	}
	if !d.is(name, func(string) (fs.FileInfo, error) { return f.Stat() }) {
		_ = f.Close()
		return file{}, errKind
	}
	return file{f}, nil
}

func (d directory) entry(name string) (entry, error) {
	d.step()
	info, err := d.root.Lstat(name)
	if err != nil {
		return entry{}, err
	}
	return newEntry(info), nil
}

func (d directory) self() (entry, error) { return d.entry(".") }

func (d directory) link(name string) ([]byte, error) {
	d.step()
	target, err := d.root.Readlink(name)
	return []byte(target), err
}

func (d directory) names(limit int) ([]string, error) {
	dir, err := d.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(limit + 1)
	if len(names) > limit {
		names = names[:limit]
		slices.Sort(names)
		return names, errEntries
	}
	if len(names) == 0 {
		return nil, nil //nolint:nilerr // the error is the end of an empty directory
	}
	slices.Sort(names)
	return names, err
}

func (f file) close() { _ = f.File.Close() }

func (f file) entry() (entry, error) {
	info, err := f.Stat()
	if err != nil {
		return entry{}, err
	}
	return newEntry(info), nil
}

func (f file) read(buffer []byte) (int, error) { return f.File.Read(buffer) }

func (f file) readAt(buffer []byte, offset int64) (int, error) { return f.File.ReadAt(buffer, offset) }

func newEntry(info fs.FileInfo) entry {
	e := entry{signature: Signature{Size: info.Size(), Modified: info.ModTime().UnixNano()}}
	switch info.Mode().Type() {
	case 0:
		e.kind = KindFile
	case fs.ModeDir:
		e.kind = KindDirectory
	case fs.ModeSymlink:
		e.kind = KindLink
	}
	return e
}
