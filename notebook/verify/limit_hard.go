//go:build linux && !race

package verify

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// limitMemory bounds the memory this process can write to. RLIMIT_AS would also count memory
// that Go only reserves.
func limitMemory(bytes uint64) error {
	return unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: bytes, Max: bytes})
}

// isolate protects the worker from signals to this process's group, such as Ctrl-C. It exits
// when its stdin ends.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}
