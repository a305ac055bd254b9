//go:build unix

package process

import (
	"fmt"
	"os"
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

// directoryID identifies a directory on this machine: it is kept when the directory is renamed, and its copies have
// others.
func directoryID(dir string) (string, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return "", err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "", fmt.Errorf("%s: the system does not identify it", dir)
	}
	return fmt.Sprintf("%d:%d", stat.Dev, stat.Ino), nil
}
