package jsonl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"bellhop/agenthost"
	"bellhop/internal/jsonlines"
	"bellhop/internal/process"
	"bellhop/protocol"
)

// queued is how many lines wait for a program that does not read.
const queued = 64

// stdoutGrace is how long the stdout of an ended program may stay open; only
// a descendant that nobody found holds it.
const stdoutGrace = time.Second

// saying is one line of the program, or what was wrong with it.
type saying struct {
	line    protocol.Line
	garbage string // "" for a line that can be used
}

// program is a running or ended agent program.
type program struct {
	process *process.Process
	log     *slog.Logger
	grace   time.Duration
	outbox  chan any
	closing chan struct{}              // the input ends; nothing new is begun
	once    sync.Once                  // closes closing
	ended   chan struct{}              // the program is gone and its last line delivered
	deliver func(p *program, s saying) // called by one goroutine, in order
}

// start starts the session's program; deliver gets what it says.
func start(options Options, spec agenthost.AgentSpec, deliver func(*program, saying)) (*program, error) {
	child, err := process.Start(process.Command{
		Args:    command(options, spec),
		Dir:     spec.Dir,
		Env:     environment(options, spec),
		Records: options.Records,
	})
	if err != nil {
		return nil, err
	}
	p := &program{
		process: child,
		log:     spec.Log,
		grace:   options.Grace,
		outbox:  make(chan any, queued),
		closing: make(chan struct{}),
		ended:   make(chan struct{}),
		deliver: deliver,
	}
	p.log.Info("agent started", "agent", options.Name, "pid", child.Pid())
	go p.write()
	go p.run(spec.SessionID)
	return p, nil
}

// send queues a line for the program; it gives up when the program is gone or
// ctx ends.
func (p *program) send(ctx context.Context, line any) {
	select {
	case p.outbox <- line:
	case <-p.process.Done():
	case <-ctx.Done():
	}
}

// interrupt asks the program to stop its turn. It never waits: a program that
// does not read its input gets signals soon.
func (p *program) interrupt(sessionID string) {
	select {
	case p.outbox <- protocol.Line{Type: protocol.LineInterrupt, SessionID: sessionID}:
	default:
	}
}

// write passes queued lines on. The end of the program ends a blocked write.
func (p *program) write() {
	defer func() { _ = p.process.Stdin().Close() }()
	writer := jsonlines.NewWriter(p.process.Stdin())
	for {
		select {
		case line := <-p.outbox:
			if err := writer.Write(line); err != nil {
				p.log.Warn("agent does not read", "err", err)
				return
			}
		case <-p.closing:
			return
		case <-p.process.Done():
			return
		}
	}
}

// run delivers what the program says until it is gone. A program that has
// closed its stdout has nothing to say any more: it is ended.
func (p *program) run(sessionID string) {
	defer close(p.ended)
	stdout := p.process.Stdout()
	read := make(chan struct{})
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		<-p.process.Done()
		wait(read, stdoutGrace)
		_ = stdout.Close()
	}()
	p.read(jsonlines.NewReader(stdout, protocol.MaxLine), sessionID)
	close(read)
	if !wait(p.process.Done(), p.grace) {
		if err := p.process.Kill(); err != nil {
			p.log.Error("agent cannot be killed", "err", err)
		}
	}
	<-closed
}

func (p *program) read(lines *jsonlines.Reader, sessionID string) {
	for {
		raw, err := lines.Next()
		switch {
		case errors.Is(err, jsonlines.ErrTooLong):
			p.deliver(p, saying{garbage: fmt.Sprintf("a line over %d MiB", protocol.MaxLine>>20)})
		case err != nil:
			return
		case len(bytes.TrimSpace(raw)) > 0:
			p.deliver(p, parse(raw, sessionID))
		}
	}
}

// leaving reports whether the program can take no further turn.
func (p *program) leaving() bool {
	select {
	case <-p.closing:
	case <-p.process.Done():
	case <-p.ended:
	default:
		return false
	}
	return true
}

// stop ends the program: the end of its input, then signals.
func (p *program) stop(ctx context.Context) error {
	p.once.Do(func() { close(p.closing) })
	grace := time.NewTimer(p.grace)
	defer grace.Stop()
	select {
	case <-p.ended:
		return nil
	case <-grace.C:
	case <-ctx.Done():
	}
	if err := p.process.Stop(ctx, p.grace); err != nil {
		return err
	}
	<-p.ended
	return nil
}

// signal ends the program with signals alone; ended tells when.
func (p *program) signal(ctx context.Context) {
	if err := p.process.Stop(ctx, p.grace); err != nil {
		p.log.Error("agent cannot be stopped", "err", err)
	}
}

// epitaph says how the program ended, with its last words.
func (p *program) epitaph(name string) string {
	how := "it ended"
	if err := p.process.Wait(); err != nil {
		how = err.Error()
	}
	words := append([]string{fmt.Sprintf("The agent %s exited during the turn: %s", name, how)}, p.process.Tail()...)
	return strings.Join(words, "\n")
}

// parse reads one line; one of another session is not for us.
func parse(raw []byte, sessionID string) saying {
	var s saying
	err := json.Unmarshal(raw, &s.line)
	switch {
	case err != nil || s.line.Type == "":
		return saying{garbage: "a line that is no message: " + excerpt(raw)}
	case s.line.SessionID != "" && s.line.SessionID != sessionID:
		return saying{garbage: "a message of another session"}
	}
	return s
}

// excerpt is the beginning of a line, as printable text.
func excerpt(raw []byte) string {
	const most = 120
	cut := ""
	if len(raw) > most {
		raw, cut = raw[:most], "…"
	}
	return strings.Trim(fmt.Sprintf("%+q", raw), `"`) + cut
}

// wait reports whether done is closed within the time.
func wait(done <-chan struct{}, within time.Duration) bool {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}
