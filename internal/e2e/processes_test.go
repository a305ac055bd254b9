package e2e

import (
	"os"
	"path/filepath"
	"strings"
)

// noAgentLeft expects no process in the host's directories: agents end with the host that
// started them, however it ended.
func (s *stack) noAgentLeft() {
	s.t.Helper()
	eventually(s.t, "the agents of all the host's lives have ended", func() bool {
		links, err := filepath.Glob("/proc/[0-9]*/cwd")
		if err != nil {
			s.t.Fatal(err)
		}
		for _, link := range links {
			if cwd, err := os.Readlink(link); err == nil && strings.HasPrefix(cwd, s.hostData()) {
				return false
			}
		}
		return true
	})
}
