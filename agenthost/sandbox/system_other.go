//go:build !linux

package sandbox

import (
	"context"
	"errors"
)

// Control groups and users of sessions exist on Linux only.
func tryJoin([]string) error { return errors.ErrUnsupported }

func runInGroup(context.Context, string, string) error { return errors.ErrUnsupported }

func findGroup() (string, bool, error) {
	return "", false, errors.New("this system has no control groups")
}

func isNoProcess(error) bool { return false }

func checkPowers() error { return errors.New("this system has no users of sessions") }

// Undumpable does nothing on this system.
func Undumpable() error { return nil }
