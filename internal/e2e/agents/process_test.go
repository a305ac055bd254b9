//go:build agents

package agents

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
)

// processesOf returns the processes started by a dev, directly or not: its folder is in their
// environment or on their command line.
func processesOf(data string) []int {
	var found []int
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range folders {
		pid, err := strconv.Atoi(filepath.Base(folder))
		if err != nil || pid == os.Getpid() {
			continue
		}
		for _, name := range []string{"environ", "cmdline"} {
			if content, err := os.ReadFile(filepath.Join(folder, name)); err == nil && bytes.Contains(content, []byte(data)) {
				found = append(found, pid)
				break
			}
		}
	}
	return found
}

// program returns the agent's program of a session: of the session's processes, the one started
// by the host.
func (d *dev) program(session string) int {
	d.t.Helper()
	var found int
	for _, pid := range processesOf(filepath.Join(d.data, "host")) {
		env, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
		if err == nil && bytes.Contains(env, []byte(session)) && parentOf(pid) == d.cmd.Process.Pid {
			found = pid
		}
	}
	if found == 0 {
		d.t.Fatalf("session %s has no program", session)
	}
	return found
}

// parentOf returns a process's parent, 0 if the process has ended.
func parentOf(pid int) int {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(stat, []byte(") ")) // the name before it may contain anything
	fields := bytes.Fields(rest)
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(string(fields[1]))
	return parent
}
