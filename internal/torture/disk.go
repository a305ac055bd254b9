//go:build linux

package torture

import (
	"context"
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

// disk is a folder on a small file system of its own, if this process may mount one. A disk with
// an image is ext4 on a loop device, whose power can be cut.
type disk struct {
	dir     string
	image   string // "" = the memory
	mounted bool
}

// canMount reports whether disks can be filled: that needs root.
func canMount() bool { return os.Getuid() == 0 }

// newDisk makes the folder dir, and mounts a file system there if this process may. With powerCuts
// it is an image beside the folder.
func newDisk(ctx context.Context, dir string, powerCuts bool) (*disk, error) {
	d := &disk{dir: dir}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return d, err
	}
	if !canMount() {
		return d, nil
	}
	if powerCuts {
		d.image = dir + ".ext4"
		if err := makeImage(ctx, d.image, diskSize); err != nil {
			return d, err
		}
	}
	return d, d.mount()
}

func (d *disk) mount() error {
	var err error
	if d.image != "" {
		err = mountImage(d.image, d.dir)
	} else {
		err = unix.Mount("tmpfs", d.dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=700", diskSize))
	}
	if err != nil {
		return fmt.Errorf("mount a small file system: %w", err)
	}
	d.mounted = true
	return nil
}

// close unmounts the file system, which frees its loop device. What still uses it, such as an agent
// that is ending, keeps it until it has ended.
func (d *disk) close() error {
	if !d.mounted {
		return nil
	}
	d.mounted = false
	return unix.Unmount(d.dir, unix.MNT_DETACH)
}

// cutPower makes the file system forget everything that was not synced, and refuse everything else.
func (d *disk) cutPower() error {
	if d.image == "" {
		return errors.New("the power of a file system in memory cannot be cut")
	}
	return cutPower(d.dir)
}

// remount mounts the file system as it is after a cut, when all of its users have ended.
func (d *disk) remount(ctx context.Context) error {
	err := eventually(ctx, startLimit, "no process uses "+d.dir, func(context.Context) (bool, error) {
		err := unix.Unmount(d.dir, 0)
		if errors.Is(err, unix.EBUSY) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		return err
	}
	d.mounted = false
	return d.mount()
}

// sync makes what was written durable: an operator who restores a file does the same.
func (d *disk) sync() error {
	dir, err := os.Open(d.dir)
	if err != nil {
		return err
	}
	return errors.Join(unix.Syncfs(int(dir.Fd())), dir.Close()) //nolint:gosec // a file descriptor is small
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
