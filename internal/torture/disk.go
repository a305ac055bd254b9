//go:build linux

package torture

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// diskSize is large enough for a round's journal and small enough to be filled in an instant.
const diskSize = 96 << 20

// disk is a folder on a small file system of its own, if this process may mount one.
type disk struct {
	dir     string
	mounted bool
}

// canMount reports whether disks can be filled: that needs root.
func canMount() bool { return os.Getuid() == 0 }

func newDisk(dir string) (*disk, error) {
	d := &disk{dir: dir}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return d, err
	}
	if !canMount() {
		return d, nil
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=700", diskSize)); err != nil {
		return d, fmt.Errorf("mount a small file system: %w", err)
	}
	d.mounted = true
	return d, nil
}

func (d *disk) close() error {
	if !d.mounted {
		return nil
	}
	d.mounted = false
	return unix.Unmount(d.dir, unix.MNT_DETACH)
}

func (d *disk) ballast() string { return filepath.Join(d.dir, "ballast") }

// fill takes all free room.
func (d *disk) fill() error {
	if !d.mounted {
		return errors.New("only a mounted file system can be filled")
	}
	file, err := os.Create(d.ballast())
	if err != nil {
		return err
	}
	block := make([]byte, 64<<10)
	for err == nil {
		_, err = file.Write(block)
	}
	for err = nil; err == nil; {
		_, err = io.WriteString(file, "x") // the last page, too
	}
	if !errors.Is(err, unix.ENOSPC) {
		return errors.Join(err, file.Close())
	}
	return file.Close()
}

// empty gives the room back.
func (d *disk) empty() error { return os.Remove(d.ballast()) }

// removeRound removes a round's folder. The disks of a round whose process was killed are still
// mounted in it.
func removeRound(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, entry := range entries {
		if !entry.IsDir() || !canMount() {
			continue
		}
		err := unix.Unmount(filepath.Join(dir, entry.Name()), unix.MNT_DETACH)
		if err != nil && !errors.Is(err, unix.EINVAL) { // EINVAL: nothing is mounted there
			return fmt.Errorf("unmount %s: %w", entry.Name(), err)
		}
	}
	return os.RemoveAll(dir)
}
