//go:build !linux

package launch

import (
	"errors"
	"os"
	"path/filepath"

	"bellhop/internal/owner"
)

// Namespaces, control groups and users of sessions exist on Linux only.
func runInit() error { return errors.ErrUnsupported }

// LandlockVersion returns 0: Landlock is Linux's.
func LandlockVersion() int { return 0 }

// CanShow returns an error: no other system can show files so.
func CanShow(string, owner.ID) error { return errors.ErrUnsupported }

// SocketName returns the path itself.
func SocketName(path string) (*os.File, string, error) {
	dir, err := os.Open(filepath.Dir(path))
	return dir, path, err
}
