package testenv

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

// Exec runs SQL as the server's owner, on a connection of its own.
func (s *Server) Exec(sql string) {
	s.t.Helper()
	if err := s.cluster.exec(sql); err != nil {
		s.t.Fatal(err)
	}
}

// Freeze stops every process of the server until Thaw, or until t ends: connections
// stay, and no answer comes.
func (s *Server) Freeze() {
	s.t.Helper()
	s.t.Cleanup(s.Thaw)
	for before := -1; ; { // a process that was just started is found the next time
		all := descendants(s.cluster.guard.Process.Pid)
		signal(all, syscall.SIGSTOP)
		if len(all) == before {
			return
		}
		before = len(all)
	}
}

// Thaw lets the processes go on.
func (s *Server) Thaw() {
	if s.cluster.guard != nil {
		signal(descendants(s.cluster.guard.Process.Pid), syscall.SIGCONT)
	}
}

// signal ignores processes that have ended.
func signal(pids []int, sig syscall.Signal) {
	for _, pid := range pids {
		_ = syscall.Kill(pid, sig)
	}
}

// descendants are the processes that pid has started, and theirs.
func descendants(pid int) (all []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // fails for malformed patterns only
	children := map[int][]int{}
	for _, path := range stats {
		content, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		child, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		_, rest, found := bytes.Cut(content, []byte(") ")) // after the name: state, parent
		fields := bytes.Fields(rest)
		if err != nil || !found || len(fields) < 2 {
			continue
		}
		if parent, err := strconv.Atoi(string(fields[1])); err == nil {
			children[parent] = append(children[parent], child)
		}
	}
	for next := children[pid]; len(next) > 0; {
		all = append(all, next[0])
		next = append(slices.Clone(next[1:]), children[next[0]]...)
	}
	return all
}
