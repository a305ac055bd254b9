//go:build unix && !linux

package process

import (
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func groupAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true}
}

// awaitExit: these systems cannot wait without reaping.
func awaitExit(int) error { return errors.ErrUnsupported }

// startTime returns a process's start in seconds, from ps, which all these systems have.
func startTime(pid int) (uint64, error) {
	out, err := exec.Command("ps", "-o", "lstart=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return 0, fmt.Errorf("process %d has ended: %w", pid, err)
	}
	start, err := time.Parse(time.ANSIC, strings.TrimSpace(string(out)))
	if err != nil {
		return 0, fmt.Errorf("start of process %d: %w", pid, err)
	}
	return uint64(start.Unix()), nil
}

// bootID is empty: the start time alone identifies processes.
func bootID() string { return "" }

// killMarked finds nothing: the environments of other processes are not readable.
func killMarked(string) int { return 0 }
