package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"bellhop/internal/sse"
	"bellhop/protocol"
)

// agentSession is a workspace of the host with an agent in it.
type agentSession struct {
	*session
	on    *agentHost
	agent subject
}

func (h *agentHost) openAgent(ctx context.Context, a subject) *agentSession {
	model := map[string]string{"opencode": "openai-compatible/mock-1", "codex": "gpt-5.5"}[a.name]
	opened := h.open(ctx, &protocol.OpenSessionRequest{WebhookURL: h.hook, Agent: a.name, Model: model})
	return &agentSession{session: opened, on: h, agent: a}
}

// leave ends the sessions' programs. A session that does not end now ends with the
// host.
func (h *agentHost) leave(sessions []*agentSession) {
	for _, s := range sessions {
		_ = caught(func() {
			check(h.send(context.Background(), http.MethodDelete, "/session/"+s.id, hostPassword, nil).Close())
		})
	}
}

// turn reads the events of a turn until its end.
func (s *agentSession) turn(ctx context.Context, prompt string, see func(p *protocol.Part, at time.Time)) {
	body := s.prompt(ctx, prompt)
	defer body.Close()
	for in := sse.NewReader(body); ; {
		frame, err := in.Next()
		at := time.Now()
		if errors.Is(err, io.EOF) {
			err = errors.New("the turn has no end")
		}
		check(err)
		var p protocol.Part
		check(json.Unmarshal(frame.Data, &p))
		see(&p, at)
		if !p.Terminal() {
			continue
		}
		if p.Type != protocol.PartFinish {
			check(fmt.Errorf("the turn ended with %s", frame.Data))
		}
		return
	}
}

// counts returns when the agent wrote the numbers, and when they were read here.
func (s *agentSession) counts(ctx context.Context, pieces int) (written, read stamps) {
	read = stamps{}
	notes := stampsOf(s.on.dir, s.id)
	if err := os.Truncate(notes, 0); !errors.Is(err, fs.ErrNotExist) { // the earlier rounds have the same numbers
		check(err)
	}
	collect := func() []byte { return must(os.ReadFile(notes)) }
	if s.agent.tick {
		collect = s.listen(ctx)
	}
	err := caught(func() {
		s.turn(ctx, fmt.Sprintf(s.agent.count, pieces), func(p *protocol.Part, at time.Time) {
			if p.Type != protocol.PartTextDelta || p.Text == nil {
				return
			}
			for _, found := range s.agent.mark.FindAllStringSubmatch(`"`+*p.Text+`"`, -1) {
				read.see(found[1], at.UnixNano())
			}
		})
	})
	written = readStamps(collect()) // ends the subscription, if there is one
	check(err)
	return written, read
}

// listen subscribes to the events of an OpenCode server, as the host does. The
// returned function ends the subscription and returns the notes of its events.
func (s *agentSession) listen(ctx context.Context) func() []byte {
	address, password := s.server()
	ctx, cancel := context.WithCancel(ctx)
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("opencode:"+password))
	body, err := request(ctx, http.MethodGet, "http://"+address+"/event", basic, nil)
	if err != nil {
		cancel()
		check(err)
	}
	var notes bytes.Buffer
	var listening sync.WaitGroup
	listening.Go(func() {
		defer body.Close()
		_ = passOn(body, io.Discard, &notes, s.agent.mark) // ended by cancel
	})
	return func() []byte {
		cancel()
		listening.Wait()
		return notes.Bytes()
	}
}

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

// server returns the address and password of a session's OpenCode server.
func (s *agentSession) server() (address, password string) {
	for _, folder := range s.programs() {
		port, isServer := wordAfter(filepath.Join(folder, "cmdline"), "--port\x00")
		secret, known := wordAfter(filepath.Join(folder, "environ"), "OPENCODE_SERVER_PASSWORD=")
		if isServer && known {
			return "127.0.0.1:" + port, secret
		}
	}
	check(fmt.Errorf("session %s has no server", s.id))
	return "", ""
}

// wordAfter returns what follows a mark in a file of /proc, to the next null byte. The
// file of a process that has ended has none.
func wordAfter(path, mark string) (word string, found bool) {
	content, _ := os.ReadFile(path)
	_, rest, found := strings.Cut(string(content), mark)
	word, _, _ = strings.Cut(rest, "\x00")
	return word, found
}
