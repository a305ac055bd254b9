// Package disk is a disk for SQLite that fills up and loses power. It owns a VFS
// over real files that remembers which writes were synced: Crash makes the state
// after a power cut, and Fill makes every write that needs space fail like the
// operating system.
//
// Files are durable as soon as they exist and are gone as soon as they are deleted;
// only their content is at risk. The shared memory of a WAL database is not on the
// disk at all, as after a restart.
package disk

import (
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/ncruces/go-sqlite3/util/vfsutil"
	"github.com/ncruces/go-sqlite3/vfs"

	"bellhop/protocol"
)

// sector is the size of the blocks that a power cut does not tear.
const sector = 512

// Disk is a registered VFS. It is safe for concurrent use.
type Disk struct {
	name string

	mu    sync.Mutex
	full  bool
	files map[string]*content
}

// content is the content of a file: the synced bytes, and the writes since then.
type content struct {
	synced  []byte
	pending []write
}

// write is data at an offset, or a truncation when data is nil.
type write struct {
	at   int64
	data []byte
}

// New registers a disk until t ends.
func New(t testing.TB) *Disk {
	t.Helper()
	d := &Disk{name: "disk-" + protocol.NewID(), files: map[string]*content{}}
	vfs.Register(d.name, &system{VFS: vfs.Find(""), disk: d})
	t.Cleanup(func() { vfs.Unregister(d.name) })
	return d
}

// Name is the VFS's, as in file:PATH?vfs=NAME.
func (d *Disk) Name() string { return d.name }

// Fill makes writes that need more room fail with ENOSPC while full is true.
func (d *Disk) Fill(full bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.full = full
}

// Crash writes to the folder to the files of the folder from as they would be after
// a power cut at this moment: synced bytes are present, and each later write is
// present completely, in some sectors or not at all. The disk itself stays usable.
func (d *Disk) Crash(from, to string, random *rand.Rand) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for path, c := range d.files {
		if filepath.Dir(path) != from {
			continue
		}
		if err := os.WriteFile(filepath.Join(to, filepath.Base(path)), c.afterCrash(random), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (c *content) afterCrash(random *rand.Rand) []byte {
	left := append([]byte{}, c.synced...)
	for _, w := range c.pending {
		if w.data == nil {
			if random.IntN(2) == 0 {
				left = w.apply(left)
			}
			continue
		}
		for at := 0; at < len(w.data); at += sector {
			if random.IntN(2) == 0 {
				part := write{at: w.at + int64(at), data: w.data[at:min(at+sector, len(w.data))]}
				left = part.apply(left)
			}
		}
	}
	return left
}

// apply makes the write, growing the file with zeros where it must.
func (w write) apply(to []byte) []byte {
	end := w.at + int64(len(w.data))
	if w.data == nil {
		if w.at < int64(len(to)) {
			return to[:w.at]
		}
		end = w.at
	}
	if grow := end - int64(len(to)); grow > 0 {
		to = append(to, make([]byte, grow)...)
	}
	copy(to[w.at:], w.data)
	return to
}

// system is the VFS.
type system struct {
	vfs.VFS

	disk *Disk
}

func (s *system) Open(name string, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	opened, flags, err := s.VFS.Open(name, flags)
	if err != nil || name == "" {
		return opened, flags, err
	}
	return s.watch(name, opened, flags)
}

// OpenFilename is Open with the name that SQLite made.
func (s *system) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	opened, flags, err := vfsutil.WrapOpenFilename(s.VFS, name, flags)
	if err != nil || name.String() == "" {
		return opened, flags, err
	}
	return s.watch(name.String(), opened, flags)
}

func (s *system) watch(path string, opened vfs.File, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	c := s.disk.files[path]
	if c == nil {
		now, err := os.ReadFile(path)
		if err != nil {
			return nil, flags, errors.Join(err, opened.Close())
		}
		c = &content{synced: now}
		s.disk.files[path] = c
	}
	return &file{File: opened, path: path, disk: s.disk, content: c}, flags, nil
}

// Delete forgets the file.
func (s *system) Delete(name string, syncDir bool) error {
	err := s.VFS.Delete(name, syncDir)
	if err == nil {
		s.disk.mu.Lock()
		delete(s.disk.files, name)
		s.disk.mu.Unlock()
	}
	return err
}

type file struct {
	vfs.File

	path    string
	disk    *Disk
	content *content
}

var _ io.WriterAt = (*file)(nil)

// SharedMemory is the file's own.
func (f *file) SharedMemory() vfs.SharedMemory { return vfsutil.WrapSharedMemory(f.File) }

func (f *file) WriteAt(p []byte, off int64) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if err := f.room("write", off+int64(len(p))); err != nil {
		return 0, err
	}
	n, err := f.File.WriteAt(p, off)
	if n > 0 {
		f.content.pending = append(f.content.pending, write{off, append([]byte{}, p[:n]...)})
	}
	return n, err
}

// SizeHint asks for room before it is needed.
func (f *file) SizeHint(size int64) error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if err := f.room("allocate", size); err != nil {
		return err
	}
	before, err := f.Size()
	if err != nil {
		return err
	}
	err = vfsutil.WrapSizeHint(f.File, size)
	if err == nil && size > before {
		f.content.pending = append(f.content.pending, write{at: size})
	}
	return err
}

func (f *file) Truncate(size int64) error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	err := f.File.Truncate(size)
	if err == nil {
		f.content.pending = append(f.content.pending, write{at: size})
	}
	return err
}

func (f *file) Sync(flags vfs.SyncFlag) error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	for _, w := range f.content.pending {
		f.content.synced = w.apply(f.content.synced)
	}
	f.content.pending = nil
	return f.File.Sync(flags)
}

// room fails as a write to a full disk does, unless the file has the size.
func (f *file) room(op string, size int64) error {
	if !f.disk.full {
		return nil
	}
	if now, err := f.Size(); err != nil || size <= now {
		return err
	}
	return &fs.PathError{Op: op, Path: f.path, Err: syscall.ENOSPC}
}
