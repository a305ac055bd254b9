package failpoint

import (
	"os"
	"syscall"
)

// die never returns: the signal may take a moment, and no further line of the
// caller may run meanwhile.
func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}
