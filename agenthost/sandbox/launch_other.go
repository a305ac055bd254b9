//go:build !linux && !darwin

package sandbox

import "errors"

// What the level says of this system: it has no sandbox.
const (
	hasSandbox    = false
	hasNamespaces = false
	isUnverified  = false
)

// launch and probe exist where a sandbox does.
func launch([]string) error { return errors.ErrUnsupported }

func probe([]string) error { return errors.ErrUnsupported }
