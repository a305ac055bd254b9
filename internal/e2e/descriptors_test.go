//go:build full

package e2e

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// PROC-13: a broker or host without file descriptors says so in one line, answers
// health checks, and continues when there are descriptors again.
func TestAServerWithoutFileDescriptorsAnswersHealthChecks(t *testing.T) {
	t.Parallel()
	s := newStack(t, sqlite)
	task := s.task("descriptors")
	s.recorded(t, task, "slow 4")
	s.arrived(task)
	for _, n := range []*node{s.broker, s.host} {
		t.Run(n.name, func(t *testing.T) {
			limit := n.limitDescriptors(t, 20)
			release := n.exhaust(t)
			for path, want := range map[string]int{"/healthz": 200, "/readyz": 503, "/api/tasks": 503, "/status": 503} {
				eventually(t,
					fmt.Sprintf("%s answers %s with %d", n.name, path, want), func() bool { return statusOf(t, n.url+path) == want })
			}
			const line = "no file descriptors left"
			if log := n.log.String(); strings.Count(log, line) != 1 || !strings.Contains(log, fmt.Sprintf("limit=%d", limit)) {
				t.Errorf("want one line with the limit %d, there are %d lines", limit, strings.Count(log, line))
			}
			release()
			n.becomes(http.StatusOK)
		})
	}
	s.recorded(t, task, "slow 5")
	s.arrived(task)
}

// limitDescriptors leaves a running process a few more descriptors than it has.
func (n *node) limitDescriptors(t *testing.T, more int) (limit uint64) {
	t.Helper()
	pid := n.current().cmd.Process.Pid
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	limit = uint64(len(open) + more) //nolint:gosec // small
	var before unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &before); err != nil {
		t.Fatal(err)
	}
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: limit, Max: before.Max}, nil); err != nil {
		t.Fatal(err)
	}
	return limit
}

// exhaust opens connections, each with a request that succeeds, until one is served
// with the reserve: such an answer closes its connection.
func (n *node) exhaust(t *testing.T) (release func()) {
	t.Helper()
	var held []net.Conn
	release = func() {
		for _, conn := range held {
			_ = conn.Close()
		}
		held = nil
	}
	t.Cleanup(release)
	for range 1000 {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(n.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, conn)
		if _, err := fmt.Fprintf(conn, "GET /healthz HTTP/1.1\r\nHost: %s\r\n\r\n",
			strings.TrimPrefix(n.url, "http://")); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("connection %d: %v, %v", len(held), resp, err)
		}
		_ = resp.Body.Close()
		if resp.Close {
			return release
		}
	}
	t.Fatal("the descriptors never ran out")
	return nil
}
