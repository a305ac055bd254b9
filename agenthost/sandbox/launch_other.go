//go:build !linux

package sandbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"bellhop/internal/owner"
)

// launch exists on Linux only.
func launch([]string) error { return errors.ErrUnsupported }

func runInit([]string) error { return errors.ErrUnsupported }

func probe([]string) error { return errors.ErrUnsupported }

func landlockVersion() int { return 0 }

func tryJoin([]string) error { return errors.ErrUnsupported }

func runInGroup(context.Context, string, string) error { return errors.ErrUnsupported }

func findGroup() (string, bool, error) { return "", false, errors.ErrUnsupported }

func isNoProcess(error) bool { return false }

func checkPowers() error { return errors.ErrUnsupported }

func canShow(string, owner.ID) error { return errors.ErrUnsupported }

// Undumpable does nothing on this system.
func Undumpable() error { return nil }

// socketName returns the path itself.
func socketName(path string) (*os.File, string, error) {
	dir, err := os.Open(filepath.Dir(path))
	return dir, path, err
}
