package claude

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"bellhop/internal/jsonlines"
	"bellhop/internal/process"
	"bellhop/protocol"
)

// queued is how many lines wait for a program that does not read.
const queued = 64

// stdoutGrace is how long the stdout of an ended program may stay open; only
// a descendant that nobody found holds it.
const stdoutGrace = time.Second

// program is a running or ended Claude Code.
type program struct {
	process *process.Process
	log     *slog.Logger
	grace   time.Duration
	outbox  chan any
	ready   chan struct{}              // it has answered the handshake
	closing chan struct{}              // the input ends; nothing new is begun
	once    sync.Once                  // closes closing
	ended   chan struct{}              // the program is gone and its last line delivered
	deliver func(p *program, s saying) // called by one goroutine, in order
}

// start starts a program and shakes hands; ready tells when it has answered.
func start(command process.Command, log *slog.Logger, grace time.Duration, deliver func(*program, saying)) (*program, error) {
	child, err := process.Start(command)
	if err != nil {
		return nil, err
	}
	p := &program{
		process: child,
		log:     log,
		grace:   grace,
		outbox:  make(chan any, queued),
		ready:   make(chan struct{}),
		closing: make(chan struct{}),
		ended:   make(chan struct{}),
		deliver: deliver,
	}
	p.outbox <- controlRequest(handshake, "initialize")
	go p.write()
	go p.run()
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

// offer is send for a program that may not read: it never waits.
func (p *program) offer(line any) {
	select {
	case p.outbox <- line:
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
func (p *program) run() {
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
	p.read(jsonlines.NewReader(stdout, protocol.MaxLine))
	close(read)
	if !wait(p.process.Done(), p.grace) {
		if err := p.process.Kill(); err != nil {
			p.log.Error("agent cannot be killed", "err", err)
		}
	}
	<-closed
}

func (p *program) read(lines *jsonlines.Reader) {
	for {
		raw, err := lines.Next()
		switch {
		case errors.Is(err, jsonlines.ErrTooLong):
			p.deliver(p, saying{garbage: fmt.Sprintf("a line over %d MiB", protocol.MaxLine>>20)})
		case err != nil:
			return
		case len(bytes.TrimSpace(raw)) > 0:
			p.hear(parse(raw))
		}
	}
}

func (p *program) hear(s saying) {
	if s.reply != nil && s.reply.RequestID == handshake {
		select {
		case <-p.ready:
		default:
			close(p.ready)
		}
		return
	}
	p.deliver(p, s)
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
	p.once.Do(func() { close(p.closing) })
	if err := p.process.Stop(ctx, p.grace); err != nil {
		p.log.Error("agent cannot be stopped", "err", err)
	}
}

// epitaph says how the program ended, with its last words.
func (p *program) epitaph(what string) string {
	how := "it ended"
	if err := p.process.Wait(); err != nil {
		how = err.Error()
	}
	return strings.Join(append([]string{what + ": " + how}, p.process.Tail()...), "\n")
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
