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

func groupAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
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

// startTime is the process's start in clock ticks since boot; an error for a
// process that is gone or a zombie.
func startTime(pid int) (uint64, error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, err
	}
	// The name in parentheses may hold anything, parentheses too.
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

// killMarked kills every process that carries the mark and returns how many
// there were. A program may clear its environment; the group is the first net,
// this is the second. Anything but a mark of ours is refused: this reaches any
// process of the machine.
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
		if err == nil && carries(environment, mark) && syscall.Kill(pid, syscall.SIGKILL) == nil {
			killed++
		}
	}
	return killed
}

// carries looks for the mark as a whole entry of the one variable.
func carries(environment []byte, mark string) bool {
	for variable := range strings.SplitSeq(string(environment), "\x00") {
		if list, ok := strings.CutPrefix(variable, markVariable+"="); ok && slices.Contains(strings.Split(list, ","), mark) {
			return true
		}
	}
	return false
}
