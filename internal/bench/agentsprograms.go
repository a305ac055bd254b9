package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// programs of a session: whatever has its id in the environment, tees left out.
func (s *agentSession) programs() ([]int, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	folders, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	var found []int
	for _, folder := range folders {
		env, err := os.ReadFile(filepath.Join(folder, "environ"))
		if err != nil || !bytes.Contains(env, []byte(s.id)) {
			continue // gone, or another's
		}
		if exe, err := os.Readlink(filepath.Join(folder, "exe")); err != nil || exe == self {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(folder))
		if err != nil {
			return nil, err
		}
		found = append(found, pid)
	}
	return found, nil
}

// resident is the memory of a session's programs.
func (s *agentSession) resident() (sum int64, err error) {
	pids, err := s.programs()
	if err != nil {
		return 0, err
	}
	for _, pid := range pids {
		if used, err := residentOf(pid); err == nil { // else it has just ended
			sum += used
		}
	}
	return sum, nil
}

// listen subscribes to an OpenCode's events, as the host does. What it heard is
// told when it is asked to end.
func (s *agentSession) listen(ctx context.Context) (func() (*stamps, error), error) {
	address, password, err := s.server()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/event", http.NoBody)
	if err != nil {
		cancel()
		return nil, err
	}
	req.SetBasicAuth("opencode", password)
	resp, err := transport.RoundTrip(req) //nolint:bodyclose // the reader below closes it
	if err != nil {
		cancel()
		return nil, err
	}
	heard, done := newStamps(), make(chan struct{})
	go func() {
		defer close(done)
		defer resp.Body.Close()
		for in := bufio.NewReaderSize(resp.Body, 64<<10); ; {
			line, err := in.ReadBytes('\n')
			at := time.Now().UnixNano()
			for _, found := range s.agent.mark.FindAllSubmatch(line, -1) {
				heard.see(string(found[1]), at)
			}
			if err != nil {
				return // ended by cancel
			}
		}
	}()
	return func() (*stamps, error) {
		cancel()
		<-done
		return heard, nil
	}, nil
}

// server is where a session's OpenCode listens, and its password.
func (s *agentSession) server() (address, password string, err error) {
	pids, err := s.programs()
	if err != nil {
		return "", "", err
	}
	for _, pid := range pids {
		folder := filepath.Join("/proc", strconv.Itoa(pid))
		args, err1 := os.ReadFile(filepath.Join(folder, "cmdline"))
		env, err2 := os.ReadFile(filepath.Join(folder, "environ"))
		if err1 != nil || err2 != nil {
			continue // gone
		}
		_, port, isServer := strings.Cut(string(args), "--port\x00")
		_, secret, known := strings.Cut(string(env), "OPENCODE_SERVER_PASSWORD=")
		if isServer && known {
			port, _, _ = strings.Cut(port, "\x00")
			secret, _, _ = strings.Cut(secret, "\x00")
			return "127.0.0.1:" + port, secret, nil
		}
	}
	return "", "", fmt.Errorf("session %s has no server", s.id)
}
