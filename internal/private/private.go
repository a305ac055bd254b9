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
	return restrict(path, dirMode)
}

// File creates an empty file if there is none, and takes from group and others what they may do
// with it.
func File(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	return restrict(path, fileMode)
}

// Existing is File for a file that may be absent; then it does nothing.
func Existing(path string) error {
	err := restrict(path, fileMode)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func restrict(path string, mode os.FileMode) error {
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm()&others == 0 {
		return err
	}
	if err := os.Chmod(path, mode); err != nil {
		return fmt.Errorf("others can open it: %w", err)
	}
	return nil
}
