package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// programs returns the folders in /proc of a session's processes: those with its id
// in their environment, without tees.
func (s *agentSession) programs() (found []string) {
	self := must(os.Executable())
	for _, folder := range must(filepath.Glob("/proc/[0-9]*")) {
		env, err := os.ReadFile(filepath.Join(folder, "environ"))
		if err != nil || !bytes.Contains(env, []byte(s.id)) {
			continue // the process ended, or belongs to another user
		}
		if exe, err := os.Readlink(filepath.Join(folder, "exe")); err == nil && exe != self {
			found = append(found, folder)
		}
	}
	return found
}

// resident returns the memory of a session's programs.
func (s *agentSession) resident() (sum int64) {
	for _, folder := range s.programs() {
		if used, err := residentOf(must(strconv.Atoi(filepath.Base(folder)))); err == nil { // otherwise the process has just ended
			sum += used
		}
	}
	return sum
}

// listen subscribes to the events of an OpenCode server, as the host does. The
// returned function ends the subscription and returns the events' stamps.
func (s *agentSession) listen(ctx context.Context) func() *stamps {
	address, password := s.server()
	ctx, cancel := context.WithCancel(ctx)
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("opencode:"+password))
	body, err := request(ctx, http.MethodGet, "http://"+address+"/event", basic, nil)
	if err != nil {
		cancel()
		check(err)
	}
	read, done := newStamps(), make(chan struct{})
	go func() {
		defer close(done)
		defer body.Close()
		for in := bufio.NewReaderSize(body, 64<<10); ; {
			line, err := in.ReadBytes('\n')
			at := time.Now().UnixNano()
			for _, found := range s.agent.mark.FindAllSubmatch(line, -1) {
				read.see(string(found[1]), at)
			}
			if err != nil {
				return // ended by cancel
			}
		}
	}()
	return func() *stamps {
		cancel()
		<-done
		return read
	}
}

// server returns the address and password of a session's OpenCode server.
func (s *agentSession) server() (address, password string) {
	for _, folder := range s.programs() {
		args, err1 := os.ReadFile(filepath.Join(folder, "cmdline"))
		env, err2 := os.ReadFile(filepath.Join(folder, "environ"))
		if err1 != nil || err2 != nil {
			continue // ended
		}
		_, port, isServer := strings.Cut(string(args), "--port\x00")
		_, secret, known := strings.Cut(string(env), "OPENCODE_SERVER_PASSWORD=")
		if isServer && known {
			port, _, _ = strings.Cut(port, "\x00")
			secret, _, _ = strings.Cut(secret, "\x00")
			return "127.0.0.1:" + port, secret
		}
	}
	check(fmt.Errorf("session %s has no server", s.id))
	return "", ""
}
