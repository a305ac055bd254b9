package servers

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// identify reads a process's start time. It returns an error if the process has ended or is a
// zombie.
func identify(pid int) (Owner, error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return Owner{}, err
	}
	// The name in parentheses may contain anything, including parentheses.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 20 || fields[0] == "Z" {
		return Owner{}, fmt.Errorf("process %d has ended", pid)
	}
	start, err := strconv.ParseUint(fields[19], 10, 64)
	return Owner{Pid: pid, Start: start}, err
}

// listener returns the process that listens on a loopback port, or on it at every address. It
// returns server if the listener is in server's process group. The server itself is checked
// first, so that usually only one process's descriptors are read.
func listener(port, server int) (owner Owner, listening, known bool) {
	sockets, err := listening4(port)
	if err != nil {
		return Owner{}, false, false
	}
	if len(sockets) == 0 {
		return Owner{}, false, true
	}
	if hasSocket(server, sockets) {
		return Owner{Pid: server}, true, true
	}
	var other Owner
	paths, _ := filepath.Glob("/proc/[0-9]*")
	for _, path := range paths {
		pid, _ := strconv.Atoi(filepath.Base(path))
		if pid == server || !hasSocket(pid, sockets) {
			continue
		}
		if group, err := syscall.Getpgid(pid); err == nil && group == server {
			return Owner{Pid: server}, true, true
		}
		if found, err := identify(pid); err == nil {
			other = found
		}
	}
	return other, true, true
}

// listening4 returns the "socket:[inode]" links of the listeners on the port.
func listening4(port int) (map[string]bool, error) {
	const listens = "0A"
	sockets := map[string]bool{}
	suffix := fmt.Sprintf(":%04X", port)
	for _, table := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		content, err := os.ReadFile(table)
		if err != nil && table != "/proc/self/net/tcp6" {
			return nil, err
		}
		for line := range strings.Lines(string(content)) {
			fields := strings.Fields(line)
			if len(fields) > 9 && fields[3] == listens && strings.HasSuffix(fields[1], suffix) {
				sockets["socket:["+fields[9]+"]"] = true
			}
		}
	}
	return sockets, nil
}

func hasSocket(pid int, sockets map[string]bool) bool {
	dir := "/proc/" + strconv.Itoa(pid) + "/fd"
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	for _, entry := range entries {
		if link, err := os.Readlink(filepath.Join(dir, entry.Name())); err == nil && sockets[link] {
			return true
		}
	}
	return false
}
