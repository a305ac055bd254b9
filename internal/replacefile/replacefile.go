// Package replacefile writes small files that must survive a power cut.
package replacefile

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// Write gives a file a content, and makes the file if it is missing. A reader sees the old or the new content, also
// after a power cut; when Write returns nil it is the new one. The folder must exist. Every user of the folder may see
// a file .new-* for a moment; a crash leaves it.
func Write(path string, data []byte, perm fs.FileMode) error {
	dir := filepath.Dir(path)
	next, err := os.CreateTemp(dir, ".new-*")
	if err != nil {
		return err
	}
	_, err = next.Write(data)
	err = errors.Join(err, os.Chmod(next.Name(), perm), next.Sync(), next.Close())
	if err == nil {
		err = os.Rename(next.Name(), path)
	}
	if err != nil {
		_ = os.Remove(next.Name())
		return err
	}
	return syncFolder(dir)
}

// Change is Write, unless the file has the content.
func Change(path string, data []byte, perm fs.FileMode) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, data) {
		return nil
	}
	return Write(path, data, perm)
}

// syncFolder makes the names in a folder durable, where the system can do that: Windows and some network file systems
// cannot.
func syncFolder(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = folder.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return errors.Join(err, folder.Close())
}
