//go:build !linux

package sandbox

import "errors"

// launch exists on Linux only.
func launch([]string) error { return errors.ErrUnsupported }

func runInit([]string) error { return errors.ErrUnsupported }

func probe([]string) error { return errors.ErrUnsupported }

func landlockVersion() int { return 0 }

// Undumpable does nothing on this system.
func Undumpable() error { return nil }
