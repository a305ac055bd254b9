// Package private makes files and directories that only their owner can open, whatever modes
// they had before. It does not know what they hold.
package private

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

const (
	fileMode = 0o600
	dirMode  = 0o700
	others   = 0o077 // what group and others may do
)

// Dir creates a directory with its parents, and takes from group and others what they may do
// with it. An error wraps fs.ErrPermission if the directory belongs to another user.
func Dir(path string) error {
	if err := os.MkdirAll(path, dirMode); err != nil {
		return err
	}
	return restrictPath(path, dirMode)
}

// File creates an empty file if there is none, and takes from group and others what they may do
// with it. Another process may remove the file meanwhile.
func File(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return err
	}
	return errors.Join(restrict(file.Stat, file.Chmod, fileMode), file.Close())
}

// Existing is File for a file that may be absent; then it does nothing.
func Existing(path string) error {
	err := restrictPath(path, fileMode)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// restrictPath restricts what a path names now.
func restrictPath(path string, mode os.FileMode) error {
	stat := func() (os.FileInfo, error) { return os.Stat(path) }
	return restrict(stat, func(mode os.FileMode) error { return os.Chmod(path, mode) }, mode)
}

func restrict(stat func() (os.FileInfo, error), chmod func(os.FileMode) error, mode os.FileMode) error {
	info, err := stat()
	if err != nil || info.Mode().Perm()&others == 0 {
		return err
	}
	if err := chmod(mode); err != nil {
		return fmt.Errorf("others can open it: %w", err)
	}
	return nil
}
