//go:build unix

package process

import (
	"os/exec"
	"syscall"
)

// Supported reports whether this system can end a program with all that it has started. Start fails otherwise.
const Supported = true

// signalGroup signals the process group of a child.
func signalGroup(pid int, s syscall.Signal) error { return syscall.Kill(-pid, s) }

// KillsGroup makes a command the leader of a process group, which is killed when the command's context ends.
func KillsGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return signalGroup(cmd.Process.Pid, syscall.SIGKILL) }
}
