package main

import (
	"bufio"
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
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/procfs"

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

// programs returns a session's processes: those with its id in their environment,
// without tees.
func (s *agentSession) programs() (found []procfs.Proc) {
	self := must(os.Executable())
	for _, p := range must(procfs.AllProcs()) { // a process may end meanwhile, or belong to another user
		env, err := p.Environ()
		exe, _ := p.Executable()
		if err == nil && exe != "" && exe != self && strings.Contains(strings.Join(env, "\n"), s.id) {
			found = append(found, p)
		}
	}
	return found
}

// resident returns the memory of a session's programs in bytes.
func (s *agentSession) resident() (sum int) {
	for _, p := range s.programs() {
		if used, err := p.Stat(); err == nil { // otherwise the process has just ended
			sum += used.ResidentMemory()
		}
	}
	return sum
}

// server returns the address and password of a session's OpenCode server.
func (s *agentSession) server() (address, password string) {
	for _, p := range s.programs() {
		args, _ := p.CmdLine()
		env, _ := p.Environ()
		port := slices.Index(args, "--port") + 1
		for _, variable := range env {
			secret, known := strings.CutPrefix(variable, "OPENCODE_SERVER_PASSWORD=")
			if known && port > 0 && port < len(args) {
				return "127.0.0.1:" + args[port], secret
			}
		}
	}
	check(fmt.Errorf("session %s has no server", s.id))
	return "", ""
}

// playTee runs a program and forwards its stdout, line by line. It records when a
// line contains a number of the counting, in a file with the name of the program's
// home. args are the file's folder, the pattern of a number, and the program's
// command line.
func playTee(ctx context.Context, args []string, stdout io.Writer) error {
	if len(args) < 3 {
		return errors.New("tee: folder, pattern, command")
	}
	return caught(func() {
		mark := must(regexp.Compile(args[1]))
		notes := must(os.OpenFile(stampsOf(args[0], filepath.Base(os.Getenv("HOME"))), os.O_CREATE|os.O_APPEND|os.O_WRONLY,
			0o600))
		defer notes.Close()
		check(os.Unsetenv(roleVariable))
		cmd := exec.CommandContext(ctx, args[2], args[3:]...) //nolint:gosec // the benchmark's own command
		cmd.Stdin, cmd.Stderr = os.Stdin, os.Stderr
		out := must(cmd.StdoutPipe())
		check(cmd.Start())
		check(errors.Join(passOn(out, stdout, notes, mark), cmd.Wait()))
	})
}

func stampsOf(dir, session string) string { return filepath.Join(dir, session+".stamps") }

// passOn stamps a line before it forwards it, and writes its notes afterwards.
func passOn(in io.Reader, out, notes io.Writer, mark *regexp.Regexp) error {
	for lines := bufio.NewReaderSize(in, 64<<10); ; {
		line, err := lines.ReadBytes('\n')
		now := time.Now().UnixNano()
		if _, err := out.Write(line); err != nil {
			return err
		}
		for _, found := range mark.FindAllSubmatch(line, -1) {
			if _, err := fmt.Fprintf(notes, "%s %d\n", found[1], now); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// stamps records when numbers were first seen, in Unix nanoseconds.
type stamps map[int]int64

func (s stamps) see(number string, at int64) {
	n, err := strconv.Atoi(number)
	if err != nil {
		return
	}
	if earlier, known := s[n]; !known || at < earlier {
		s[n] = at
	}
}

// readStamps reads the notes of passOn.
func readStamps(notes []byte) stamps {
	s := stamps{}
	for line := range strings.Lines(string(notes)) {
		number, at, _ := strings.Cut(strings.TrimSpace(line), " ")
		if ns, err := strconv.ParseInt(at, 10, 64); err == nil {
			s.see(number, ns)
		}
	}
	return s
}

// lags adds, for each number, the time from its writing to its reading, and returns
// how many numbers were both written and read.
func (s stamps) lags(read stamps, into *samples) (matched int) {
	for n, at := range read {
		if written, ok := s[n]; ok {
			into.add(time.Duration(at - written))
			matched++
		}
	}
	return matched
}
