package conformance

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"bellhop/internal/jsonlines"
	"bellhop/protocol"
)

// quiet is how long to wait where no line may arrive.
const quiet = 150 * time.Millisecond

// program is one run of the command under test.
type program struct {
	*scope
	patience time.Duration
	cmd      *exec.Cmd
	in       io.WriteCloser
	out      chan protocol.Line
	done     chan struct{} // closed when it has ended and its output was read
	err      error         // valid after done

	mu           sync.Mutex
	invalidLines []string // lines of stdout that are no lines of section 4
	logged       bytes.Buffer
}

// start runs the command. The process ends with the check.
func (h *headless) start(s *scope) *program {
	ctx, cancel := context.WithCancel(s.ctx)
	p := &program{
		scope: s, patience: h.options.Patience, done: make(chan struct{}), out: make(chan protocol.Line, 1<<16),
		cmd: exec.CommandContext(ctx, h.options.Command[0], h.options.Command[1:]...), //nolint:gosec // the user's own command
	}
	p.cmd.Dir, p.cmd.WaitDelay = h.options.Dir, time.Second
	p.cmd.Stderr = &p.logged
	in, err := p.cmd.StdinPipe()
	if err != nil {
		s.stopf("stdin: %v", err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		s.stopf("stdout: %v", err)
	}
	if err := p.cmd.Start(); err != nil {
		cancel()
		s.stopf("the program cannot be started: %v", err)
	}
	p.in = in
	go p.read(out)
	s.later(func() {
		_ = in.Close()
		cancel()
		<-p.done
		h.collectFrom(p)
	})
	return p
}

func (p *program) read(out io.Reader) {
	defer close(p.done)
	defer close(p.out)
	lines := jsonlines.NewReader(out, protocol.MaxLine)
	for {
		raw, err := lines.Next()
		if err != nil && !errors.Is(err, jsonlines.ErrTooLong) {
			break
		}
		line, problem := parseLine(raw, err)
		if problem != "" {
			p.mu.Lock()
			p.invalidLines = append(p.invalidLines, problem)
			p.mu.Unlock()
			continue
		}
		if line.Type != protocol.LineHello { // it begins a session, and answers nothing
			p.out <- *line
		}
	}
	p.err = p.cmd.Wait()
}

// parseLine parses and checks a line of an agent.
func parseLine(raw []byte, err error) (*protocol.Line, string) {
	if err != nil {
		return nil, "a line longer than " + strconv.Itoa(protocol.MaxLine) + " bytes"
	}
	line, err := protocol.ParseLine(raw)
	if err != nil {
		return nil, fmt.Sprintf("no line of the protocol (%v): %s", err, brief(string(raw)))
	}
	if missing := incomplete(line); missing != "" {
		return nil, fmt.Sprintf("a line of type %q %s: %s", line.Type, missing, brief(string(raw)))
	}
	return line, ""
}

// incomplete describes a missing or wrong member of a line, "" if there is none.
func incomplete(l *protocol.Line) string {
	need := func(what string, is bool) string {
		if is {
			return ""
		}
		return "without a proper " + what
	}
	switch l.Type {
	case protocol.LineStatus:
		known := l.Level == "info" || l.Level == "success" || l.Level == "warning" || l.Level == "error"
		return cmp.Or(need("level", known), need("message", l.Message != ""))
	case protocol.LineChunk, protocol.LineMessage:
		return need("content", l.Content != nil)
	case protocol.LineToolStart:
		return cmp.Or(need("id", l.ID != ""), need("name", l.Name != ""))
	case protocol.LineToolMessage:
		return cmp.Or(need("id", l.ID != ""), need("content", l.Content != nil))
	case protocol.LineAsk, protocol.LineConfirm:
		w := l.SecurityWarning
		known := w == nil || w.Level == "INFO" || w.Level == "WARN" || w.Level == "CRITICAL"
		return cmp.Or(need("request_id", l.RequestID != ""), need("prompt", l.Prompt != ""),
			need("security_warning.level", known))
	case protocol.LineState:
		return stateProblem(l)
	case protocol.LineHello:
		return ""
	case protocol.LineResolved:
		return need("request_id", l.RequestID != "")
	default:
		return "which an agent does not send"
	}
}

func stateProblem(l *protocol.Line) string {
	switch {
	case l.State == protocol.StateThinking, l.State == protocol.StateExecutingTool:
		return ""
	case l.State != protocol.StateWaitingForInput:
		return fmt.Sprintf("with the unknown state %q", l.State)
	case l.Reason == protocol.WaitingAsked, l.Reason == protocol.WaitingDone,
		l.Reason == protocol.WaitingInterrupted, l.Reason == protocol.WaitingError:
		return ""
	default:
		return fmt.Sprintf("with the unknown reason %q", l.Reason)
	}
}

// send writes a line unchanged.
func (p *program) send(raw string) {
	if _, err := io.WriteString(p.in, raw+"\n"); err != nil {
		p.stopf("the program does not read its input: %v%s", err, p.lastLog())
	}
}

// next returns the next line; without one the check stops.
func (p *program) next(awaited string) protocol.Line {
	timer := time.NewTimer(p.patience)
	defer timer.Stop()
	select {
	case line, ok := <-p.out:
		if !ok {
			p.stopf("the program ended while %s was awaited%s", awaited, p.lastLog())
		}
		return line
	case <-timer.C:
		p.stopf("no %s came within %s%s", awaited, p.patience, p.lastLog())
	}
	panic(stop{})
}

// silent notes lines that arrive where none may.
func (p *program) silent(after string) {
	timer := time.NewTimer(quiet)
	defer timer.Stop()
	select {
	case line, ok := <-p.out:
		if ok && line.Type != protocol.LineStatus {
			p.failf("after %s came %s", after, outline(&line))
		}
	case <-timer.C:
	}
}

// lastLog returns the end of the program's log, once it has ended.
func (p *program) lastLog() string {
	select {
	case <-p.done:
	case <-time.After(quiet):
		return ""
	}
	logged := strings.TrimSpace(p.logged.String())
	if logged == "" {
		return ""
	}
	return "; it logged: " + brief(logged[strings.LastIndexByte(logged, '\n')+1:])
}

// exit closes the input and waits for the end.
func (p *program) exit() {
	_ = p.in.Close()
	timer := time.NewTimer(p.patience)
	defer timer.Stop()
	for {
		select {
		case _, more := <-p.out:
			if more {
				continue
			}
			<-p.done
			if p.err != nil {
				p.failf("at the end of input the program ended with %v instead of 0%s", p.err, p.lastLog())
			}
			return
		case <-timer.C:
			p.stopf("the program still runs %s after the end of its input", p.patience)
		}
	}
}

func outline(l *protocol.Line) string {
	text := l.Type
	switch {
	case l.State != "":
		text += " " + strings.TrimSpace(l.State+" "+l.Reason)
	case l.Message != "":
		text += " " + l.Level + ": " + brief(l.Message)
	case l.Content != nil:
		text += " " + brief(*l.Content)
	case l.Prompt != "":
		text += " " + brief(l.Prompt)
	}
	return text
}
