//go:build linux && !race

package verify

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// limitMemory bounds what this process can write to. (RLIMIT_AS would count
// what Go only reserves.)
func limitMemory(bytes uint64) error {
	return unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: bytes, Max: bytes})
}

// isolate keeps signals to our group from the child, which ends by itself.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}
