//go:build failpoints

package failpoint

import (
	"os"
	"syscall"
)

// die never returns: SIGKILL may take a moment, and the caller must not continue.
func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}
