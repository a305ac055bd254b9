package process

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// killGroup kills all processes of a control group, also those that left the process group and cleared
// their environment. It reports whether there were any.
func killGroup(dir string) bool {
	if dir == "" {
		return false
	}
	pids := groupPids(dir)
	if len(pids) == 0 {
		return false
	}
	if os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0o600) == nil {
		return true
	}
	for _, pid := range pids { // before Linux 5.14
		if found, err := os.FindProcess(pid); err == nil {
			_ = found.Kill()
		}
	}
	return true
}

func groupPids(dir string) (pids []int) {
	content, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return nil
	}
	for word := range strings.FieldsSeq(string(content)) {
		if pid, err := strconv.Atoi(word); err == nil && pid > 1 && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids
}

// Killed processes leave their group within milliseconds, on a busy machine within a second.
const (
	groupTries = 1000
	groupPause = time.Millisecond
)

// HangUp sends the process group of a terminal's shell the signal that the terminal has gone.
func HangUp(shell int) { _ = signalGroup(shell, syscall.SIGHUP) } // the group may have ended

// RemoveGroup kills the processes of a program's control group and removes it, with the two groups above it
// if they are empty. A group whose processes take long to disappear stays; the next program of its session
// does not use it.
func RemoveGroup(dir string) {
	if dir == "" {
		return
	}
	for range groupTries {
		killGroup(dir)
		err := os.Remove(dir)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			break
		}
		time.Sleep(groupPause)
	}
	for range 2 {
		if dir = filepath.Dir(dir); os.Remove(dir) != nil {
			return
		}
	}
}
