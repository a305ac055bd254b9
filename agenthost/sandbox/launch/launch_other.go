//go:build !linux && !darwin

package launch

import "errors"

// launch exists where a sandbox does.
func launch([]string) error { return errors.ErrUnsupported }
