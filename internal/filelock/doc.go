// Package filelock locks files between processes. The system releases a lock when its file is closed, so
// also when the process ends.
package filelock

import "errors"

// ErrHeld is the error of Try for a lock that another open file holds, also one of the same process.
var ErrHeld = errors.New("the lock is held")
