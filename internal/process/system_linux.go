package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// groupAttributes make the child the leader of a session of its own, and so of a
// process group: it has no terminal of the host.
func groupAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// awaitExit waits for the child's end without reaping it.
func awaitExit(pid int) error {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// startTime returns a process's start in clock ticks since boot. It returns an error if the
// process has ended or is a zombie.
func startTime(pid int) (uint64, error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, err
	}
	// The name in parentheses may contain anything, including parentheses.
	_, rest, ok := strings.Cut(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " ")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 20 || fields[0] == "Z" {
		return 0, fmt.Errorf("process %d has ended", pid)
	}
	return strconv.ParseUint(fields[19], 10, 64)
}

func bootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(id))
}

// killMarked kills every process with the mark and returns their number. It complements killing
// the group, since a program may clear its environment. It refuses anything but a mark of ours,
// because it can kill any process on the machine.
func killMarked(mark string) int {
	if !isMark(mark) {
		return 0
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0
	}
	killed := 0
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid <= 1 || pid == os.Getpid() {
			continue
		}
		// A zombie's environment reads empty.
		environment, err := os.ReadFile("/proc/" + entry.Name() + "/environ")
		if err == nil && hasMark(environment, mark) && syscall.Kill(pid, syscall.SIGKILL) == nil {
			killed++
		}
	}
	return killed
}

// hasMark reports whether the mark is an entry of the one variable.
func hasMark(environment []byte, mark string) bool {
	for variable := range strings.SplitSeq(string(environment), "\x00") {
		if list, ok := strings.CutPrefix(variable, markVariable+"="); ok && slices.Contains(strings.Split(list, ","), mark) {
			return true
		}
	}
	return false
}
