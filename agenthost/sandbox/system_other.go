//go:build !linux

package sandbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"bellhop/internal/owner"
)

// Namespaces, control groups and users of sessions exist on Linux only.
func runInit([]string) error { return errors.ErrUnsupported }

func landlockVersion() int { return 0 }

func tryJoin([]string) error { return errors.ErrUnsupported }

func runInGroup(context.Context, string, string) error { return errors.ErrUnsupported }

func findGroup() (string, bool, error) {
	return "", false, errors.New("this system has no control groups")
}

func isNoProcess(error) bool { return false }

func checkPowers() error { return errors.New("this system has no users of sessions") }

func canShow(string, owner.ID) error { return errors.ErrUnsupported }

// Undumpable does nothing on this system.
func Undumpable() error { return nil }

// socketName returns the path itself.
func socketName(path string) (*os.File, string, error) {
	dir, err := os.Open(filepath.Dir(path))
	return dir, path, err
}
