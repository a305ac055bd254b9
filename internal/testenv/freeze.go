package testenv

import "syscall"

// Exec runs SQL as the server's owner, on a connection of its own.
func (s *Server) Exec(sql string) {
	s.t.Helper()
	if err := s.cluster.Exec(sql); err != nil {
		s.t.Fatal(err)
	}
}

// Freeze stops every process of the server until Thaw, or until t ends: connections
// stay, and no answer comes.
func (s *Server) Freeze() {
	s.t.Helper()
	s.t.Cleanup(s.Thaw)
	for before := -1; ; { // a process that was just started is found the next time
		all := s.signal(syscall.SIGSTOP)
		if all == before {
			return
		}
		before = all
	}
}

// Thaw lets the processes continue.
func (s *Server) Thaw() {
	if s.cluster.Running() {
		s.signal(syscall.SIGCONT)
	}
}

// signal returns how many processes the server has. It ignores those that have ended.
func (s *Server) signal(sig syscall.Signal) int {
	s.t.Helper()
	all, err := s.cluster.Processes()
	if err != nil {
		s.t.Error(err)
	}
	for _, pid := range all {
		_ = syscall.Kill(pid, sig)
	}
	return len(all)
}
